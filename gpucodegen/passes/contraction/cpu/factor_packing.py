"""Operand access of CPU register tiles: in place or from packed copies.

A source of operand B gives ``columns`` lanes of one reduction step; a source of operand
A gives the ``height`` elements of the rows.  Packed copies are contiguous in the order
of use, so each costs one stream and no page is visited twice.

Panels of a B that is contiguous along the reduction instead of the columns are
transposed in registers, in squares of as many columns and steps as a register has
lanes:

    for columns of the panel by squares:
      for steps of the block by squares:
        P[steps][columns] = transpose(B[columns][steps])

Remainders at either end are smaller rectangles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Protocol

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType, VectorType, element_type
from gpucodegen.passes.contraction.cpu.blocking import LaneAxis
from gpucodegen.passes.contraction.operands import (
    Operand,
    Positions,
    Range,
    in_pieces,
    nested,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass


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
    """A transposed copy of a panel.

    ``target``: the buffer, and the indices in front of those of ranges and lane.
    """

    right: Operand
    ranges: Sequence[Range]
    lanes: LaneAxis
    target: tuple[Value, Sequence[Index]]

    def build(self, b: Builder, at: Positions) -> None:
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


class Right(Protocol):
    """Source of the lanes of B's panel ``number``; ``at`` gives all other axes."""

    def cell(self, at: Positions, number: Index) -> tuple[Value, list[Index]]:
        """The memory, and the indices, of the first of the lanes."""
        ...

    def lanes(self, b: Builder, at: Positions, number: Index, columns: int) -> Value:
        """``columns`` consecutive elements of the vector axis."""
        ...


class Left(Protocol):
    """Source of ``height`` rows of operand A, from the row in ``at``."""

    def column(self, b: Builder, at: Positions, height: int) -> Value: ...


@dataclass(frozen=True, slots=True)
class RightInPlace:
    """Consecutive elements of the array itself."""

    contraction: Contraction

    def cell(self, at: Positions, number: Index) -> tuple[Value, list[Index]]:
        del number
        right = self.contraction.right
        return right.memref, right.at(at)

    def lanes(self, b: Builder, at: Positions, number: Index, columns: int) -> Value:
        ty = VectorType((columns,), self.contraction.element)
        return b.vector_load(*self.cell(at, number), ty, "b")


@dataclass(frozen=True, slots=True)
class Panels:
    """Packed panels of one reduction block: ``buffer[number]?[k..][lane]``.

    ``numbered``: all panels from the ``first`` on; else one, packed before its use.
    """

    contraction: Contraction
    buffer: Value
    ranges: Sequence[Range]
    numbered: bool = False
    first: Index = ZERO

    def cell(self, at: Positions, number: Index) -> tuple[Value, list[Index]]:
        front = [number - self.first] if self.numbered else []
        return self.buffer, [*front, *(part.inside(at) for part in self.ranges), ZERO]

    def lanes(self, b: Builder, at: Positions, number: Index, columns: int) -> Value:
        ty = VectorType((columns,), self.contraction.element)
        return b.vector_load(*self.cell(at, number), ty, "b")


@dataclass(frozen=True, slots=True)
class PackedOnUse:
    """Array elements that are copied to ``panels`` when they are first read."""

    source: Right
    panels: Panels

    def cell(self, at: Positions, number: Index) -> tuple[Value, list[Index]]:
        return self.source.cell(at, number)

    def lanes(self, b: Builder, at: Positions, number: Index, columns: int) -> Value:
        """A vector load, and a store."""
        vector = self.source.lanes(b, at, number, columns)
        buffer, cell = self.panels.cell(at, number)
        b.transfer_write(vector, buffer, cell, [len(cell) - 1])
        return vector


@dataclass(frozen=True, slots=True)
class LeftInPlace:
    """One strided column of the array; single loads where rows have no stride.

    Contiguous elements are loaded one by one, too: each is broadcast to all lanes of a
    register, which a load can do, while a vector would have to be taken apart.
    """

    contraction: Contraction
    row: Axis | None

    def column(self, b: Builder, at: Positions, height: int) -> Value:
        """A strided read, or single loads."""
        left = self.contraction.left
        if self.row is None:
            return left.value(b, at, "a")
        ty = VectorType((height,), self.contraction.element)
        row, dimensions = self.row, left.dimensions_of(self.row)
        is_line = len(dimensions) == 1 and left.coefficient(dimensions[0], row) == 1
        if is_line and not left.steps and not direct_lanes(left, row):
            return b.transfer_read(left.memref, left.at(at), ty, dimensions, hint="a")
        scalars = [
            left.value(b, at | {row.iv: at[row.iv] + i}, "a") for i in range(height)
        ]
        (column,) = b.add("vector.from_elements", scalars, [ty], hint="a")
        return column


@dataclass(frozen=True, slots=True)
class LeftBlock:
    """A block of rows, contiguous along the reduction, spread over the cache."""

    contraction: Contraction
    block: Value
    row: Range
    step: Range

    def column(self, b: Builder, at: Positions, height: int) -> Value:
        """A strided read, or single loads."""
        ty = VectorType((height,), self.contraction.element)
        cell = [self.row.inside(at), self.step.inside(at)]
        return b.transfer_read(self.block, cell, ty, [0], hint="a")


def pack_panel(
    b: Builder,
    contraction: Contraction,
    ranges: Sequence[Range],
    lanes: LaneAxis,
    at: Positions,
    target: tuple[Value, Sequence[Index]],
) -> None:
    """Copy ``lanes`` of operand B for every step of the ranges.

    ``target``: the buffer, and the indices in front of those of ranges and lane.
    """
    buffer, front = target
    if is_transposed(contraction, ranges[-1], lanes):
        TransposedPanel(contraction.right, ranges, lanes, target).build(b, at)
        return

    def copy(inner: Builder, here: Positions) -> None:
        cell = [*front, *(part.inside(here) for part in ranges)]
        copy_lanes(inner, contraction, here, lanes, (buffer, cell))

    nested(b, ranges, at, copy)


def copy_lanes(
    b: Builder,
    contraction: Contraction,
    at: Positions,
    lanes: LaneAxis,
    target: tuple[Value, Sequence[Index]],
) -> None:
    """Copy ``lanes`` of operand B for one step.

    ``target``: the buffer, and the indices in front of that of the lane.
    """
    right, (buffer, cell) = contraction.right, target
    width = lanes.extent

    def source(lane: Index | Value | int) -> Positions:
        return at | {lanes.axis.iv: lanes.first + lane}

    def element(body: Builder, lane: Value) -> None:
        value = right.value(body, source(lane))
        body.store(value, buffer, [*cell, lane])

    if direct_lanes(right, lanes.axis):
        ty = VectorType((width,), contraction.element)
        vector = b.vector_load(right.memref, right.at(source(0)), ty, "b")
        b.transfer_write(vector, buffer, [*cell, ZERO], [len(cell)])
    else:
        b.loop(0, width, element, hint="lane")


def pack_rows(b: Builder, block: LeftBlock, at: Positions, lanes: int) -> None:
    """Copy the rows of a block, ``lanes`` reduction steps at a time."""
    left, row, step = block.contraction.left, block.row, block.step
    ty = VectorType((lanes,), block.contraction.element)

    def copy(inner: Builder, here: Positions) -> None:
        vector = inner.vector_load(left.memref, left.at(here), ty, "a")
        cell = [row.inside(here), step.inside(here)]
        inner.transfer_write(vector, block.block, cell, [1])

    def compute(inner: Builder, here: Positions) -> None:
        cell = [row.inside(here), step.inside(here)]
        inner.store(left.value(inner, here, "a"), block.block, cell)

    if left.steps:
        nested(b, [row, step], at, compute)
    elif direct_lanes(left, row.axis):
        copy_transposed(b, left, block.block, (row, step), at, lanes)
    else:
        nested(b, [row, replace(step, stride=lanes)], at, copy)


def direct_lanes(right: Operand, column: Axis) -> bool:
    """Whether ``right`` is in memory with the vector axis contiguous."""
    last = len(right.indices) - 1
    layout = getattr(right.memref.type, "layout", None)
    return (
        layout is None
        and not right.steps
        and right.dimensions_of(column) == [last]
        and right.coefficient(last, column) == 1
    )


def row_stride(left: Operand, row: Axis, reduction: Axis) -> int | None:
    """Elements between rows of ``left``, if each is contiguous along ``reduction``."""
    ty = left.memref.type
    assert isinstance(ty, MemRefType)
    last = len(left.indices) - 1
    rows = left.dimensions_of(row)
    plain = ty.layout is None and left.dimensions_of(reduction) == [last] != rows
    if not plain or left.coefficient(last, reduction) != 1 or len(rows) != 1:
        return None
    stride = left.coefficient(rows[0], row)
    for extent in ty.shape[rows[0] + 1 :]:
        if extent is None:
            return None
        stride *= extent
    return stride
