"""Sums of warpgroups to the result, each warp for itself.

A lane holds two elements of a row.  A warp puts eight rows of some columns into a slice
of shared memory, its lanes meet, and each stores elements that lie side by side, with
what is fused behind the sums.  What is added to a slice is read before the one ahead of
it is stored.  Warps that copy take no part.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import zip_longest
from typing import NamedTuple

from gpucodegen.ir.attributes import DenseArrayAttr, IntegerAttr, OpaqueAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I64, MemRefType, VectorType
from gpucodegen.passes.contraction.gpu.result_tile import Cells, Piece
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.tiling.machine.gpu.limits import WARP, WARPGROUP
from gpucodegen.tiling.machine.gpu.products.candidates import (
    WARPGROUP_ROWS,
    WarpgroupTiles,
)
from gpucodegen.tiling.machine.gpu.products.copies import OCTET
from gpucodegen.tiling.machine.gpu.products.fragments import COLUMNS, ROWS, gap_of
from gpucodegen.tiling.machine.gpu.products.warpgroups import SLICE_COLUMNS

MEET = {"scope": OpaqueAttr("#gpu.barrier_scope<subgroup>")}
"""What makes a barrier one of a warp."""


class _Part(NamedTuple):
    """Elements side by side: where they lie in shared memory, and in the result."""

    at: tuple[Index, Index]
    piece: Piece


class _Slice(NamedTuple):
    """Columns of the tile from ``first`` on, one of both rows that lanes hold."""

    first: int
    half: int
    parts: list[_Part]


@dataclass(frozen=True, slots=True)
class WarpSlices:
    """The slices of all warps that multiply; ``thread`` counts those of them."""

    cells: Cells
    plan: WarpgroupTiles
    memory: Value

    @staticmethod
    def of(b: Builder, cells: Cells, plan: WarpgroupTiles) -> WarpSlices:
        """New shared memory, eight rows for each warp."""
        warps = plan.consumers * WARPGROUP // WARP
        shape = warps * OCTET, gap_of(_columns(plan))
        ty = MemRefType(shape, cells.contraction.element, None, SHARED)
        return WarpSlices(cells, plan, b.allocate("memref.alloca", ty, "sums"))

    def store(self, b: Builder, thread: Index, total: Value) -> None:
        """Write a warpgroup's sums, slice by slice."""
        warp = Index.of(b.index(thread // WARP, "warp"))
        lane = Index.of(b.index(thread % WARP, "lane"))
        starts = range(0, self.plan.tile_columns, _columns(self.plan))
        halves = range(ROWS // OCTET)
        slices = [
            _Slice(first, half, self._parts(b, warp, lane, first, half))
            for first in starts
            for half in halves
        ]
        ahead = self._ahead(b, slices[0])
        for one, following in zip_longest(slices, slices[1:]):
            self._put(b, warp, lane, total, one)
            b.add("gpu.barrier", attributes=MEET)
            added, ahead = ahead, self._ahead(b, following) if following else []
            for part, first in zip(one.parts, added, strict=True):
                sums = b.vector_load(self.memory, part.at, self.cells.piece_type)
                self.cells.stored(b, part.piece, sums, first)
            if following:
                b.add("gpu.barrier", attributes=MEET)

    def _ahead(self, b: Builder, one: _Slice) -> list[Value | None]:
        return self.cells.ahead(b, [part.piece for part in one.parts])

    def _put(
        self, b: Builder, warp: Index, lane: Index, total: Value, one: _Slice
    ) -> None:
        """One of both rows that a lane has of each fragment, to the slice."""
        element = self.cells.contraction.element
        fragment, pair = VectorType((2, 2), element), VectorType((2,), element)
        where = {"static_position": DenseArrayAttr(I64, (one.half,))}
        row = Index.of(b.index(warp * OCTET + lane // 4, "at"))
        start = Index.of(b.index(lane % 4 * 2, "at"))
        for n in range(0, _columns(self.plan), COLUMNS):
            number = IntegerAttr((one.first + n) // COLUMNS, I64)
            place = {"row": IntegerAttr(0, I64), "column": number}
            (held,) = b.add("gcg.fragment", (total,), [fragment], place)
            (sums,) = b.add("vector.extract", (held,), [pair], where)
            b.vector_store(sums, self.memory, [row, start + n])

    def _parts(
        self, b: Builder, warp: Index, lane: Index, first: int, half: int
    ) -> list[_Part]:
        """What a lane stores of a slice, rows of the result side by side."""
        width, place = self.cells.width, self.cells.place
        side_by_side = _columns(self.plan) // width
        group, within = warp * WARP // WARPGROUP, warp % (WARPGROUP // WARP)
        down = group * WARPGROUP_ROWS + within * ROWS + half * OCTET
        below = Index.of(b.index(place.row + down, "i"))
        made: list[_Part] = []
        for before in range(0, OCTET * side_by_side, WARP):
            number = lane + before
            row, column = number // side_by_side, number % side_by_side * width
            row, column = (Index.of(b.index(at, "at")) for at in (row, column))
            where = Piece(
                Index.of(b.index(below + row, "i")),
                Index.of(b.index(place.column + column + first, "j")),
            )
            made.append(_Part((warp * OCTET + row, column), where))
        return made


def _columns(plan: WarpgroupTiles) -> int:
    """Columns of a slice."""
    return min(SLICE_COLUMNS, plan.tile_columns)
