"""The tiles of the result that a block computes, one after the other.

    blocks of the grid   G = ceil(tiles / turns)
    block b              tiles b, b + G, b + 2 G, ..

So blocks that run together are at tiles next to each other in the order of bands.  The
blocks of terms of all tiles of a block are counted in one go: the ring turns on.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.passes.contraction.gpu.axes import Groups
from gpucodegen.passes.contraction.gpu.block_order import (
    Place,
    grid,
    numbered,
    place,
    tiles,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.gpu.launches.gpu_launch import thread_index
from gpucodegen.tiling.machine.gpu.product_tiles import WarpgroupTiles

EachTile = Callable[[Builder, Place, Index], None]
"""What is done for a tile; the number says how many the block had before."""


@dataclass(frozen=True, slots=True)
class Turns:
    """The tiles of the block that executes this."""

    groups: Groups
    plan: WarpgroupTiles
    block: Value | None
    only: Place | None
    """The tile of a block that has no more."""

    @staticmethod
    def of(b: Builder, groups: Groups, plan: WarpgroupTiles) -> Turns:
        """Asks for the number of the block."""
        if plan.turns == 1:
            return Turns(groups, plan, None, place(b, groups, plan))
        return Turns(groups, plan, thread_index(b, "block_id", "x", "bx"), None)

    @property
    def exists(self) -> tuple[Index, ...]:
        """What is >= 0 if the block has a tile."""
        return () if self.only is None else self.only.exists

    @property
    def are_several(self) -> bool:
        """Whether there may be another tile behind one."""
        return self.only is None

    def each(self, b: Builder, body: EachTile) -> None:
        """Do something for all of the block's tiles, in order."""
        if self.only is not None:
            body(b, self.only, ZERO)
            return
        assert self.block is not None
        blocks, first = blocks_of(self.groups, self.plan), Index.of(self.block)

        def turn(i: Builder, number: Value) -> None:
            tile = Index.of(i.index(first + Index.of(number) * blocks, "tile"))
            body(i, numbered(i, self.groups, self.plan, tile), Index.of(number))

        count = (Index.of(tiles(self.groups, self.plan)) - first).ceildiv(blocks)
        b.loop(0, count, turn, hint="turn")


def blocks_of(groups: Groups, plan: WarpgroupTiles) -> int:
    """Blocks of the grid where each has several tiles."""
    return -(-tiles(groups, plan) // plan.turns)


def grid_of(groups: Groups, plan: WarpgroupTiles) -> tuple[Index, Index, Index]:
    """The extents of the grid."""
    if plan.turns == 1:
        return grid(groups, plan)
    return Index.of(blocks_of(groups, plan)), Index.of(1), Index.of(1)
