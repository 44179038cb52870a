"""Which block of a contraction's grid computes which tile of the result.

Comes in: the groups of axes and a plan.  Goes out: the extents of the grid, and for a
block its tile and the positions of the batch.  Blocks in bands of tiles are counted in
one dimension; they have no tile below the last row of tiles.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.passes.contraction.gpu.axes import (
    Groups,
    Positions,
    extent,
    unflatten,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.gpu.launches.gpu_launch import thread_index
from gpucodegen.tiling.machine.gpu.products.block_order import blocks_of, tile_of
from gpucodegen.tiling.machine.gpu.products.candidates import Candidate


@dataclass(frozen=True, slots=True)
class Place:
    """The tile of one block: its first row and column, positions of the batch.

    ``exists`` are >= 0 where the block has a tile.
    """

    row: Index
    column: Index
    batch: Positions
    exists: tuple[Index, ...] = ()


def grid(groups: Groups, plan: Candidate) -> tuple[Index, Index, Index]:
    """Blocks along x (columns), y (rows), z (batch); bands of tiles along x alone."""
    down, across = _tiles(groups, plan)
    if plan.group == 1:
        return across, down, extent(groups.batch)
    bands = blocks_of(_number(down), _number(across), plan.group)
    return Index.of(bands), Index.of(1), extent(groups.batch)


def _tiles(groups: Groups, plan: Candidate) -> tuple[Index, Index]:
    """Tiles down and across."""
    return (
        extent(groups.rows).ceildiv(plan.tile_rows),
        extent(groups.columns).ceildiv(plan.tile_columns),
    )


def _number(tiles: Index) -> int:
    assert tiles.constant is not None, "plans of unknown extents have no bands"
    return tiles.constant


def place(b: Builder, groups: Groups, plan: Candidate) -> Place:
    """The tile of the block that executes this."""
    down, across = _tiles(groups, plan)
    exists: tuple[Index, ...] = ()
    if plan.group == 1:
        x, y = (Index.of(thread_index(b, "block_id", d, f"b{d}")) for d in "xy")
        y = ZERO if down.constant == 1 else y
    else:
        number = Index.of(thread_index(b, "block_id", "x", "bx"))
        found = tile_of(number, _number(across), plan.group)
        y, x = (
            Index.of(b.index(at, f"b{d}")) for at, d in zip(found, "yx", strict=True)
        )
        if _number(down) % plan.group:
            exists = (down - 1 - y,)
    batch: Positions = {}
    if groups.batch:
        z = thread_index(b, "block_id", "z", "bz")
        batch = unflatten(Index.of(z), groups.batch)
    return Place(y * plan.tile_rows, x * plan.tile_columns, batch, exists)
