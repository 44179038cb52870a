"""What a register tile fetches while it computes: panels, and the tiles after it.

A tile fetches in parts: for some of its rows, before that part of its reduction block,
the row of the next tile of the result, and in a stripe a piece of the row of the left
factor that the next row of tiles begins with:

    for part of parts:
      fetch C next tile[rows of the part], A next rows[rows of the part][piece]
      for k in part of the block:
        acc += column of left (x) lanes of right
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import element_type
from gpucodegen.passes.contraction.cpu.blocking import Blocking
from gpucodegen.passes.contraction.cpu.packing.packing import PackedOnUse, Right
from gpucodegen.passes.contraction.cpu.ranges import (
    Positions,
    Range,
    Step,
    Values,
    carried,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.processor import MEMORY
from gpucodegen.tiling.machine.product_problem import InPlace, Stripes

FIRST, SECOND = 3, 2
"""Locality of what is fetched into the first cache, and into the second one."""
AHEAD = 8
"""Steps that lanes of a panel take to come from beyond the first cache."""


@dataclass(frozen=True, slots=True)
class Fetching:
    """The fetches of a tile of ``rows x columns`` in one panel."""

    cut: Blocking
    row: Axis
    ranges: Sequence[Range]
    panel: Index
    rows: int
    columns: int

    @property
    def parts(self) -> int:
        """Parts of a reduction block, each after fetches of its own; 0: none."""
        kernel = self.cut.kernel
        return kernel.parts if isinstance(kernel, Stripes) else 0

    def result(self, b: Builder, at: Positions) -> None:
        """The next tile of the result, to be written, row by row."""

        def fetch(i: Builder, number: Value) -> None:
            self._result_row(i, at, Index.of(number))

        b.loop(0, self.rows, fetch, hint="line")

    def in_parts(
        self, b: Builder, at: Positions, acc: Values, step: Step, first: Index
    ) -> Values:
        """The reduction block with fetches; ``first``: the stripe's first panel."""
        tiling, parts, (block,) = self.cut.tiling, self.parts, self.ranges
        height, length = -(-self.rows // parts), -(-tiling.k_chunk // parts)

        exact = length * parts == tiling.k_chunk <= block.axis.extent
        ends = block.uppers[1:] if exact else block.uppers

        def part(i: Builder, number: Value, now: Values) -> Values:
            start = Index.of(block.lower) + Index.of(number) * length
            for offset in range(height):
                row = Index.of(number) * height + offset
                if tiling.fetches:
                    self._result_row(i, at, row)
                self._left_row(i, at, row, start_of=block, piece=self.panel - first)
            inside = replace(block, lower=start, uppers=[start + length, *ends])
            return carried(i, [inside], at, now, step)

        return b.carried_loop(0, parts, acc, part, hint="part")

    def _result_row(self, b: Builder, at: Positions, number: Index) -> None:
        """A row of the next tile of the result: one element of each cache line.

        Rows that start inside a line end in one more.  A vector stored across a line
        that is not there holds up all stores after it.
        """
        contraction, column = self.cut.contraction, self.cut.column
        across = isinstance(self.cut.kernel, Stripes)
        axis, size = (column, self.columns) if across else (self.row, self.rows)
        here = at | {axis.iv: at[axis.iv] + size}
        here[self.row.iv] += number
        for target in contraction.targets:
            line = MEMORY.line * 8 // element_bits(element_type(target.memref.type))
            for lane in sorted({*range(0, self.columns, line), self.columns - 1}):
                place = here | {column.iv: here[column.iv] + lane}
                b.prefetch(target.memref, target.at(place), write=True)

    def _left_row(
        self, b: Builder, at: Positions, number: Index, start_of: Range, piece: Index
    ) -> None:
        """A piece of a row of the left factor below: what this panel has to fetch."""
        kernel, left = self.cut.kernel, self.cut.contraction.left
        size = kernel.left_lines if isinstance(kernel, Stripes) else 0
        first = Index.of(start_of.lower) + piece * (size * _line_elements(self.cut))
        below = at[self.row.iv] + self.rows + number
        for line in range(size):
            step = first + line * _line_elements(self.cut)
            place = at | {self.row.iv: below, start_of.axis.iv: step}
            b.prefetch(left.memref, left.at(place), write=False)


@dataclass(frozen=True, slots=True)
class FetchingLanes:
    """The fetches of the right factor, step by step, in one panel of ``columns``."""

    cut: Blocking
    step: Axis
    right: Right
    panel: Index
    columns: int

    def build(self, b: Builder, at: Positions) -> None:
        """What the kernel says of the step that ``at`` names.

        Later tiles find in the caches what one has packed.
        """
        kernel = self.cut.kernel
        if isinstance(kernel, InPlace):
            if kernel.ahead:
                self._later(b, at, kernel.ahead, SECOND)
            if kernel.next_panel:
                self._beside(b, at)
        elif isinstance(kernel, Stripes) or isinstance(self.right, PackedOnUse):
            self._later(b, at, AHEAD, FIRST)

    def _later(self, b: Builder, at: Positions, ahead: int, locality: int) -> None:
        """The lanes of a later step."""
        later = at | {self.step.iv: at[self.step.iv] + ahead}
        self._fetch(b, self.right.cell(later, self.panel), locality)

    def _beside(self, b: Builder, at: Positions) -> None:
        """The lanes of the same step in the next panel.

        The steps of a block are left for those of the next panel before the processor
        sees that each is read in order.
        """
        column = self.cut.column.iv
        later = at | {column: at[column] + self.columns}
        self._fetch(b, self.right.cell(later, self.panel + 1), FIRST)

    def _fetch(
        self, b: Builder, cell: tuple[Value, list[Index]], locality: int
    ) -> None:
        memref, (*front, lane) = cell
        for first in range(0, self.columns, _line_elements(self.cut)):
            place = [*front, lane + first]
            b.prefetch(memref, place, write=False, locality=locality)


def _line_elements(cut: Blocking) -> int:
    """Elements of a cache line."""
    return MEMORY.line * 8 // element_bits(cut.contraction.element)
