"""StableHLO gather, scatter, dynamic slices, select-and-scatter, sort and top-k.

Scatter combines elements one after the other.  Sort is a data-independent sorting
network; all exchanges of a stage are independent, so a stage is one elementwise
operation that runs in parallel.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.stablehlo.syntax import listed, numbered
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value, segment_counts, single_block
from gpucodegen.ir.types import I1, I64, INDEX, Type, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.linalg_to_affine import reassociable
from gpucodegen.passes.prepare.stablehlo.elementwise import ordered
from gpucodegen.passes.prepare.stablehlo.expressions import (
    FLOAT,
    UNSIGNED,
    Expression,
    compared,
    converted,
    kind_of,
)
from gpucodegen.passes.prepare.stablehlo.forms import (
    PARALLEL,
    REDUCTION,
    Rule,
    empty,
    extract,
    filled,
    generic,
    mapped,
    position,
    scalar,
    shape,
    tensor,
)
from gpucodegen.passes.prepare.stablehlo.movement import part_of
from gpucodegen.passes.prepare.stablehlo.reductions import inlined

Less = Callable[[Builder, Sequence[Value], Sequence[Value]], Value]
"""Whether the elements at one position sort before those at another one."""


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


SORTING_RULES: dict[str, Rule] = {"stablehlo.sort": sort, "chlo.top_k": top_k}


def place_of(b: Builder, value: Value) -> Value:
    is_unsigned = kind_of(value.type) == UNSIGNED
    name = "arith.index_castui" if is_unsigned else "arith.index_cast"
    return b.add(name, (value,), [INDEX])[0]


def _place(b: Builder, value: Value, last: int) -> Value:
    """A number as an index from 0 to ``last``: StableHLO moves slices inside."""
    place = place_of(b, value)
    zero, most = scalar(b, 0, INDEX), scalar(b, last, INDEX)
    (raised,) = b.add("arith.maxsi", (place, zero), [INDEX])
    return b.add("arith.minsi", (raised, most), [INDEX])[0]


def _slice_starts(
    b: Builder, op: Operation, starts: Sequence[Value], sizes: Sequence[int]
) -> list[Value]:
    """The start indices of a slice of the first operand."""
    extents = shape(op.operands[0])
    return [
        _place(b, extract(b, start), n - size)
        for start, n, size in zip(starts, extents, sizes, strict=True)
    ]


def dynamic_slice(b: Builder, op: Operation) -> Sequence[Value]:
    """A slice of static extents at a dynamic position."""
    x, *starts = op.operands
    sizes = numbers(op, "slice_sizes")
    places = _slice_starts(b, op, starts, sizes)
    return [part_of(b, x, places, (1,) * len(sizes), op.result.type)]


def dynamic_update_slice(b: Builder, op: Operation) -> Sequence[Value]:
    """An insertion at a dynamic position."""
    x, part, *starts = op.operands
    sizes = shape(part)
    places = _slice_starts(b, op, starts, sizes)
    lists = {
        "static_offsets": (DYNAMIC_MARK,) * len(sizes),
        "static_sizes": sizes,
        "static_strides": (1,) * len(sizes),
    }
    attributes: dict[str, Attribute] = {
        name: DenseArrayAttr(I64, entries) for name, entries in lists.items()
    }
    attributes["operandSegmentSizes"] = segment_counts(1, 1, len(places), 0, 0)
    operands = (part, x, *places)
    return b.add("tensor.insert_slice", operands, [op.result.type], attributes)


def gather(b: Builder, op: Operation) -> Sequence[Value]:
    """Slices at the positions in a tensor."""
    x, indices = op.operands
    given = op.attributes["dimension_numbers"]
    offsets = listed(given, "offset_dims")
    gone = listed(given, "collapsed_slice_dims")
    batched = listed(given, "operand_batching_dims")
    batches_of = listed(given, "start_indices_batching_dims")
    starts = listed(given, "start_index_map")
    vector = numbered(given, "index_vector_dim")
    sizes = numbers(op, "slice_sizes")
    rank, extents = len(shape(op.result)), shape(x)
    batch = [d for d in range(rank) if d not in offsets]
    windows = [d for d in range(len(extents)) if d not in gone and d not in batched]
    offset_of = dict(zip(windows, offsets, strict=True))
    # Dimensions of the list of places, without that of the places themselves.
    listed_dims = [d for d in range(len(shape(indices))) if d != vector]
    loop_of = dict(zip(listed_dims, batch, strict=True))

    def start(inner: Builder, component: int) -> Value:
        at = [
            scalar(inner, component, INDEX)
            if d == vector
            else position(inner, loop_of[d])
            for d in range(len(shape(indices)))
        ]
        return extract(inner, indices, at)

    def element(inner: Builder, _: Sequence[Value]) -> Sequence[Value]:
        at: list[Value] = []
        for d, n in enumerate(extents):
            place: Value | None = None
            if d in starts:
                found = start(inner, starts.index(d))
                place = _place(inner, found, n - sizes[d])
            if d in batched:
                place = position(inner, loop_of[batches_of[batched.index(d)]])
            if d in offset_of:
                offset = position(inner, offset_of[d])
                if place is not None and sizes[d] > 1:
                    (place,) = inner.add("arith.addi", (place, offset), [INDEX])
                elif place is None:
                    place = offset
            at.append(scalar(inner, 0, INDEX) if place is None else place)
        return [extract(inner, x, at)]

    return [mapped(b, [], [], op.result.type, element)]


GATHER_RULES: dict[str, Rule] = {
    "stablehlo.dynamic_slice": dynamic_slice,
    "stablehlo.dynamic_update_slice": dynamic_update_slice,
    "stablehlo.gather": gather,
}


Step = Callable[[Builder, Sequence[Value], Sequence[Value]], Sequence[Value]]
"""Indices and tensors to the tensors after one iteration."""


@dataclass(frozen=True, slots=True)
class _Numbers:
    """The dimension numbers of a scatter.

    Dimensions of updates: ``windows``, of which ``own`` of the operands, and the
    ``lists`` of places, each of the indices without ``vector``.
    ``starts``: dimensions of the operands that a place begins in, component by
    component.  ``batches``: of the operands, with those of the indices.
    """

    windows: tuple[int, ...]
    own: tuple[int, ...]
    lists: tuple[int, ...]
    starts: tuple[int, ...]
    batches: dict[int, int]
    vector: int

    @classmethod
    def of(cls, op: Operation) -> _Numbers:
        given = op.attributes["scatter_dimension_numbers"]
        windows = listed(given, "update_window_dims")
        gone = listed(given, "inserted_window_dims")
        batched = listed(given, "input_batching_dims")
        rank, whole = (len(shape(op.operands[n])) for n in (0, -1))
        own = tuple(d for d in range(rank) if d not in gone and d not in batched)
        lists = tuple(d for d in range(whole) if d not in windows)
        of_indices = listed(given, "scatter_indices_batching_dims")
        batches = dict(zip(batched, of_indices, strict=True))
        starts = listed(given, "scatter_dims_to_operand_dims")
        vector = numbered(given, "index_vector_dim")
        return cls(windows, own, lists, starts, batches, vector)


def scatter(b: Builder, op: Operation) -> Sequence[Value]:
    """Updates in order; those with a position out of bounds are skipped.

    Positions are read once for each window, whose elements are looped over inside.
    """
    count = len(op.operands) // 2
    operands, updates = op.operands[:count], op.operands[count + 1 :]
    extents, sizes = shape(operands[0]), shape(updates[0])
    numbers = _Numbers.of(op)
    window = dict(zip(numbers.own, numbers.windows, strict=True))

    def walk(
        b: Builder, lists: Sequence[Value], held: Sequence[Value]
    ) -> Sequence[Value]:
        starts, inside = _starts(b, op, numbers, window, lists)

        def one(
            b: Builder, offsets: Sequence[Value], held: Sequence[Value]
        ) -> Sequence[Value]:
            at = [scalar(b, 0, INDEX)] * len(sizes)
            for dims, places in ((numbers.lists, lists), (numbers.windows, offsets)):
                for d, place in zip(dims, places, strict=True):
                    at[d] = place
            places, fits = list[Value](), list[Value]()
            for d, n in enumerate(extents):
                place = starts[d]
                if d in window:
                    offset = at[window[d]]
                    if place is None:
                        place = offset
                    else:
                        (place,) = b.add("arith.addi", (place, offset), [INDEX])
                        fits += (
                            _inside_conditions(b, place, n)
                            if sizes[window[d]] > 1
                            else []
                        )
                places.append(scalar(b, 0, INDEX) if place is None else place)

            def put(b: Builder, held: Sequence[Value]) -> Sequence[Value]:
                elements = [extract(b, v, places) for v in held]
                new = [extract(b, v, at) for v in updates]
                first = len(b.operations)  # StableHLO leaves the order of updates open
                made = inlined(b, op, op.body, [*elements, *new])
                b.operations[first:] = map(reassociable, b.operations[first:])
                return [
                    b.add("tensor.insert", (v, t, *places), [t.type])[0]
                    for v, t in zip(made, held, strict=True)
                ]

            return _where(b, fits, held, put)

        def all_(b: Builder, held: Sequence[Value]) -> Sequence[Value]:
            return nest(b, [sizes[d] for d in numbers.windows], held, one)

        return _where(b, inside, held, all_)

    return nest(b, [sizes[d] for d in numbers.lists], operands, walk)


def _starts(
    b: Builder,
    op: Operation,
    numbers: _Numbers,
    window: dict[int, int],
    lists: Sequence[Value],
) -> tuple[list[Value | None], list[Value]]:
    """The start of a window in each dimension, and conditions that it is in bounds.

    Dimensions in which it has several elements are not checked here.
    """
    count = len(op.operands) // 2
    indices, sizes = op.operands[count], shape(op.operands[-1])
    extents = shape(op.operands[0])
    others = [d for d in range(len(shape(indices))) if d != numbers.vector]
    loops = dict(zip(others, lists, strict=True))
    starts: list[Value | None] = [None] * len(extents)
    inside: list[Value] = []
    for component, d in enumerate(numbers.starts):
        at = [
            scalar(b, component, INDEX) if e == numbers.vector else loops[e]
            for e in range(len(shape(indices)))
        ]
        starts[d] = place = place_of(b, extract(b, indices, at))
        if d not in window or sizes[window[d]] == 1:
            inside += _inside_conditions(b, place, extents[d])
    for d, e in numbers.batches.items():
        starts[d] = loops[e]
    return starts, inside


def _inside_conditions(b: Builder, place: Value, extent: int) -> list[Value]:
    """``0 <= place < extent``, as one unsigned comparison."""
    end = scalar(b, extent, INDEX)
    return [compared(b, "ult", place, end)]


def _where(
    b: Builder,
    conditions: Sequence[Value],
    held: Sequence[Value],
    body: Callable[[Builder, Sequence[Value]], Sequence[Value]],
) -> Sequence[Value]:
    """The tensors after ``body`` where all conditions hold, else unchanged."""
    if not conditions:
        return body(b, held)
    condition, *others = conditions
    for other in others:
        (condition,) = b.add("arith.andi", (condition, other), [I1])
    then, other = Builder(b.location), Builder(b.location)
    then.add("scf.yield", body(then, held))
    other.add("scf.yield", held)
    regions = [single_block(branch.operations) for branch in (then, other)]
    return b.add("scf.if", (condition,), [v.type for v in held], {}, regions)


def nest(
    b: Builder,
    extents: Sequence[int],
    held: Sequence[Value],
    body: Step,
    indices: Sequence[Value] = (),
) -> Sequence[Value]:
    """A loop for each extent, all of which carry the tensors."""
    if len(indices) == len(extents):
        return body(b, indices, held)

    def inside(inner: Builder, index: Value, held: Sequence[Value]) -> Sequence[Value]:
        return nest(inner, extents, held, body, [*indices, index])

    return b.carried_loop(0, extents[len(indices)], held, inside)


SCATTER_RULES: dict[str, Rule] = {"stablehlo.scatter": scatter}


def select_and_scatter(b: Builder, op: Operation) -> Sequence[Value]:
    """Each source is combined with the element that its window selects.

    First each window records the row-major number of the element that it selects.  Then
    every element combines the sources of the windows over it that recorded its own.
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
    """The row-major number of an element."""
    total = Expression(b, scalar(b, 0, INDEX))
    for place, extent in zip(at, extents, strict=True):
        total = total * extent + Expression(b, place)
    return Expression(b, b.add("arith.index_cast", (total.value,), [I64])[0])


SELECT_AND_SCATTER_RULES: dict[str, Rule] = {
    "stablehlo.select_and_scatter": select_and_scatter
}
