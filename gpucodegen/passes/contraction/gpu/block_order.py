"""Which block of a contraction's grid computes which tile of the result.

Comes in: the groups of axes and a plan.  Goes out: the extents of the grid, and for a
block its tile and the positions of the batch.
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
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.launches.gpu_launch import thread_index
from gpucodegen.tiling.machine.gpu.products.candidates import SharedTiles


@dataclass(frozen=True, slots=True)
class Place:
    """The tile of one block: its first row and column, positions of the batch."""

    row: Index
    column: Index
    batch: Positions


def grid(groups: Groups, plan: SharedTiles) -> tuple[Index, Index, Index]:
    """Blocks along x (columns), y (rows) and z (batch)."""
    return (
        extent(groups.columns).ceildiv(plan.tile_columns),
        extent(groups.rows).ceildiv(plan.tile_rows),
        extent(groups.batch),
    )


def place(b: Builder, groups: Groups, plan: SharedTiles) -> Place:
    """The tile of the block that executes this."""
    x, y = (Index.of(thread_index(b, "block_id", d, f"b{d}")) for d in "xy")
    batch: Positions = {}
    if groups.batch:
        z = thread_index(b, "block_id", "z", "bz")
        batch = unflatten(Index.of(z), groups.batch)
    return Place(y * plan.tile_rows, x * plan.tile_columns, batch)
