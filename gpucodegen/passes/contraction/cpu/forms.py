"""Whether a contraction pays on a CPU, and in which forms it can be computed.

`paying_contraction` is the one place that is asked.  Forms are: lanes along the columns
of the result (register tiles), lanes along the reduction (inner products), lanes along
the rows (a transposed result), and a window that slides over one channel.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.analysis.work import Middles, expected_work
from gpucodegen.passes.contraction.cpu.blocking import column_axis, row_axis
from gpucodegen.passes.contraction.cpu.kernels import depthwise
from gpucodegen.passes.contraction.cpu.kernels.depthwise import Sliding, sliding
from gpucodegen.passes.contraction.cpu.kernels.dot_sides import Sides, dot_sides
from gpucodegen.passes.contraction.cpu.kernels.transposed_result import can_transpose
from gpucodegen.passes.contraction.cpu.packing.packing import direct_lanes
from gpucodegen.passes.contraction.recognition.recognize import Contraction, recognize
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.tiling.machine.processor import FEWEST_LANES

SHORT_SUM = 256
"""Bits of the factors of a sum that is faster side by side with others."""
INNER_WORK = 1 << 18
"""Operations of a contraction inside loops that copies of its panels pay for."""


def paying_contraction(
    op: Operation, *, relaxed: bool = False, inside_of: Middles | None = None
) -> Contraction | None:
    """The contraction that a nest computes, if one of the kernels can run it.

    ``relaxed``: its sums may be reordered whatever its operations say.  ``inside_of``:
    the middles of the loops that run it again and again; it has to be large enough for
    the copies that each run of it makes.
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
    """Whether a nest, or one that its distribution gives, is a `paying_contraction`."""
    return any(map(paying_contraction, distribute(op, analysis)))


def _scaled(found: Contraction, scale: Value) -> Contraction:
    """``s (a b)``; ``(s a) b`` where products may be associated in another way."""
    if not found.reassociable:
        return found
    multiply = "arith.mulf" if isinstance(found.element, FloatType) else "arith.muli"
    return replace(found, left=found.left.multiplied(scale, multiply), scale=None)


def _runs(found: Contraction) -> bool:
    """Whether one of the kernels can run it."""
    return is_product(found) or window_of(found) is not None


def is_product(found: Contraction) -> bool:
    """Whether register tiles or inner products can."""
    if fills_registers(found) or transposes(found):
        return True
    return _is_long(found) and inner_products(found) is not None


def _is_long(found: Contraction) -> bool:
    """Whether the terms of a sum fill the lanes of a register."""
    steps = prod(axis.extent for axis in found.reduction)
    return steps * element_bits(found.element) > SHORT_SUM


def inner_products(found: Contraction) -> Sides | None:
    """The factors, if lanes can walk along the sums of both."""
    is_other = found.image or found.scale is not None or found.words
    return None if is_other else dot_sides(found)


def window_of(found: Contraction) -> Sliding | None:
    """The contraction as a window of one channel, if its taps may be unrolled."""
    window = None if found.rows or found.scale is not None else sliding(found)
    return window if window is not None and depthwise.pays(window) else None


def fills_registers(found: Contraction) -> bool:
    """Whether the lanes of registers can walk the columns."""
    if found.vector is None:
        return False
    column, is_line = column_axis(found), row_axis(found) is None
    packs = not is_line or direct_lanes(found.right, column)
    splits_accumulators = found.reassociable and _is_long(found)
    return column.extent >= (2 if splits_accumulators else FEWEST_LANES) and packs


def transposes(found: Contraction) -> bool:
    """Whether they can walk the rows, for a transposed result."""
    row = row_axis(found)
    return row is not None and row.extent >= FEWEST_LANES and can_transpose(found)
