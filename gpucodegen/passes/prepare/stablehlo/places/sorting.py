"""Sorts, as a network of exchanges that does not depend on the numbers.

All exchanges of a stage are independent of each other, so that a stage is one map over
all elements, which threads and GPUs share.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, INDEX, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.stablehlo.elements.bits import ordered
from gpucodegen.passes.prepare.stablehlo.elements.conversions import converted
from gpucodegen.passes.prepare.stablehlo.elements.expressions import Expression
from gpucodegen.passes.prepare.stablehlo.elements.table import FLOAT, kind_of
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    Rule,
    empty,
    extract,
    generic,
    mapped,
    position,
    scalar,
    shape,
    tensor,
)
from gpucodegen.passes.prepare.stablehlo.movement import part_of
from gpucodegen.passes.prepare.stablehlo.scalars import inlined

Less = Callable[[Builder, Sequence[Value], Sequence[Value]], Value]
"""Whether the elements at one place come before those at another one."""


def sort(b: Builder, op: Operation) -> Sequence[Value]:
    """Tensors along a dimension, in the order of a comparison of their elements."""
    extents = shape(op.operands[0])
    rank = len(extents)
    given = numbers(op, "dimension")
    dimension = (given[0] if given else rank - 1) % max(rank, 1)

    def less(inner: Builder, xs: Sequence[Value], ys: Sequence[Value]) -> Value:
        pairs = [v for pair in zip(xs, ys, strict=True) for v in pair]
        return inlined(inner, op, op.body, pairs)[0]

    if not op.integer("is_stable"):
        return _sorted(b, op.operands, dimension, less)
    first = _positions(b, extents, dimension, I64)
    return _sorted(b, [*op.operands, first], dimension, _stable(less))[:-1]


def top_k(b: Builder, op: Operation) -> Sequence[Value]:
    """The largest elements of each row, the first of equal ones first, and places."""
    (x,) = op.operands
    last = len(shape(x)) - 1
    places = _positions(b, shape(x), last, element_type(op.results[1].type))

    def larger(inner: Builder, xs: Sequence[Value], ys: Sequence[Value]) -> Value:
        keys = [v[0] for v in (ys, xs)]
        if kind_of(x.type) == FLOAT:
            keys = [ordered(inner, key) for key in keys]
        low, high = (Expression(inner, key) for key in keys)
        return (low < high).value

    made = _sorted(b, [x, places], last, _stable(larger))
    starts, ones = (0,) * (last + 1), (1,) * (last + 1)
    return [
        part_of(b, v, starts, ones, result.type)
        for v, result in zip(made, op.results, strict=True)
    ]


def _positions(b: Builder, extents: Sequence[int], d: int, element: Type) -> Value:
    def here(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        (place,) = inner.add("arith.index_cast", (position(inner, d),), [I64])
        return [converted(inner, place, element)]

    return mapped(b, [], [], tensor(extents, element), here)


def _stable(less: Less) -> Less:
    """Of equal elements, those whose last number is smaller come first."""

    def total(inner: Builder, xs: Sequence[Value], ys: Sequence[Value]) -> Value:
        # Where x was first it comes before y unless y comes before it.
        turned = Expression(inner, ys[-1]) < Expression(inner, xs[-1])
        pairs = [*zip(xs[:-1], ys[:-1], strict=True)]
        ones = [_either(inner, turned, pair) for pair in pairs]
        others = [_either(inner, turned, pair[::-1]) for pair in pairs]
        before = Expression(inner, less(inner, ones, others))
        return before.equals(turned).value

    return total


def _either(b: Builder, condition: Expression, pair: Sequence[Value]) -> Value:
    return b.add("arith.select", (condition.value, *pair), [pair[0].type])[0]


def _sorted(
    b: Builder, tensors: Sequence[Value], dimension: int, less: Less
) -> Sequence[Value]:
    """Batcher's merge exchange (Knuth, The Art of Computer Programming 3, 5.2.2 M).

    With ``2**t >= n``, stage (a, c), for ``c <= a < t``, compares the elements at i and
    ``i + d`` for all i with ``i & p == r``.  There ``p = 2**(t-1-a)``; d is p and r is
    0 in the first stage of an a, and ``d = 2**(t-c) - p``, ``r = p`` in the others.
    """
    extents = shape(tensors[0])
    n = extents[dimension] if extents else 1
    steps = max(n - 1, 0).bit_length()
    rank = len(extents)
    half = scalar(b, 1 << max(steps - 1, 0), INDEX)
    types = [v.type for v in tensors]

    def stage(
        b: Builder, p: Value, r: Value, d: Value, held: Sequence[Value]
    ) -> Sequence[Value]:
        def body(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
            at = [position(inner, e) for e in range(rank)]
            i, by = (Expression(inner, v) for v in (at[dimension], d))
            up, down = i + by, i - by
            is_low = (i & Expression(inner, p)).equals(Expression(inner, r))
            is_low = is_low.by("arith.andi", up < n)
            is_high = (down & Expression(inner, p)).equals(Expression(inner, r))
            is_high = is_high.by("arith.andi", (down < 0).equals(0))
            early = down.where(is_high, i)
            late = up.where(is_low, i)
            places = [
                [e if d_ != dimension else end.value for d_, e in enumerate(at)]
                for end in (early, late)
            ]
            xs, ys = ([extract(inner, v, place) for v in held] for place in places)
            swap = Expression(inner, less(inner, ys, xs))
            # Low places get the early elements unless they are exchanged.
            is_early = swap ^ is_low
            pairs = zip(xs, ys, strict=True)
            return [_either(inner, is_early, pair) for pair in pairs]

        outputs = [empty(b, ty) for ty in types]
        own = [[Dim(e) for e in range(rank)]] * len(types)
        return generic(b, [], outputs, own, [PARALLEL] * rank, body)

    def outer(b: Builder, a: Value, held: Sequence[Value]) -> Sequence[Value]:
        (p,) = b.add("arith.shrui", (half, a), [INDEX])
        zero = scalar(b, 0, INDEX)
        held = stage(b, p, zero, p, held)

        def inner(b: Builder, c: Value, held: Sequence[Value]) -> Sequence[Value]:
            (q,) = b.add("arith.shrui", (half, c), [INDEX])
            (d,) = b.add("arith.subi", (q, p), [INDEX])
            return stage(b, p, p, d, held)

        return b.carried_loop(0, Index.of(a), held, inner)

    return b.carried_loop(0, steps, tensors, outer) if steps else tensors


RULES: dict[str, Rule] = {"stablehlo.sort": sort, "chlo.top_k": top_k}
