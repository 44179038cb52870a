"""Reductions over dimensions and over windows, whatever combines two numbers."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.ir.affine import AffineExpr, Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    REDUCTION,
    Rule,
    Scalars,
    empty,
    filled,
    generic,
    shape,
    tensor,
)
from gpucodegen.passes.prepare.stablehlo.movement import padded
from gpucodegen.passes.prepare.stablehlo.scalars import inlined


def _combining(op: Operation, count: int) -> Scalars:
    """The body on the totals and the elements, of which ``count`` each are combined."""

    def body(b: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        totals = elements[len(elements) - count :]
        return inlined(b, op, op.body, [*totals, *elements[:count]])

    return body


def reduce(b: Builder, op: Operation) -> Sequence[Value]:
    """All elements along some dimensions, combined with a start."""
    count = len(op.operands) // 2
    inputs, starts = op.operands[:count], op.operands[count:]
    summed = numbers(op, "dimensions")
    rank = len(shape(inputs[0]))
    kept = [Dim(d) for d in range(rank) if d not in summed]
    outputs = [
        filled(b, start, result.type)
        for start, result in zip(starts, op.results, strict=True)
    ]
    whole = [Dim(d) for d in range(rank)]
    kinds = [REDUCTION if d in summed else PARALLEL for d in range(rank)]
    maps = [whole] * count + [kept] * count
    return generic(b, inputs, outputs, maps, kinds, _combining(op, count))


def reduce_window(b: Builder, op: Operation) -> Sequence[Value]:
    """All elements under a window that moves, combined with a start."""
    count = len(op.operands) // 2
    starts = op.operands[count:]
    extents = numbers(op, "window_dimensions")
    rank = len(extents)
    ones, zeros = (1,) * rank, (0,) * (2 * rank)
    strides, dilations, gaps = (
        numbers(op, name) or ones
        for name in ("window_strides", "window_dilations", "base_dilations")
    )
    sides = numbers(op, "padding") or zeros
    room = sides[::2], sides[1::2], [gap - 1 for gap in gaps]
    inputs = [
        padded(b, x, start, *room)
        for x, start in zip(op.operands[:count], starts, strict=True)
    ]
    taps = [d for d, n in enumerate(extents) if n != 1]
    under: list[AffineExpr] = [Dim(d) * stride for d, stride in enumerate(strides)]
    for n, d in enumerate(taps):
        under[d] = under[d] + Dim(rank + n) * dilations[d]
    outputs = [
        filled(b, start, result.type)
        for start, result in zip(starts, op.results, strict=True)
    ]
    own, window = (
        [Dim(d) for d in range(rank)],
        [Dim(rank + n) for n in range(len(taps))],
    )
    # Nothing reads it: it tells the extents of the window.
    told = empty(b, tensor([extents[d] for d in taps], element_type(inputs[0].type)))
    maps = [under] * count + [window] + [own] * count
    kinds = [PARALLEL] * rank + [REDUCTION] * len(taps)
    return generic(b, [*inputs, told], outputs, maps, kinds, _combining(op, count))


RULES: dict[str, Rule] = {
    "stablehlo.reduce": reduce,
    "stablehlo.reduce_window": reduce_window,
}
