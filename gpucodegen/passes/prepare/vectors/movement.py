"""Operations that copy, arrange or make elements of vectors."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.ir.attributes import DenseElementsAttr, IntegerAttr, number
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.operation_list import IndexLike
from gpucodegen.passes.prepare.vectors.boxes import (
    Boxes,
    Handler,
    Place,
    both,
    compare,
    nest,
    refusal,
    shape_of,
    store,
)

DYNAMIC = -(2**63)
"""What stands for a position that is an operand."""
LESS = 2
"""``slt`` of ``arith.cmpi``."""


def constant(v: Boxes, b: Builder, op: Operation) -> None:
    """``arith.constant``."""
    value, ty = op.attributes["value"], element_type(op.result.type)
    if not isinstance(value, DenseElementsAttr):
        raise refusal(op, "State the elements")
    if value.is_splat:
        v.splats[op.result] = number(value.values[0], ty)  # type: ignore[arg-type]
        return
    box = v.made(b, op.result)
    for place, given in zip(_places(shape_of(op.result)), value.values, strict=True):
        stated = {"value": number(given, ty)}  # type: ignore[arg-type]
        (element,) = b.add("arith.constant", (), [ty], stated)
        store(b, element, box, place)


def _places(shape: Sequence[int]) -> list[tuple[int, ...]]:
    """All indices of a shape, the last one fastest."""
    return [_unravel(n, shape) for n in range(prod(shape))]


def _unravel(number_: int, shape: Sequence[int]) -> tuple[int, ...]:
    place: list[int] = []
    for extent in reversed(shape):
        number_, rest = divmod(number_, extent)
        place.append(rest)
    return tuple(reversed(place))


def elementwise(v: Boxes, b: Builder, op: Operation) -> None:
    """Arithmetic on every element."""
    box = v.made(b, op.result)

    def element(inner: Builder, at: Place) -> None:
        operands = tuple(v.read(inner, value, at) for value in op.operands)
        result = Value(element_type(op.result.type), op.result.name, op.location)
        inner.operations.append(op.with_(operands=operands, results=(result,)))
        store(inner, result, box, at)

    nest(b, shape_of(op.result), element)


def broadcast(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.broadcast``: extents of one are stretched, dimensions are added."""
    (source,) = op.operands
    extents = shape_of(source)

    def element(inner: Builder, at: Place) -> Value:
        last = at[len(at) - len(extents) :]
        pairs = zip(last, extents, strict=True)
        return v.read(inner, source, [0 if n == 1 else i for i, n in pairs])

    v.filled(b, op.result, element)


def _position(op: Operation, first: int) -> list[IndexLike]:
    """The position of an extract or insert; operands from ``first`` on are numbers."""
    dynamic = iter(op.operands[first:])
    static = op.numbers("static_position")
    return [next(dynamic) if n == DYNAMIC else n for n in static]


def extract(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.extract``."""
    position = _position(op, 1)
    source = op.operands[0]
    v.defined(b, op.result, lambda i, at: v.read(i, source, (*position, *at)))


def insert(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.insert``: a copy of all, then of what is inserted."""
    value, target = op.operands[:2]
    position = _position(op, 2)
    box = v.made(b, op.result)
    v.copied(b, target, box)
    nest(
        b,
        shape_of(value),
        lambda i, at: store(i, v.read(i, value, at), box, (*position, *at)),
    )


def shape_cast(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.shape_cast``: the same elements in the same order."""
    (source,) = op.operands
    before, after = shape_of(source), shape_of(op.result)

    def element(inner: Builder, at: Place) -> Value:
        linear = Index.of(0)
        for index, extent in zip(at, after, strict=True):
            linear = linear * extent + index
        place: list[IndexLike] = []
        for extent in reversed(before):
            place.insert(0, linear % extent if extent > 1 else 0)
            linear = linear // extent
        return v.read(inner, source, place)

    v.defined(b, op.result, element)


def transpose(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.transpose``: dimension d of the result is ``permutation[d]``."""
    (source,) = op.operands
    order = op.numbers("permutation")
    place = [order.index(d) for d in range(len(order))]
    v.filled(b, op.result, lambda i, at: v.read(i, source, [at[d] for d in place]))


def shuffle(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.shuffle``: rows of two vectors by their numbers; -1 is any."""
    first, second = op.operands
    count, box = (shape_of(first) or (1,))[0], v.made(b, op.result)
    for row, wanted in enumerate(op.numbers("mask")):
        source = first if wanted < count else second
        at = wanted if wanted < count else wanted - count
        if wanted < 0:
            continue
        nest(
            b,
            shape_of(op.result)[1:],
            lambda i, rest, s=source, n=at, r=row: store(
                i, v.read(i, s, (n, *rest) if shape_of(s) else ()), box, (r, *rest)
            ),
        )


def interleave(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.interleave``: elements of two vectors in turn."""
    box = v.made(b, op.result)
    for number_, source in enumerate(op.operands):
        nest(
            b,
            shape_of(source),
            lambda i, at, s=source, n=number_: store(
                i, v.read(i, s, at), box, (*at[:-1], Index.of(at[-1]) * 2 + n)
            ),
        )


def deinterleave(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.deinterleave``: elements at even and at odd places."""
    (source,) = op.operands
    for number_, result in enumerate(op.results):
        v.filled(
            b,
            result,
            lambda i, at, n=number_: v.read(
                i, source, (*at[:-1], Index.of(at[-1]) * 2 + n)
            ),
        )


def _numbers(op: Operation, name: str) -> list[int]:
    return [a.value for a in op.entries(name) if isinstance(a, IntegerAttr)]


def extract_slice(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.extract_strided_slice``: of the first dimensions."""
    (source,) = op.operands
    offsets, strides = _numbers(op, "offsets"), _numbers(op, "strides")

    def element(inner: Builder, at: Place) -> Value:
        rows = zip(offsets, strides, at, strict=False)
        moved = [Index.of(i) * stride + offset for offset, stride, i in rows]
        return v.read(inner, source, (*moved, *at[len(moved) :]))

    v.filled(b, op.result, element)


def insert_slice(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.insert_strided_slice``: at the last dimensions."""
    value, target = op.operands
    offsets, strides = _numbers(op, "offsets"), _numbers(op, "strides")
    box = v.made(b, op.result)
    v.copied(b, target, box)
    before = len(offsets) - len(strides)

    def element(inner: Builder, at: Place) -> None:
        rows = zip(offsets[before:], strides, at, strict=True)
        moved = [Index.of(i) * stride + offset for offset, stride, i in rows]
        store(inner, v.read(inner, value, at), box, (*offsets[:before], *moved))

    nest(b, shape_of(value), element)


def from_elements(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.from_elements``."""
    box = v.made(b, op.result)
    for place, element in zip(_places(shape_of(op.result)), op.operands, strict=True):
        store(b, v.read(b, element, ()), box, place)


def to_elements(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.to_elements``."""
    (source,) = op.operands
    for place, result in zip(_places(shape_of(source)), op.results, strict=True):
        v.values[result] = v.read(b, source, place)


def step(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.step``: the number of each element."""

    def element(inner: Builder, at: Place) -> Value:
        ty, index = element_type(op.result.type), inner.index(at[0])
        return (
            index if ty == INDEX else inner.add("arith.index_cast", (index,), [ty])[0]
        )

    v.filled(b, op.result, element)


def bitcast(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.bitcast`` between elements of one width."""
    (source,) = op.operands
    if shape_of(source) != shape_of(op.result):
        raise refusal(op, "Cast to elements of the same width")
    elementwise(v, b, op.with_(name="arith.bitcast"))


def create_mask(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.create_mask``: elements before an index in every dimension."""
    ends = [v.values.get(value, value) for value in op.operands]
    _box_mask(v, b, op, ends)


def constant_mask(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.constant_mask``."""
    _box_mask(v, b, op, [b.index(n) for n in op.numbers("mask_dim_sizes")])


def _box_mask(v: Boxes, b: Builder, op: Operation, ends: Sequence[Value]) -> None:
    def element(inner: Builder, at: Place) -> Value:
        pairs = zip(at, ends, strict=False)
        inside = [compare(inner, LESS, inner.index(i), end) for i, end in pairs]
        found = both(inner, inside)
        return ends_at_zero(inner, ends) if found is None else found

    v.filled(b, op.result, element)


def ends_at_zero(b: Builder, ends: Sequence[Value]) -> Value:
    """A mask without dimensions: whether its only number is above zero."""
    return compare(b, LESS, b.index(0), ends[0])


HANDLERS: dict[str, Handler] = {
    "arith.constant": constant,
    "vector.broadcast": broadcast,
    "vector.splat": broadcast,
    "vector.extract": extract,
    "vector.insert": insert,
    "vector.shape_cast": shape_cast,
    "vector.transpose": transpose,
    "vector.shuffle": shuffle,
    "vector.interleave": interleave,
    "vector.deinterleave": deinterleave,
    "vector.extract_strided_slice": extract_slice,
    "vector.insert_strided_slice": insert_slice,
    "vector.from_elements": from_elements,
    "vector.to_elements": to_elements,
    "vector.step": step,
    "vector.bitcast": bitcast,
    "vector.create_mask": create_mask,
    "vector.constant_mask": constant_mask,
}
ARITHMETIC = frozenset({"arith", "math", "index", "complex"})
"""Dialects whose operations on vectors are done to each element."""
