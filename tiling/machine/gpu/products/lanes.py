"""Which quads of a tile each thread of a block multiplies.

A thread has ``thread_rows x thread_columns`` elements as quads of at most 4 x 4.  The
32 lanes of a warp lie 4 x 8 in z-order, lane t at row ``t // 2 % 4`` and column
``t // 8 * 2 + t % 2``: lanes t and t ^ 1 read the same rows, t and t ^ 2 the same
columns, so that shared memory answers both at once.  Neighbouring lanes have
neighbouring quads, and the next quad of a thread lies behind those of all lanes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, Self, TypeVar

from gpucodegen.tiling.machine.gpu.products.candidates import SharedTiles


class Arithmetic(Protocol):
    """Numbers, or expressions of them."""

    def __add__(self, other: Self | int, /) -> Self: ...
    def __mul__(self, other: int, /) -> Self: ...
    def __floordiv__(self, other: int, /) -> Self: ...
    def __mod__(self, other: int, /) -> Self: ...


Number = TypeVar("Number", bound=Arithmetic)

LANES = 4, 8
"""Lanes of a warp along rows and columns."""
QUAD = 4
"""Elements of a thread that lie side by side: 16 bytes of f32."""


@dataclass(frozen=True, slots=True)
class Side:
    """How threads share the tile along rows or along columns.

    ``lanes`` threads of a group lie side by side; each has ``quads`` runs of ``quad``.
    """

    lanes: int
    quad: int
    quads: int

    @property
    def span(self) -> int:
        """Elements of a group of threads."""
        return self.lanes * self.quad * self.quads


@dataclass(frozen=True, slots=True)
class LaneMap:
    """The threads of a block: groups of ``rows.lanes x columns.lanes`` threads.

    >>> lanes = LaneMap.of(SharedTiles(128, 128, 16, 8, 8))
    >>> lanes.rows, lanes.columns, lanes.across
    (Side(lanes=4, quad=4, quads=2), Side(lanes=8, quad=4, quads=2), 2)
    """

    rows: Side
    columns: Side
    across: int
    """Groups along the columns of the tile."""
    ordered: bool
    """Whether the lanes of a group lie in z-order, or else row by row."""

    def place(self, lane: Number) -> tuple[Number, Number]:
        """The row and the column of a lane among the lanes of its group.

        >>> lanes = LaneMap.of(SharedTiles(128, 128, 16, 8, 8))
        >>> [lanes.place(lane) for lane in (0, 1, 2, 3, 8)]
        [(0, 0), (0, 1), (1, 0), (1, 1), (0, 2)]
        """
        if not self.ordered:
            return lane // self.columns.lanes, lane % self.columns.lanes
        down = self.rows.lanes
        return lane // 2 % down, lane // (2 * down) * 2 + lane % 2

    @staticmethod
    def of(plan: SharedTiles) -> LaneMap:
        """Warps where they fit the tile, or else the whole block as one group."""
        threads = (
            plan.tile_rows // plan.thread_rows,
            plan.tile_columns // plan.thread_columns,
        )
        fits = all(n % lanes == 0 for n, lanes in zip(threads, LANES, strict=True))
        down, across = LANES if fits else threads
        rows, columns = (
            _side(lanes, n)
            for lanes, n in ((down, plan.thread_rows), (across, plan.thread_columns))
        )
        return LaneMap(rows, columns, plan.tile_columns // columns.span, fits)


def _side(lanes: int, elements: int) -> Side:
    quad = next(n for n in (QUAD, 2, 1) if elements % n == 0)
    return Side(lanes, quad, elements // quad)
