"""Lowering of vector loads, stores, masks and rearrangements to loops over elements.

Each rule gets a `Boxes`, which maps vectors to buffers, a builder and an operation.  It
fills the buffer of the result, or stores the elements of an operand, element by
element.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod

from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    DenseElementsAttr,
    IntegerAttr,
    number,
)
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import INDEX, MemRefType, element_type
from gpucodegen.passes.analysis.lifting.accesses import padded_dimensions
from gpucodegen.passes.framework.builder import Builder, IndexLike
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.prepare.vectors.boxes import (
    Boxes,
    Handler,
    Place,
    both,
    choose,
    compare,
    load,
    nest,
    plus,
    refusal,
    shape_of,
    store,
    when,
)

DYNAMIC = -(2**63)
"""The marker of a dynamic position."""
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
        element = b.value("arith.constant", (), ty, stated)
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
    """The position of an extract or insert; dynamic ones from operand ``first`` on."""
    dynamic = iter(op.operands[first:])
    static = op.numbers("static_position")
    return [next(dynamic) if n == DYNAMIC else n for n in static]


def extract(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.extract``."""
    position = _position(op, 1)
    source = op.operands[0]
    v.defined(b, op.result, lambda i, at: v.read(i, source, (*position, *at)))


def insert(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.insert``: a copy of the vector, then of the inserted value."""
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
        return index if ty == INDEX else inner.value("arith.index_cast", (index,), ty)

    v.filled(b, op.result, element)


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


MOVEMENT_HANDLERS: dict[str, Handler] = {
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
    "vector.create_mask": create_mask,
    "vector.constant_mask": constant_mask,
}
ARITHMETIC = frozenset({"arith", "math", "index", "complex"})
"""Dialects whose operations on vectors are elementwise."""


def _trailing(
    op: Operation, first: int, vector: Value
) -> Callable[..., list[IndexLike]]:
    """The index of an element: the vector covers the last dimensions of the buffer."""
    buffer, *operands = op.operands[first:]
    rank = buffer.type.rank if isinstance(buffer.type, MemRefType) else 0
    stated = op.attributes.get("map")
    bases: list[IndexLike] = list(operands[:rank])
    if isinstance(stated, AffineMapAttr):
        bases = list(from_map(stated.map, operands))
    before = rank - len(shape_of(vector))

    def place(b: Builder, at: Place) -> list[IndexLike]:
        moved = [_moved(b, base, i) for base, i in zip(bases[before:], at, strict=True)]
        return [*bases[:before], *moved]

    return place


def _moved(b: Builder, base: IndexLike, offset: IndexLike) -> IndexLike:
    """The sum of a base and an offset, which stays affine."""
    if isinstance(base, Value):
        return plus(b, base, offset)
    return Index.of(base) + offset


def vector_load(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.load`` and ``affine.vector_load``."""
    place, buffer = _trailing(op, 0, op.result), op.operands[0]
    v.filled(b, op.result, lambda i, at: load(i, buffer, place(i, at)))


def vector_store(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.store`` and ``affine.vector_store``."""
    vector, buffer = op.operands[:2]
    place = _trailing(op, 1, vector)
    nest(
        b,
        shape_of(vector),
        lambda i, at: store(i, v.read(i, vector, at), buffer, place(i, at)),
    )


# -- transfers -------------------------------------------------------------------------


class _Transfer:
    """The place of a transfer's element, and its conditions."""

    def __init__(
        self, v: Boxes, op: Operation, buffer: Value, bases: Sequence[Value]
    ) -> None:
        self.v, self.buffer, self.bases = v, buffer, bases
        stated = op.attributes.get("permutation_map")
        if not isinstance(stated, AffineMapAttr):
            raise refusal(op, "State the permutation map")
        results = stated.map.results
        self.dimensions = [r.position if isinstance(r, Dim) else None for r in results]
        known = [-1 if d is None else d for d in self.dimensions]
        self.padded = {d for d in padded_dimensions(op, known) if d >= 0}

    def place(self, b: Builder, at: Place) -> list[Value]:
        """Indices of the element in the buffer."""
        offsets: dict[int, IndexLike] = {
            d: i for d, i in zip(self.dimensions, at, strict=True) if d is not None
        }
        return [plus(b, base, offsets.get(d, 0)) for d, base in enumerate(self.bases)]

    def condition(
        self, b: Builder, at: Place, place: Sequence[Value], masks: Sequence[Value]
    ) -> list[Value]:
        """The conditions: in bounds, and selected by all masks."""
        conditions = [
            compare(b, LESS, place[d], self._extent(b, d)) for d in sorted(self.padded)
        ]
        pairs = zip(self.dimensions, at, strict=True)
        in_order = sorted((d, n) for n, (d, _) in enumerate(pairs) if d is not None)
        where = [at[n] for _, n in in_order]
        return [*conditions, *(self.v.read(b, mask, where) for mask in masks)]

    def _extent(self, b: Builder, dimension: int) -> Value:
        assert isinstance(self.buffer.type, MemRefType)
        extent = self.buffer.type.shape[dimension]
        return b.extent(self.buffer, dimension) if extent is None else b.index(extent)


def _masks(v: Boxes, own: Sequence[Value]) -> list[Value]:
    return [*own, *([v.mask] if v.mask is not None else [])]


def transfer_read(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.transfer_read``: padding out of bounds, and where a mask says so."""
    (buffer,), bases, (padding,), mask = operand_segments(op, 4)
    transfer, masks = _Transfer(v, op, buffer, bases), _masks(v, mask)

    def element(inner: Builder, at: Place) -> Value:
        place = transfer.place(inner, at)
        condition = transfer.condition(inner, at, place, masks)
        other = v.read(inner, padding, at)
        return choose(
            inner, condition, lambda i: load(i, buffer, place), lambda _: other
        )

    v.filled(b, op.result, element)


def transfer_write(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.transfer_write``: of the elements inside that a mask selects."""
    (vector,), (buffer,), bases, mask = operand_segments(op, 4)
    transfer, masks = _Transfer(v, op, buffer, bases), _masks(v, mask)

    def element(inner: Builder, at: Place) -> None:
        place = transfer.place(inner, at)
        condition = transfer.condition(inner, at, place, masks)
        when(inner, condition, lambda i: store(i, v.read(i, vector, at), buffer, place))

    nest(b, shape_of(vector), element)


# -- masked, gathered and compressed ---------------------------------------------------


def masked_load(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.maskedload``."""
    place, buffer = _trailing(op, 0, op.result), op.operands[0]
    mask, other = op.operands[-2:]

    def element(inner: Builder, at: Place) -> Value:
        return choose(
            inner,
            [v.read(inner, mask, at)],
            lambda i: load(i, buffer, place(i, at)),
            lambda i: v.read(i, other, at),
        )

    v.filled(b, op.result, element)


def masked_store(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.maskedstore``."""
    buffer, (mask, vector) = op.operands[0], op.operands[-2:]
    place = _trailing(op, 0, vector)
    nest(
        b,
        shape_of(vector),
        lambda n, at: when(
            n,
            [v.read(n, mask, at)],
            lambda i: store(i, v.read(i, vector, at), buffer, place(i, at)),
        ),
    )


def _gathered(v: Boxes, op: Operation) -> Callable[[Builder, Place], list[IndexLike]]:
    """The index of an element whose last index is an element of a vector."""
    *bases, positions, _, _ = op.operands[1:]

    def place(b: Builder, at: Place) -> list[IndexLike]:
        moved = v.read(b, positions, at)
        if moved.type != INDEX:
            moved = b.value("arith.index_cast", (moved,), INDEX)
        return [*bases[:-1], plus(b, bases[-1], moved)]

    return place


def gather(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.gather``."""
    place, buffer = _gathered(v, op), op.operands[0]
    mask, other = op.operands[-2:]

    def element(inner: Builder, at: Place) -> Value:
        selected = [v.read(inner, m, at) for m in _masks(v, [mask])]
        return choose(
            inner,
            selected,
            lambda i: load(i, buffer, place(i, at)),
            lambda i: v.read(i, other, at),
        )

    v.filled(b, op.result, element)


def scatter(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.scatter``: later elements win."""
    place, buffer = _gathered(v, op), op.operands[0]
    mask, vector = op.operands[-2:]

    def element(inner: Builder, at: Place) -> None:
        selected = [v.read(inner, m, at) for m in _masks(v, [mask])]
        when(
            inner,
            selected,
            lambda i: store(i, v.read(i, vector, at), buffer, place(i, at)),
        )

    nest(b, shape_of(vector), element)


def _counter(b: Builder) -> Value:
    """A cell that counts selected elements."""
    cell = b.allocate("memref.alloca", MemRefType((), INDEX), "count")
    store(b, b.index(0), cell, ())
    return cell


def _counted(b: Builder, base: Value, cell: Value) -> Value:
    """The next position; increments the counter."""
    count = load(b, cell, ())
    store(b, plus(b, count, 1), cell, ())
    return plus(b, base, count)


def expand_load(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.expandload``: selected elements are read one after the other."""
    buffer, *bases, mask, other = op.operands
    cell = _counter(b)

    def element(inner: Builder, at: Place) -> Value:
        return choose(
            inner,
            [v.read(inner, mask, at)],
            lambda i: load(i, buffer, (*bases[:-1], _counted(i, bases[-1], cell))),
            lambda i: v.read(i, other, at),
        )

    v.filled(b, op.result, element)


def compress_store(v: Boxes, b: Builder, op: Operation) -> None:
    """``vector.compressstore``: selected elements are written without gaps."""
    buffer, *bases, mask, vector = op.operands
    cell = _counter(b)

    def write(inner: Builder, at: Place) -> None:
        place = (*bases[:-1], _counted(inner, bases[-1], cell))
        store(inner, v.read(inner, vector, at), buffer, place)

    nest(
        b,
        shape_of(vector),
        lambda n, at: when(n, [v.read(n, mask, at)], lambda i: write(i, at)),
    )


ACCESS_HANDLERS: dict[str, Handler] = {
    "vector.load": vector_load,
    "affine.vector_load": vector_load,
    "vector.store": vector_store,
    "affine.vector_store": vector_store,
    "vector.transfer_read": transfer_read,
    "vector.transfer_write": transfer_write,
    "vector.maskedload": masked_load,
    "vector.maskedstore": masked_store,
    "vector.gather": gather,
    "vector.scatter": scatter,
    "vector.expandload": expand_load,
    "vector.compressstore": compress_store,
}
