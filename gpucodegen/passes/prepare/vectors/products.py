"""Lowering of vector products, contractions, reductions and scans to loops.

The rules have the form of those in `movement`.  Reductions run from the first element
to the last, and masked elements contribute the neutral element.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from gpucodegen.dialects import vector
from gpucodegen.dialects.shared.combiners import Combiner, kind_word, of_kind
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Type, element_type
from gpucodegen.passes.framework.builder import Builder, IndexLike
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.vectors.boxes import (
    Boxes,
    Handler,
    Place,
    choose,
    load,
    nest,
    refusal,
    shape_of,
    store,
    when,
)


def _combiner(op: Operation, ty: Type) -> Combiner:
    found = of_kind(kind_word(op.attributes.get("kind")), ty)
    if found is None:
        raise refusal(op, "Name a kind that combines such elements")
    return found


def _combined(b: Builder, op: Operation, one: Value, other: Value) -> Value:
    """Two numbers combined by the operation's kind."""
    name = _combiner(op, one.type).name
    return b.value(name, (one, other), one.type)


def _product(b: Builder, one: Value, other: Value) -> Value:
    times = of_kind("mul", one.type)
    assert times is not None
    return b.value(times.name, (one, other), one.type)


def fma(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.fma``."""

    def element(inner: Builder, at: Place) -> Value:
        operands = [v.read(inner, value, at) for value in op.operands]
        return inner.value("math.fma", operands, operands[0].type)

    v.filled(b, op.result, element)


def outerproduct(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.outerproduct``: a column by a row, or by a number."""
    column, row, *total = op.operands

    def element(inner: Builder, at: Place) -> Value:
        right = at[1:] if shape_of(row) else ()
        factors = v.read(inner, column, at[:1]), v.read(inner, row, right)
        product = _product(inner, *factors)
        if not total:
            return product
        old = v.read(inner, total[0], at)
        if v.mask is None:
            return _combined(inner, op, old, product)
        selected = [v.read(inner, v.mask, at)]
        return choose(
            inner, selected, lambda i: _combined(i, op, old, product), lambda _: old
        )

    v.filled(b, op.result, element)


def contract(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.contract``: ``total[..] op= a[..] * b[..]`` for all iterations."""
    first, second, total, *masks = op.operands
    if masks:
        raise refusal(op, "Write the masks as vector.mask")
    factors = first, second
    maps = vector.contraction_maps(op)
    box = v.box(b, op.result)
    v.copied(b, total, box)
    extents = _extents(maps, [shape_of(f) for f in factors])

    def term(inner: Builder, at: Place) -> None:
        *places, where = (_at(map_, at) for map_ in maps)
        read = (v.read(inner, f, p) for f, p in zip(factors, places, strict=True))
        ty = element_type(op.result.type)
        product = _product(inner, *(inner.extended(x, ty) for x in read))
        old = load(inner, box, where)
        store(inner, _combined(inner, op, old, product), box, where)

    def masked(inner: Builder, at: Place) -> None:
        selected = [] if v.mask is None else [v.read(inner, v.mask, at)]
        when(inner, selected, lambda i: term(i, at))

    nest(b, extents, masked)
    _give(v, b, op.result, box)


def _give(v: Boxes, b: Builder, value: Value, box: Value) -> None:
    """Define a vector by its buffer, or the scalar in a buffer."""
    if shape_of(value):
        v.boxes[value] = box
    else:
        v.values[value] = load(b, box, ())


def _at(map_: AffineMap, at: Place) -> list[IndexLike]:
    return [at[r.position] for r in map_.results if isinstance(r, Dim)]


def _extents(maps: Sequence[AffineMap], shapes: Sequence[Sequence[int]]) -> list[int]:
    """The extent of each iteration dimension."""
    found: dict[int, int] = {}
    for map_, shape in zip(maps, shapes, strict=False):
        positions = (r.position for r in map_.results if isinstance(r, Dim))
        found.update(zip(positions, shape, strict=True))
    return [found[d] for d in range(len(found))]


def reduction(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.reduction``, from the first element to the last."""
    source, *accumulator = op.operands
    ty = element_type(source.type)
    neutral = b.constant(_combiner(op, ty).neutral_of(ty), ty)
    initial = v.read(b, accumulator[0], ()) if accumulator else neutral

    def step(inner: Builder, iv: Value, values: Sequence[Value]) -> Sequence[Value]:
        element = _selected(v, inner, source, (iv,), neutral)
        return [_combined(inner, op, values[0], element)]

    (extent,) = shape_of(source)
    (v.values[op.result],) = b.carried_loop(0, extent, [initial], step, hint="e")


def _selected(v: Boxes, b: Builder, source: Value, at: Place, neutral: Value) -> Value:
    """An element that a mask selects, else the neutral element."""
    element = v.read(b, source, at)
    if v.mask is None:
        return element
    selected = v.read(b, v.mask, at)
    return b.value("arith.select", (selected, element, neutral), element.type)


def multi_reduction(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.multi_reduction`` of any dimensions."""
    source, total = op.operands
    reduced = set(op.numbers("reduction_dims"))
    shape, ty = shape_of(source), element_type(source.type)
    box = v.box(b, op.result)
    v.copied(b, total, box)
    neutral = b.constant(_combiner(op, ty).neutral_of(ty), ty)

    def step(inner: Builder, at: Place) -> None:
        kept = [i for d, i in enumerate(at) if d not in reduced]
        element = _selected(v, inner, source, at, neutral)
        old = load(inner, box, kept)
        store(inner, _combined(inner, op, old, element), box, kept)

    nest(b, shape, step)
    _give(v, b, op.result, box)


def scan(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.scan``: the inclusive or exclusive prefix reduction."""
    source, initial = op.operands
    dimension = op.integer("reduction_dim")
    flag = op.attributes.get("inclusive")
    inclusive = isinstance(flag, IntegerAttr) and bool(flag.value)
    result, last = op.results
    shape = shape_of(source)
    box = v.made(b, result)
    others = [*shape[:dimension], *shape[dimension + 1 :]]

    def placed(rest: Place, index: IndexLike) -> list[IndexLike]:
        return [*rest[:dimension], index, *rest[dimension:]]

    def first(inner: Builder, rest: Place) -> None:
        start = v.read(inner, source, placed(rest, 0))
        if not inclusive:
            start = v.read(inner, initial, rest)
        store(inner, start, box, placed(rest, 0))

        def step(again: Builder, iv: Value) -> None:
            old = load(again, box, placed(rest, Index.of(iv) - 1))
            behind = iv if inclusive else Index.of(iv) - 1
            element = v.read(again, source, placed(rest, behind))
            store(again, _combined(again, op, old, element), box, placed(rest, iv))

        inner.loop(1, shape[dimension], step, hint="e")

    nest(b, others, first)
    end = shape[dimension] - 1
    v.defined(b, last, lambda i, rest: load(i, box, placed(rest, end)))


def masked(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.mask``: the inner operation, for the selected lanes.

    The other lanes have those of a second vector, where one is given.
    """
    mask, *passed = op.operands
    *inside, end = op.body.operations
    fits = all(shape_of(value) == shape_of(mask) for value in op.results)
    if passed and not fits:
        raise refusal(op, "Select between the result and the other value afterwards")
    outer, v.mask = v.mask, mask
    for inner in inside:
        b.location = inner.location
        v.operation(b, inner)
    v.mask = outer
    for result, value in zip(op.results, end.operands, strict=True):
        if passed:
            (other,) = passed
            v.filled(b, result, partial(_either, v, (mask, value, other)))
        elif shape_of(value):
            v.boxes[result] = v.shown(b, value)
        else:
            v.values[result] = v.values.get(value, value)


def _either(v: Boxes, vectors: Sequence[Value], b: Builder, at: Place) -> Value:
    """A lane of the second vector where the mask is set, else of the third."""
    lanes = [v.read(b, vector, at) for vector in vectors]
    return b.value("arith.select", lanes, lanes[1].type)


PRODUCT_HANDLERS: dict[str, Handler] = {
    "vector.fma": fma,
    "vector.outerproduct": outerproduct,
    "vector.contract": contract,
    "vector.reduction": reduction,
    "vector.multi_reduction": multi_reduction,
    "vector.scan": scan,
    "vector.mask": masked,
}
