"""Plan of a contraction on a GPU: tile sizes and threads per block."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class GpuPlan:
    """A block computes ``tile_rows x tile_columns`` of C, ``depth`` terms at a time."""

    tile_rows: int
    tile_columns: int
    depth: int
    thread_rows: int
    thread_columns: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        rows = self.tile_rows // self.thread_rows
        return rows * (self.tile_columns // self.thread_columns)


LADDER = (
    GpuPlan(128, 128, 16, 8, 8),
    GpuPlan(64, 64, 16, 4, 4),
    GpuPlan(32, 32, 16, 2, 4),
    GpuPlan(16, 16, 8, 2, 2),
)
"""From the tile of most reuse to the one that wastes least on small problems."""


def plan_contraction(rows: int, columns: int, *, processors: int = 132) -> GpuPlan:
    """The largest tile that fits the problem and still feeds the processors.

    >>> plan_contraction(4096, 4096).thread_rows, plan_contraction(20, 50).tile_rows
    (8, 16)
    """
    for plan in LADDER[:-1]:
        fits = rows >= plan.tile_rows and columns >= plan.tile_columns
        tiles = -(-rows // plan.tile_rows) * -(-columns // plan.tile_columns)
        if fits and (tiles >= processors // 2 or plan is LADDER[-2]):
            return plan
    return LADDER[-1]
