"""A contraction whose result is computed transposed: lanes walk the rows, not columns.

    T[column][row] = sums                  (register tiles, the factors change sides)
    for squares of the result:
      C[rows][columns] = C[rows][columns] + transpose(T[columns][rows])

So products whose left factor is contiguous along the rows read it as it lies, and few
columns do not leave registers empty.  What is fused with the contraction stays with the
squares.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import FloatType, VectorType
from gpucodegen.passes.contraction.cpu.blocking import column_axis, row_axis
from gpucodegen.passes.contraction.cpu.packing.packing import direct_lanes
from gpucodegen.passes.contraction.cpu.ranges import Positions, Range, in_pieces
from gpucodegen.passes.contraction.fusion.pointwise import Pointwise, Tile
from gpucodegen.passes.contraction.fusion.start import finished, started
from gpucodegen.passes.contraction.recognition.operands import Operand, buffer_of
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import Axis

Lower: TypeAlias = Callable[[Contraction], Sequence[Operation]]
"""Lowers the contraction of the transposed result."""


def can_transpose(contraction: Contraction) -> bool:
    """Whether the result has two axes, and the left factor lies along its rows."""
    plain = contraction.is_plain and contraction.reassociable
    other = contraction.image or contraction.scale or contraction.words
    if not plain or other or contraction.vector is None:
        return False
    row = row_axis(contraction)
    if row is None or not direct_lanes(contraction.left, row):
        return False
    axes = {row, column_axis(contraction), *contraction.reduction}
    return axes == set(contraction.axes)


def lower(contraction: Contraction, lanes: int, transposed: Lower) -> list[Operation]:
    """Operations that replace the nest; squares have ``lanes`` rows and columns."""
    b = Builder(contraction.location)
    row, column = row_axis(contraction), column_axis(contraction)
    assert row is not None
    result = buffer_of(b, (column, row), contraction.element, "transposed")
    zero = b.constant(0, contraction.element)
    fill = Operation("affine.store", (zero, result.memref))
    b.operations += transposed(
        replace(
            contraction,
            axes=(column, row, *contraction.reduction),
            result=result,
            left=contraction.right,
            right=contraction.left,
            rows=contraction.columns,
            columns=contraction.rows,
            start=Pointwise(((fill, result),), ()),
            epilogue=None,
        )
    )
    _Squares(contraction, result, row, column).build(b, lanes)
    b.add("memref.dealloc", (result.memref,))
    return b.operations


@dataclass(frozen=True, slots=True)
class _Squares:
    """The cells of a result, and of its transposed sums."""

    contraction: Contraction
    sums: Operand
    row: Axis
    column: Axis

    def build(self, b: Builder, size: int) -> None:
        """Add the sums to the result, by squares of a size."""

        def across(i: Builder, at: Positions, rows: int) -> None:
            def square(j: Builder, here: Positions, columns: int) -> None:
                self._add(j, here, (rows, columns))

            in_pieces(i, Range.whole(self.column), size, at, square)

        rows = Range.whole(self.row)
        b.once(lambda i: in_pieces(i, rows, size, {}, across))

    def _add(self, b: Builder, at: Positions, shape: tuple[int, int]) -> None:
        tile = Tile(at, dict(zip((self.row, self.column), shape, strict=True)))
        ty = VectorType(shape[::-1], self.contraction.element)
        sums = self.sums
        term = b.transposed(
            b.transfer_read(sums.memref, sums.at(at), ty, [0, 1], hint="sums")
        )
        is_float = isinstance(self.contraction.element, FloatType)
        old = started(b, self.contraction, tile)
        name = "arith.addf" if is_float else "arith.addi"
        (total,) = b.add(name, (old, term), [term.type], hint="c")
        finished(b, self.contraction, tile, total)
