"""Sums of warpgroups to the result, each warp for itself.

A lane holds two elements of a row.  A warp puts eight rows of some columns into a slice
of shared memory, its lanes meet, and each stores elements that lie side by side, with
what is fused behind the sums.  What these start from is read a slice ahead, that of the
first one before the products.  Warps that copy take no part.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.attributes import DenseArrayAttr, IntegerAttr, OpaqueAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I64, MemRefType, Type, VectorType
from gpucodegen.passes.contraction.gpu.result_tile import Cells, Piece
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.tiling.machine.gpu.devices import WARP, WARPGROUP
from gpucodegen.tiling.machine.gpu.fragments import COLUMNS, ROWS, gap_of
from gpucodegen.tiling.machine.gpu.product_tiles import (
    WarpgroupTiles,
)
from gpucodegen.tiling.machine.gpu.shared_copies import OCTET
from gpucodegen.tiling.machine.gpu.warpgroups import SLICE_COLUMNS

MEET = {"scope": OpaqueAttr("#gpu.barrier_scope<subgroup>")}
"""What makes a barrier one of a warp."""


def room_of_slices(b: Builder, plan: WarpgroupTiles, element: Type) -> Value:
    """New shared memory, eight rows for each warp."""
    warps = plan.consumers * WARPGROUP // WARP
    shape = warps * OCTET, gap_of(_columns(plan))
    return b.allocate("memref.alloca", MemRefType(shape, element, None, SHARED), "sums")


@dataclass(frozen=True, slots=True)
class WarpSlices:
    """The slices of all warps that multiply, each one's own."""

    cells: Cells
    plan: WarpgroupTiles
    memory: Value
    thread: Index
    is_again: bool
    """Whether there may be tiles before this one."""

    @property
    def warp(self) -> Index:
        """The number of the thread's warp."""
        return self.thread // WARP

    @property
    def lane(self) -> Index:
        """The number of the thread in its warp."""
        return self.thread % WARP

    @property
    def _slices(self) -> list[tuple[int, int]]:
        """The first column of each slice, and which of both rows a lane has."""
        firsts = range(0, self.plan.tile_columns, _columns(self.plan))
        return [(first, half) for first in firsts for half in range(ROWS // OCTET)]

    def started(self, b: Builder, number: int = 0) -> list[Value]:
        """What the pieces of a lane in a slice start from."""
        pieces = range(OCTET * self._across // WARP)
        return [self.cells.loaded(b, self._piece(b, number, n)) for n in pieces]

    def store(self, b: Builder, total: Value, started: Sequence[Value]) -> None:
        """Write a warpgroup's sums; ``started``: what the first slice starts from."""
        for number, (first, half) in enumerate(self._slices):
            self._put(b, total, first, half)
            b.add("gpu.barrier", attributes=MEET)
            is_last = number + 1 == len(self._slices)
            following = [] if is_last else self.started(b, number + 1)
            self._take(b, number, started)
            if not is_last or self.is_again:
                b.add("gpu.barrier", attributes=MEET)
            started = following

    def _take(self, b: Builder, number: int, started: Sequence[Value]) -> None:
        """The slice to the result.

        A proof has one piece to compare; what it starts from moves on.
        """

        def piece(i: Builder, n: Value, left: Sequence[Value]) -> list[Value]:
            at = self.warp * OCTET + self._down(n), self._column
            sums = i.vector_load(self.memory, at, self.cells.piece_type)
            self.cells.stored(i, self._piece(i, number, n), sums, left[0])
            return [*left[1:], left[0]]

        b.carried_loop(ZERO, len(started), started, piece, hint="piece")

    def _piece(self, b: Builder, number: int, n: Value | int) -> Piece:
        """A lane's piece of a number in a slice."""
        place, (first, half) = self.cells.place, self._slices[number]
        down = self.warp * ROWS + half * OCTET + self._down(n)
        column = place.column + self._column + first
        return Piece(place.row + down, Index.of(b.index(column, "j")))

    @property
    def _across(self) -> int:
        """Pieces of a slice side by side, a divisor of the lanes of a warp."""
        return _columns(self.plan) // self.cells.width

    @property
    def _column(self) -> Index:
        """The column of a lane's pieces in a slice."""
        return self.thread % self._across * self.cells.width

    def _down(self, n: Value | int) -> Index:
        """The row of a lane's piece of a number."""
        return self.lane // self._across + Index.of(n) * (WARP // self._across)

    def _put(self, b: Builder, total: Value, first: int, half: int) -> None:
        """One of both rows that a lane has of each fragment, to the slice."""
        element = self.cells.contraction.element
        fragment, pair = VectorType((2, 2), element), VectorType((2,), element)
        where = {"static_position": DenseArrayAttr(I64, (half,))}
        row = Index.of(b.index(self.warp * OCTET + self.lane // 4, "at"))
        start = Index.of(b.index(self.lane % 4 * 2, "at"))
        for n in range(0, _columns(self.plan), COLUMNS):
            number = IntegerAttr((first + n) // COLUMNS, I64)
            place = {"row": IntegerAttr(0, I64), "column": number}
            (held,) = b.add("gcg.fragment", (total,), [fragment], place)
            (sums,) = b.add("vector.extract", (held,), [pair], where)
            b.vector_store(sums, self.memory, [row, start + n])


def _columns(plan: WarpgroupTiles) -> int:
    """Columns of a slice."""
    return min(SLICE_COLUMNS, plan.tile_columns)
