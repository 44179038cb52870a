"""Which block of a contraction's grid computes which tile of the result.

Comes in: the groups of axes and a plan.  Goes out: the extents of the grid, and for a
block its tile and the positions of the batch.  Blocks in bands of tiles are counted in
one dimension; they have no tile below the last row of tiles.  Blocks that compute
several tiles take these by their numbers.
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
from gpucodegen.passes.framework.indexing import ZERO, Index, divided
from gpucodegen.passes.gpu.launches.gpu_launch import thread_index
from gpucodegen.tiling.machine.gpu.product_tiles import Candidate
from gpucodegen.tiling.machine.gpu.product_work import blocks_of, tile_of


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


def tiles(groups: Groups, plan: Candidate) -> int:
    """Tiles of the whole result; all extents are known."""
    down, across = _tiles(groups, plan)
    return _number(down) * _number(across) * _number(extent(groups.batch))


def numbered(b: Builder, groups: Groups, plan: Candidate, number: Index) -> Place:
    """The tile of a number; bands of tiles are all of one height."""
    down, across = map(_number, _tiles(groups, plan))
    assert down % plan.group == 0, "each number has a tile"
    image, within = ZERO, number
    if groups.batch:
        image, within = divided(number, down * across)
    y, x = (
        Index.of(b.index(at, f"b{d}"))
        for at, d in zip(tile_of(within, across, plan.group), "yx", strict=True)
    )
    batch: Positions = {}
    if groups.batch:
        batch = unflatten(Index.of(b.index(image, "bz")), groups.batch)
    return Place(y * plan.tile_rows, x * plan.tile_columns, batch)


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
