"""StableHLO sort and top-k.

On a GPU, a sort is a data-independent sorting network: all exchanges of a stage are
independent, so a stage is one elementwise operation that runs in parallel.  On a CPU it
is a merge sort: fewer comparisons, and rows run in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I1, I64, INDEX, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.stablehlo.elementwise import ordered
from gpucodegen.passes.prepare.stablehlo.expressions import (
    FLOAT,
    Expression,
    clamped,
    converted,
    kind_of,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    Rule,
    empty,
    extract,
    generic,
    mapped,
    nest,
    position,
    scalar,
    shape,
    tensor,
    where,
    with_elements,
)
from gpucodegen.passes.prepare.stablehlo.movement import part_of
from gpucodegen.passes.prepare.stablehlo.reductions import inlined

Less = Callable[[Builder, Sequence[Value], Sequence[Value]], Value]
"""Whether the elements at one position sort before those at another one."""


FEW = 4
"""``top_k`` on a CPU inserts where rows are this many times longer than k."""
Sort = Callable[[Builder, Sequence[Value], int, Less], Sequence[Value]]
"""Sorts tensors along a dimension; elements that compare equal keep their order."""


def sort(b: Builder, op: Operation, sorted_: Sort) -> Sequence[Value]:
    """Tensors along a dimension, in the order of a comparison of their elements."""
    extents = shape(op.operands[0])
    rank = len(extents)
    given = numbers(op, "dimension")
    dimension = (given[0] if given else rank - 1) % max(rank, 1)

    def less(inner: Builder, xs: Sequence[Value], ys: Sequence[Value]) -> Value:
        pairs = [v for pair in zip(xs, ys, strict=True) for v in pair]
        return inlined(inner, op, op.body, pairs)[0]

    if sorted_ is by_network and not op.integer("is_stable"):
        return _exchanged(b, op.operands, dimension, less)
    return sorted_(b, op.operands, dimension, less)


def top_k(b: Builder, op: Operation, sorted_: Sort) -> Sequence[Value]:
    """The largest elements of each row with their positions; ties by position."""
    (x,) = op.operands
    last = len(shape(x)) - 1
    places = _positions(b, shape(x), last, element_type(op.results[1].type))

    def larger(inner: Builder, xs: Sequence[Value], ys: Sequence[Value]) -> Value:
        keys = [v[0] for v in (ys, xs)]
        if kind_of(x.type) == FLOAT:
            keys = [ordered(inner, key) for key in keys]
        low, high = (Expression(inner, key) for key in keys)
        return (low < high).value

    extents = shape(op.results[0])
    if sorted_ is by_merging and extents[-1] * FEW <= shape(x)[-1]:
        return _selected(b, [x, places], extents, larger)
    made = sorted_(b, [x, places], last, larger)
    starts, ones = (0,) * (last + 1), (1,) * (last + 1)
    return [
        part_of(b, v, starts, ones, result.type)
        for v, result in zip(made, op.results, strict=True)
    ]


def _selected(
    b: Builder, tensors: Sequence[Value], extents: Sequence[int], less: Less
) -> Sequence[Value]:
    """The first k of each sorted row: insertion into the first k of those seen so far.

    Most elements of a long row are only compared with the last one that is kept.
    """
    *others, k = extents
    n = shape(tensors[0])[-1]

    def row(b: Builder, outer: Sequence[Value], held: Sequence[Value]) -> list[Value]:
        def inserted_before(
            b: Builder, end: Value | int, new: Sequence[Value], held: Sequence[Value]
        ) -> Sequence[Value]:
            """Elements that follow the new one move on; the last one is returned."""

            def step(b: Builder, p: Value, carried: Sequence[Value]) -> list[Value]:
                found, *rest = carried
                moved, held = rest[: len(new)], rest[len(new) :]
                kept = [extract(b, v, [*outer, p]) for v in held]
                # Behind the new element all move, equal ones too.
                is_before = Expression(b, found) | Expression(b, less(b, moved, kept))
                pairs = [*zip(moved, kept, strict=True)]
                first = [_either(b, is_before, pair) for pair in pairs]
                then = [_either(b, is_before, pair[::-1]) for pair in pairs]
                made = with_elements(b, first, held, [*outer, p])
                return [is_before.value, *then, *made]

            none = scalar(b, 0, I1)
            return b.carried_loop(0, end, [none, *new, *held], step)[1:]

        def first(b: Builder, j: Value, held: Sequence[Value]) -> Sequence[Value]:
            new = [extract(b, v, [*outer, j]) for v in tensors]
            made = inserted_before(b, j, new, held)
            return with_elements(b, made[: len(new)], made[len(new) :], [*outer, j])

        def later(b: Builder, j: Value, held: Sequence[Value]) -> Sequence[Value]:
            new = [extract(b, v, [*outer, j]) for v in tensors]
            end = scalar(b, k - 1, INDEX)
            condition = less(b, new, [extract(b, v, [*outer, end]) for v in held])

            def insert(b: Builder, held: Sequence[Value]) -> Sequence[Value]:
                return inserted_before(b, k, new, held)[len(new) :]

            return where(b, [condition], held, insert)

        held = b.carried_loop(0, k, held, first)
        return [*b.carried_loop(k, n, held, later)]

    kept = [empty(b, tensor(extents, element_type(v.type))) for v in tensors]
    return nest(b, others, kept, row)


def _positions(b: Builder, extents: Sequence[int], d: int, element: Type) -> Value:
    def here(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        place = inner.value("arith.index_cast", (position(inner, d),), I64)
        return [converted(inner, place, element)]

    return mapped(b, [], [], tensor(extents, element), here)


def _stable(less: Less) -> Less:
    """Ties are broken by the last number, the smaller one first."""

    def total(inner: Builder, xs: Sequence[Value], ys: Sequence[Value]) -> Value:
        # Stability: x, which was first, stays first unless y sorts before it.
        turned = Expression(inner, ys[-1]) < Expression(inner, xs[-1])
        pairs = [*zip(xs[:-1], ys[:-1], strict=True)]
        ones = [_either(inner, turned, pair) for pair in pairs]
        others = [_either(inner, turned, pair[::-1]) for pair in pairs]
        before = Expression(inner, less(inner, ones, others))
        return before.equals(turned).value

    return total


def _either(b: Builder, condition: Expression, pair: Sequence[Value]) -> Value:
    return b.value("arith.select", (condition.value, *pair), pair[0].type)


def by_network(
    b: Builder, tensors: Sequence[Value], dimension: int, less: Less
) -> Sequence[Value]:
    """Sorting by exchanges, with positions as the last key."""
    first = _positions(b, shape(tensors[0]), dimension, I64)
    return _exchanged(b, [*tensors, first], dimension, _stable(less))[:-1]


def _exchanged(
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
        p = b.value("arith.shrui", (half, a), INDEX)
        zero = scalar(b, 0, INDEX)
        held = stage(b, p, zero, p, held)

        def inner(b: Builder, c: Value, held: Sequence[Value]) -> Sequence[Value]:
            q = b.value("arith.shrui", (half, c), INDEX)
            d = b.value("arith.subi", (q, p), INDEX)
            return stage(b, p, p, d, held)

        return b.carried_loop(0, Index.of(a), held, inner)

    return b.carried_loop(0, steps, tensors, outer) if steps else tensors


def by_merging(
    b: Builder, tensors: Sequence[Value], dimension: int, less: Less
) -> Sequence[Value]:
    """Bottom-up merge sort: stage s merges pairs of runs of ``2**s`` elements.

    A loop over all positions k of a row merges all pairs of the row.  It carries the
    next position in the left run and in the right one, which begin anew at each pair.
    """
    extents = shape(tensors[0])
    n = extents[dimension] if extents else 1
    others = [*extents[:dimension], *extents[dimension + 1 :]]
    steps = max(n - 1, 0).bit_length()

    def stage(b: Builder, s: Value, held: Sequence[Value]) -> Sequence[Value]:
        width = Expression(b, scalar(b, 1, INDEX)).by("arith.shli", Expression(b, s))

        def row(
            b: Builder, outer: Sequence[Value], made: Sequence[Value]
        ) -> Sequence[Value]:
            def at(place: Value) -> list[Value]:
                return [*outer[:dimension], place, *outer[dimension:]]

            def step(b: Builder, k: Value, carried: Sequence[Value]) -> Sequence[Value]:
                i, j = (Expression(b, v) for v in carried[:2])
                here, w = Expression(b, k), Expression(b, width.value)
                begin = here - (here & (w + w - 1))
                middle = (begin + w).by("arith.minsi", n)
                end = (begin + w + w).by("arith.minsi", n)
                is_new = here.equals(begin)
                i, j = begin.where(is_new, i), middle.where(is_new, j)
                xs, ys = (
                    [extract(b, v, at(clamped(p, n).value)) for v in held]
                    for p in (i, j)
                )
                # Ties take the left run: the sort is stable.
                is_less = Expression(b, less(b, ys, xs))
                takes_right = (is_less | i.equals(middle)) & (j < end)
                values = [
                    _either(b, takes_right, pair) for pair in zip(ys, xs, strict=True)
                ]
                tensors = with_elements(b, values, carried[2:], at(k))
                moved = i.where(takes_right, i + 1), (j + 1).where(takes_right, j)
                return [*(p.value for p in moved), *tensors]

            starts = [scalar(b, 0, INDEX)] * 2
            return b.carried_loop(0, n, [*starts, *made], step)[2:]

        return nest(b, others, [empty(b, v.type) for v in held], row)

    return b.carried_loop(0, steps, tensors, stage) if steps else tensors


def sorting_rules(sorted_: Sort) -> dict[str, Rule]:
    return {
        "stablehlo.sort": partial(sort, sorted_=sorted_),
        "chlo.top_k": partial(top_k, sorted_=sorted_),
    }
