"""Sums of fragments to the result: through shared memory, a row of 16 bytes a thread.

A lane holds two elements of a row.  The block puts eight rows of each row of its warps
side by side in shared memory, meets, and every thread stores elements that lie side by
side, with what is fused behind the sums; so on, until all rows are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I64, MemRefType, VectorType
from gpucodegen.passes.contraction.fragments.multiply import Fragments, Lane
from gpucodegen.passes.contraction.gpu.result_tile import Cells, Piece
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED
from gpucodegen.tiling.machine.gpu.fragments import COLUMNS, ROWS, slice_shape
from gpucodegen.tiling.machine.gpu.shared_copies import OCTET


@dataclass(frozen=True, slots=True)
class FragmentTile:
    """The block's tile of sums, and the slice of it that is on its way."""

    cells: Cells
    fragments: Fragments
    thread: Index
    lane: Lane
    slice: Value

    @staticmethod
    def of(
        b: Builder, cells: Cells, fragments: Fragments, thread: Index, lane: Lane
    ) -> FragmentTile:
        """With a new slice in shared memory."""
        shape = slice_shape(fragments.plan)
        ty = MemRefType(shape, fragments.element, None, SHARED)
        made = b.allocate("memref.alloca", ty, "sums")
        return FragmentTile(cells, fragments, thread, lane, made)

    def load(self, b: Builder) -> list[Value]:
        """What the sums start from is added behind the loop."""
        return self.fragments.zeros(b)

    def store(self, b: Builder, sums: Sequence[Value]) -> None:
        """Write the sums back, slice by slice."""
        down, across = self.fragments.counts
        halves = ROWS // OCTET
        for n in range(down):
            line = sums[n * across : (n + 1) * across]
            for half in range(halves):
                self._put(b, line, half)
                b.add("gpu.barrier")
                self._taken(b, n * ROWS + half * OCTET)
                if (n, half) != (down - 1, halves - 1):
                    b.add("gpu.barrier")

    def _put(self, b: Builder, line: Sequence[Value], half: int) -> None:
        """One of both rows that a lane has of each fragment, to the slice."""
        plan, lane = self.fragments.plan, self.lane
        ty = VectorType((2,), self.fragments.element)
        where = {"static_position": DenseArrayAttr(I64, (half,))}
        row = lane.row // plan.warp_rows * OCTET + lane.number // 4
        first = lane.column + lane.number % 4 * 2
        row, first = (Index.of(b.index(at, "at")) for at in (row, first))
        for n, fragment in enumerate(line):
            (pair,) = b.add("vector.extract", (fragment,), [ty], where)
            b.vector_store(pair, self.slice, [row, first + n * COLUMNS])

    def _taken(self, b: Builder, below: int) -> None:
        """The slice to the result; its rows lie ``below`` those of their warps."""
        plan, width, place = self.fragments.plan, self.cells.width, self.cells.place
        side_by_side = plan.tile_columns // width
        pieces = plan.tile_rows // plan.warp_rows * OCTET * side_by_side

        def piece(i: Builder, first: Value) -> None:
            number = self.thread + first
            row, column = number // side_by_side, number % side_by_side * width
            row, column = (Index.of(i.index(at, "at")) for at in (row, column))
            down = row // OCTET * plan.warp_rows + row % OCTET + below
            where = Piece(
                Index.of(i.index(place.row + down, "i")),
                Index.of(i.index(place.column + column, "j")),
            )

            def stored(n: Builder) -> None:
                sums = n.vector_load(self.slice, [row, column], self.cells.piece_type)
                self.cells.stored(n, where, sums)

            is_whole = pieces % plan.threads == 0
            i.guard([] if is_whole else [Index.of(pieces - 1) - number], stored)

        b.loop(ZERO, pieces, piece, step=plan.threads, hint="piece")
