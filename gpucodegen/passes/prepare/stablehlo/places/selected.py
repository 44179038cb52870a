"""What goes where the element lies that each window selects."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, I64, INDEX, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.stablehlo.elements.expressions import Expression
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    REDUCTION,
    Rule,
    empty,
    extract,
    filled,
    generic,
    position,
    scalar,
    shape,
    tensor,
)
from gpucodegen.passes.prepare.stablehlo.scalars import inlined


def select_and_scatter(b: Builder, op: Operation) -> Sequence[Value]:
    """Each source is combined with the element that its window selects.

    First each window notes the place of the element that it selects, as a number of
    the operand row by row.  Then every element combines the sources of the windows
    over it that noted its own.
    """
    x, sources, start = op.operands
    extents, windows = shape(x), shape(sources)
    rank = len(extents)
    sizes = numbers(op, "window_dimensions") or (1,) * rank
    strides = numbers(op, "window_strides") or (1,) * rank
    low = (numbers(op, "padding") or (0,) * (2 * rank))[::2]
    element = element_type(x.type)
    select, combine = (region.blocks[0] for region in op.regions)
    places = tensor(windows, I64)
    own, taps = ([Dim(d + n) for d in range(rank)] for n in (0, rank))
    kinds = [PARALLEL] * rank + [REDUCTION] * rank
    told = empty(b, tensor(sizes, element))  # the extents of a window

    def select_one(b: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        _, best, noted = elements
        at, inside = list[Value](), Expression(b, scalar(b, 1, I1))
        for d, n in enumerate(extents):
            first = Expression(b, position(b, d)) * strides[d]
            place = first + Expression(b, position(b, rank + d)) - low[d]
            inside = inside & _within(place, n)
            at.append(_clamped(place, n).value)
        new = extract(b, x, at)
        (kept,) = inlined(b, op, select, [best, new])
        old = Expression(b, noted)
        taken = (Expression(b, kept).equals(0) | (old < 0)) & inside
        number = _number(b, at, extents)
        better = b.add("arith.select", (taken.value, new, best), [element])
        return [*better, number.where(taken, old).value]

    nothing = [
        filled(b, scalar(b, 0, element), tensor(windows, element)),
        filled(b, scalar(b, -1, I64), places),
    ]
    _, selected = generic(b, [told], nothing, [taps, own, own], kinds, select_one)

    def combine_one(b: Builder, elements: Sequence[Value]) -> Sequence[Value]:
        total = elements[-1]
        at, inside = list[Value](), Expression(b, scalar(b, 1, I1))
        for d, n in enumerate(windows):
            tap = Expression(b, position(b, rank + d))
            along = Expression(b, position(b, d)) - tap + low[d]
            window = along.by("arith.divsi", strides[d])
            inside = inside & _within(window, n) & (window * strides[d]).equals(along)
            at.append(_clamped(window, n).value)
        here = _number(b, [position(b, d) for d in range(rank)], extents)
        is_own = Expression(b, extract(b, selected, at)).equals(here) & inside
        (made,) = inlined(b, op, combine, [total, extract(b, sources, at)])
        ty = element_type(op.result.type)
        return b.add("arith.select", (is_own.value, made, total), [ty])

    begin = filled(b, start, op.result.type)
    return generic(b, [told], [begin], [taps, own], kinds, combine_one)


def _within(place: Expression, extent: int) -> Expression:
    return place.by("arith.maxsi", 0).equals(place) & (place < extent)


def _clamped(place: Expression, extent: int) -> Expression:
    return place.by("arith.maxsi", 0).by("arith.minsi", extent - 1)


def _number(b: Builder, at: Sequence[Value], extents: Sequence[int]) -> Expression:
    """Which element it is, row by row."""
    total = Expression(b, scalar(b, 0, INDEX))
    for place, extent in zip(at, extents, strict=True):
        total = total * extent + Expression(b, place)
    return Expression(b, b.add("arith.index_cast", (total.value,), [I64])[0])


RULES: dict[str, Rule] = {"stablehlo.select_and_scatter": select_and_scatter}
