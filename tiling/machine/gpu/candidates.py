"""The kinds of kernel that a contraction may become on a GPU, a class each.

    SharedTiles     blocks copy tiles of both factors, threads multiply parts of these

A kind is a member of `Candidate`, lines of `CANDIDATES` and a case of
``plan.step_cycles``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class SharedTiles:
    """A block computes ``tile_rows x tile_columns`` of C, ``depth`` terms at a time.

    Both factors' parts of these lie in shared memory.  Each thread keeps
    ``thread_rows x thread_columns`` of the tile in registers.
    """

    tile_rows: int
    tile_columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    resident: int = 2
    """Blocks that a multiprocessor shall hold at once."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        rows = self.tile_rows // self.thread_rows
        return rows * (self.tile_columns // self.thread_columns)


Candidate: TypeAlias = SharedTiles
"""A kernel of a contraction."""

SMALLEST = SharedTiles(16, 16, 8, 2, 2)
"""It serves every result."""
CANDIDATES: tuple[Candidate, ...] = (
    SMALLEST,
    SharedTiles(32, 32, 16, 2, 4),
    SharedTiles(64, 64, 16, 4, 4),
    SharedTiles(128, 128, 16, 8, 8),
)
"""From the tile that wastes least on small problems to the one of most reuse."""
