"""StableHLO gather, scatter, dynamic slices and select-and-scatter.

Scatter combines elements one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.linalg.named_definitions import numbers
from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.stablehlo.syntax import listed, numbered
from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import Attribute, DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value, segment_counts
from gpucodegen.ir.types import I1, I64, INDEX, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.linalg_to_affine import reassociable
from gpucodegen.passes.prepare.stablehlo.expressions import (
    UNSIGNED,
    Expression,
    clamped,
    compared,
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
    nest,
    position,
    scalar,
    selected,
    shape,
    tensor,
    where,
    with_elements,
)
from gpucodegen.passes.prepare.stablehlo.movement import part_of
from gpucodegen.passes.prepare.stablehlo.reductions import inlined
from gpucodegen.records import dataclass


def place_of(b: Builder, value: Value) -> Value:
    is_unsigned = kind_of(value.type) == UNSIGNED
    name = "arith.index_castui" if is_unsigned else "arith.index_cast"
    return b.value(name, (value,), INDEX)


def _place(b: Builder, value: Value, last: int) -> Value:
    """A number as an index from 0 to ``last``: StableHLO moves slices inside."""
    place = place_of(b, value)
    zero, most = scalar(b, 0, INDEX), scalar(b, last, INDEX)
    raised = b.value("arith.maxsi", (place, zero), INDEX)
    return b.value("arith.minsi", (raised, most), INDEX)


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
                    place = inner.value("arith.addi", (place, offset), INDEX)
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

    Positions are read once for each window, whose elements are looped over inside.  A
    single window that is inside or outside as a whole writes the old elements back
    where it is skipped: a branch would copy whole tensors, and end a kernel.
    """
    count = len(op.operands) // 2
    operands, updates = op.operands[:count], op.operands[count + 1 :]
    extents, sizes = shape(operands[0]), shape(updates[0])
    numbers = _Numbers.of(op)
    window = dict(zip(numbers.own, numbers.windows, strict=True))
    thin = all(d not in window or sizes[window[d]] == 1 for d in numbers.starts)
    is_single = thin and all(sizes[d] == 1 for d in numbers.lists)

    def walk(
        b: Builder, lists: Sequence[Value], held: Sequence[Value]
    ) -> Sequence[Value]:
        starts, inside = _starts(b, op, numbers, window, lists)
        if is_single:
            for d in numbers.starts:
                starts[d] = _inside(b, starts[d], extents[d])

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
                        place = b.value("arith.addi", (place, offset), INDEX)
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
                if is_single and inside:
                    made = selected(b, inside, made, elements)
                return with_elements(b, made, held, places)

            return where(b, fits, held, put)

        def all_(b: Builder, held: Sequence[Value]) -> Sequence[Value]:
            return nest(b, [sizes[d] for d in numbers.windows], held, one)

        return where(b, [] if is_single else inside, held, all_)

    return nest(b, [sizes[d] for d in numbers.lists], operands, walk)


def _inside(b: Builder, start: Value | None, extent: int) -> Value | None:
    return start and clamped(Expression(b, start), extent).value


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
            at.append(clamped(place, n).value)
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
            at.append(clamped(window, n).value)
        here = _number(b, [position(b, d) for d in range(rank)], extents)
        is_own = Expression(b, extract(b, selected, at)).equals(here) & inside
        (made,) = inlined(b, op, combine, [total, extract(b, sources, at)])
        ty = element_type(op.result.type)
        return b.add("arith.select", (is_own.value, made, total), [ty])

    begin = filled(b, start, op.result.type)
    return generic(b, [told], [begin], [taps, own], kinds, combine_one)


def _within(place: Expression, extent: int) -> Expression:
    return place.by("arith.maxsi", 0).equals(place) & (place < extent)


def _number(b: Builder, at: Sequence[Value], extents: Sequence[int]) -> Expression:
    """The row-major number of an element."""
    total = Expression(b, scalar(b, 0, INDEX))
    for place, extent in zip(at, extents, strict=True):
        total = total * extent + Expression(b, place)
    return Expression(b, b.value("arith.index_cast", (total.value,), I64))


SELECT_AND_SCATTER_RULES: dict[str, Rule] = {
    "stablehlo.select_and_scatter": select_and_scatter
}
