"""Copies of factors that are contiguous along the other axis than they shall be.

Panels of a right factor whose steps, not columns, are contiguous: squares of as many
columns as a register has lanes, and as many steps, are read by rows and transposed in
registers:

    for columns of the panel by squares:
      for steps of the block by squares:
        P[steps][columns] = transpose(B[columns][steps])

What is left over at either end has a rectangle of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.contraction.cpu.blocking import LaneAxis
from gpucodegen.passes.contraction.cpu.ranges import Positions, Range, in_pieces, nested
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index


def is_transposed(contraction: Contraction, steps: Range, lanes: LaneAxis) -> bool:
    """Whether rows along the steps are contiguous, and blocks begin at squares."""
    right, last = contraction.right, len(contraction.right.indices) - 1
    plain = getattr(right.memref.type, "layout", None) is None and not right.steps
    across, along = right.dimensions_of(lanes.axis), right.dimensions_of(steps.axis)
    if not plain or len(across) != 1 or along != [last] or across == along:
        return False
    length = (Index.of(steps.uppers[0]) - steps.lower).constant
    cut = length is None or (length < steps.axis.extent and length % lanes.register)
    unit = right.coefficient(across[0], lanes.axis), right.coefficient(last, steps.axis)
    return unit == (1, 1) and not cut and contraction.image is None


@dataclass(frozen=True, slots=True)
class TransposedPanel:
    """A panel and what it is filled with.

    ``target``: the buffer, and the indices in front of those of ranges and lane.
    """

    right: Operand
    ranges: Sequence[Range]
    lanes: LaneAxis
    target: tuple[Value, Sequence[Index]]

    def build(self, b: Builder, at: Positions) -> None:
        """Copy the panel."""
        size = self.lanes.register
        rest = self.lanes.extent % size
        whole = self.lanes.extent - rest

        def square(i: Builder, here: Positions, lane: Value) -> None:
            self._steps(i, here, Index.of(lane), size)

        def columns(i: Builder, here: Positions) -> None:
            if whole:
                i.loop(
                    0, whole, lambda j, c: square(j, here, c), step=size, hint="lane"
                )
            if rest:
                self._steps(i, here, Index.of(whole), rest)

        nested(b, self.ranges[:-1], at, columns)

    def _steps(self, b: Builder, at: Positions, lane: Index, width: int) -> None:
        """All steps of ``width`` columns from ``lane`` on."""
        size = self.lanes.register

        def square(i: Builder, here: Positions, steps: int) -> None:
            self._square(i, here, lane, (width, steps))

        in_pieces(b, self.ranges[-1], size, at, square)

    def _square(
        self, b: Builder, at: Positions, lane: Index, shape: tuple[int, int]
    ) -> None:
        """``shape``: columns and steps."""
        right, axis, (buffer, front) = self.right, self.lanes.axis, self.target
        place = at | {axis.iv: self.lanes.first + lane}
        spanned = [*right.dimensions_of(axis), len(right.indices) - 1]
        ty = VectorType(shape, element_type(buffer.type))
        rows = b.transfer_read(right.memref, right.at(place), ty, spanned, hint="b")
        cell = [*front, *(part.inside(at) for part in self.ranges), lane]
        last = len(cell) - 1
        b.transfer_write(b.transposed(rows), buffer, cell, [last - 1, last])


def copy_transposed(
    b: Builder,
    source: Operand,
    target: Value,
    sides: tuple[Range, Range],
    at: Positions,
    size: int,
) -> None:
    """``target[across][along] = source``, whose neighbours lie ``across``.

    ``sides``: the ranges of both axes, one dimension of the source each; squares of
    ``size`` are transposed in registers.
    """
    across, along = sides
    spanned = [*source.dimensions_of(along.axis), *source.dimensions_of(across.axis)]

    def square(i: Builder, here: Positions, shape: tuple[int, int]) -> None:
        ty = VectorType(shape, element_type(target.type))
        cells = i.transfer_read(source.memref, source.at(here), ty, spanned, hint="a")
        cell = [across.inside(here), along.inside(here)]
        i.transfer_write(i.transposed(cells), target, cell, [0, 1])

    def row(i: Builder, here: Positions, steps: int) -> None:
        in_pieces(i, across, size, here, lambda j, at, n: square(j, at, (steps, n)))

    in_pieces(b, along, size, at, row)
