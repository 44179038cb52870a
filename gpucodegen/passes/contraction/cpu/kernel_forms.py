"""Profitability of CPU contraction kernels, and the kernel form for a contraction.

`paying_contraction` is the only place that decides whether a nest is lowered as a
contraction.  The forms have lanes along the columns of the result (register tiles),
along the reduction (inner products), along the rows (transposed result), or along one
channel that a window slides over (depthwise).

The transposed form computes

    T[column][row] = sums                  (register tiles with A and B exchanged)
    for squares of the result:
      C[rows][columns] = C[rows][columns] + transpose(T[columns][rows])

so an A that is contiguous along the rows is read in place, and few columns do not leave
vector registers partly empty.  Fused operations stay with the second loop.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import TypeAlias

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, VectorType
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.analysis.work import Middles, expected_work
from gpucodegen.passes.contraction.cpu import depthwise
from gpucodegen.passes.contraction.cpu.blocking import column_axis, row_axis
from gpucodegen.passes.contraction.cpu.depthwise import Sliding, sliding
from gpucodegen.passes.contraction.cpu.dots import Sides, dot_sides
from gpucodegen.passes.contraction.cpu.factor_packing import direct_lanes
from gpucodegen.passes.contraction.epilogue_fusion import finished, started
from gpucodegen.passes.contraction.operands import (
    Operand,
    Positions,
    Range,
    buffer_of,
    in_pieces,
)
from gpucodegen.passes.contraction.recognize import (
    Contraction,
    Pointwise,
    Tile,
    recognize,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import FEWEST_LANES

Lower: TypeAlias = Callable[[Contraction], Sequence[Operation]]
"""Lowers the contraction of the transposed result."""


def can_transpose(contraction: Contraction) -> bool:
    """Whether the result has two axes, and operand A is contiguous along its rows."""
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
    """The result and its transposed sums."""

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


SHORT_SUM = 256
"""Operand bits of a sum below which vectorizing across sums is faster."""
INNER_WORK = 1 << 18
"""Least operations of a contraction inside loops that pay for panel copies."""


def paying_contraction(
    op: Operation, *, relaxed: bool = False, inside_of: Middles | None = None
) -> Contraction | None:
    """The contraction that a nest computes, if a kernel can run it with profit.

    ``relaxed``: its sums may be reordered whatever its operations say.  ``inside_of``:
    the middles of the loops that repeat it; it must be large enough for the copies
    that each execution makes.
    """
    if op.name != "affine.for":
        return None
    if inside_of is not None and (expected_work(op, inside_of) or 0) < INNER_WORK:
        return None
    found = recognize(op)
    if found is None or not found.sums_in_registers:
        return None
    found = replace(found, reassociable=found.reassociable or relaxed)
    if found.scale is not None:
        found = _scaled(found, found.scale)
    return found if _runs(found) else None


def holds_contraction(op: Operation, analysis: NestAnalysis) -> bool:
    """Whether a nest, or a nest of its distribution, is a `paying_contraction`."""
    return any(map(paying_contraction, distribute(op, analysis)))


def _scaled(found: Contraction, scale: Value) -> Contraction:
    """``s (a b)``; ``(s a) b`` where products may be reassociated."""
    if not found.reassociable:
        return found
    multiply = "arith.mulf" if isinstance(found.element, FloatType) else "arith.muli"
    return replace(found, left=found.left.multiplied(scale, multiply), scale=None)


def _runs(found: Contraction) -> bool:
    return is_product(found) or window_of(found) is not None


def is_product(found: Contraction) -> bool:
    """Whether register tiles or inner products apply."""
    if fills_registers(found) or transposes(found):
        return True
    return _is_long(found) and inner_products(found) is not None


def _is_long(found: Contraction) -> bool:
    """Whether the terms of a sum fill the lanes of a register."""
    steps = prod(axis.extent for axis in found.reduction)
    return steps * element_bits(found.element) > SHORT_SUM


def inner_products(found: Contraction) -> Sides | None:
    """The operand sides, if lanes can run along the reduction of both."""
    is_other = found.image or found.scale is not None or found.words
    return None if is_other else dot_sides(found)


def window_of(found: Contraction) -> Sliding | None:
    """The contraction as a window of one channel, if its taps may be unrolled."""
    window = None if found.rows or found.scale is not None else sliding(found)
    return window if window is not None and depthwise.pays(window) else None


def fills_registers(found: Contraction) -> bool:
    """Whether vector lanes can run along the columns."""
    if found.vector is None:
        return False
    column, is_line = column_axis(found), row_axis(found) is None
    packs = not is_line or direct_lanes(found.right, column)
    splits_accumulators = found.reassociable and _is_long(found)
    return column.extent >= (2 if splits_accumulators else FEWEST_LANES) and packs


def transposes(found: Contraction) -> bool:
    """Whether vector lanes can run along the rows, for a transposed result."""
    row = row_axis(found)
    return row is not None and row.extent >= FEWEST_LANES and can_transpose(found)
