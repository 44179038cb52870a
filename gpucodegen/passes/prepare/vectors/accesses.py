"""Loads and stores of vectors, element by element, with masks and padding."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.ir.affine import Dim
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import INDEX, MemRefType
from gpucodegen.passes.analysis.lifting.values.accesses import padded_dimensions
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.operation_list import IndexLike
from gpucodegen.passes.prepare.vectors.boxes import (
    Boxes,
    Handler,
    Place,
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
from gpucodegen.passes.prepare.vectors.movement import LESS


def _trailing(
    op: Operation, first: int, vector: Value
) -> Callable[..., list[IndexLike]]:
    """Where an element lies: the vector is of the last dimensions of the buffer."""
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
    """A base that is affine stays so."""
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
    """Where a transfer reads or writes an element, and whether it does."""

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
        """That it lies inside, and that all masks select it."""
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
    """``vector.transfer_read``: padding outside, and where a mask says so."""
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
    """Where elements lie whose last index is an element of a vector."""
    *bases, positions, _, _ = op.operands[1:]

    def place(b: Builder, at: Place) -> list[IndexLike]:
        moved = v.read(b, positions, at)
        if moved.type != INDEX:
            (moved,) = b.add("arith.index_cast", (moved,), [INDEX])
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
    """The next place; the cell counts on."""
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


HANDLERS: dict[str, Handler] = {
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
