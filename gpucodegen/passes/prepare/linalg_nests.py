"""``linalg.pack`` and ``linalg.unpack`` on buffers as affine nests.

Rows are cut into tiles, ``row = tile_number * tile + place``; a packed buffer has the
tile numbers first, in the order that the operation gives, then the places.
`PlainBuilder` builds loops and accesses whose bounds and indices need not be affine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from gpucodegen.dialects import memref
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, single_block
from gpucodegen.ir.types import INDEX, MemRefType, element_type
from gpucodegen.passes.framework.builder import Body, Bound, Builder, IndexLike
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.records import dataclass


@dataclass(slots=True)
class PlainBuilder(Builder):
    """``scf.for``, ``memref.load`` and ``memref.store``; later passes raise them.

    >>> b = PlainBuilder()
    >>> b.loop(0, 8, lambda inner, iv: None)
    >>> b.operations[-1].name
    'scf.for'
    """

    def load(
        self, memref: Value, indices: Sequence[IndexLike], hint: str = ""
    ) -> Value:
        """``memref.load`` of one element."""
        places = [self.index(index) for index in indices]
        element = element_type(memref.type)
        return self.value("memref.load", (memref, *places), element, hint=hint)

    def store(self, value: Value, memref: Value, indices: Sequence[IndexLike]) -> None:
        """``memref.store`` of one element."""
        places = [self.index(index) for index in indices]
        self.add("memref.store", (value, memref, *places))

    def loop(
        self, lower: Bound, upper: Bound, body: Body, *, step: int = 1, hint: str = "i"
    ) -> None:
        """``scf.for`` from one bound to another."""
        assert not isinstance(lower, Sequence)
        assert not isinstance(upper, Sequence)
        iv, inner = Value(INDEX, hint, self.location), PlainBuilder(self.location)
        body(inner, iv)
        inner.add("scf.yield")
        bounds = (self.index(lower), self.index(upper), self.constant(step, INDEX))
        region = single_block(inner.operations, (iv,))
        self.operations.append(
            Operation("scf.for", bounds, regions=(region,), location=self.location)
        )


Indices = list[Index]


@dataclass(frozen=True, slots=True)
class _Tiling:
    """The tiled dimensions of the rows with their tile sizes.

    ``order``: the dimension that each tile number of the packed buffer belongs to.
    """

    tiles: dict[int, Index]
    order: tuple[int, ...]

    @staticmethod
    def of(op: Operation, rank: int) -> _Tiling:
        """The tiling of a pack or unpack, whose rows have a rank."""
        positions = op.numbers("inner_dims_pos")
        given = iter(op.operands[len(op.operands) - _dynamic(op) :])
        sizes = [
            Index.of(next(given) if size == memref.DYNAMIC_MARK else size)
            for size in op.numbers("static_inner_tiles")
        ]
        order = op.numbers("outer_dims_perm") or tuple(range(rank))
        return _Tiling(dict(zip(positions, sizes, strict=True)), order)

    def row(self, packed: Indices) -> Indices:
        """The source of an element of the packed buffer."""
        numbers = dict(zip(self.order, packed, strict=False))
        places = dict(zip(self.tiles, packed[len(self.order) :], strict=True))
        return [
            number * self.tiles[d] + places[d] if d in places else number
            for d, number in sorted(numbers.items())
        ]

    def packed(self, row: Indices) -> Indices:
        """The destination of an element of the rows."""
        numbers = [
            row[d] // self.tiles[d] if d in self.tiles else row[d] for d in self.order
        ]
        return numbers + [row[d] % tile for d, tile in self.tiles.items()]


def _dynamic(op: Operation) -> int:
    """The number of tile sizes that are operands."""
    return op.numbers("static_inner_tiles").count(memref.DYNAMIC_MARK)


def pack(op: Operation) -> list[Operation]:
    """Every element of the packed buffer; padding lies after the rows."""
    source, target, *others = op.operands
    padding = others[: op.numbers(OPERAND_SEGMENTS)[2]]
    b, tiling = Builder(op.location), _Tiling.of(op, memref.rank(source))
    extents = _extents(b, source)

    def copy(inner: Builder, place: Indices) -> None:
        row = tiling.row(place)
        inside = [
            extents[d] - 1 - row[d]
            for d, tile in tiling.tiles.items()
            if padding and not _divides(tile, extents[d])
        ]
        value = inner.choose(
            inside, lambda then: then.load(source, row), lambda _: padding[0]
        )
        inner.store(value, target, place)

    each(b, _extents(b, target), copy)
    return b.operations


def unpack(op: Operation) -> list[Operation]:
    source, target, *_ = op.operands
    b, tiling = Builder(op.location), _Tiling.of(op, memref.rank(target))

    def copy(inner: Builder, place: Indices) -> None:
        inner.store(inner.load(source, tiling.packed(place)), target, place)

    each(b, _extents(b, target), copy)
    return b.operations


def each(
    b: Builder,
    extents: Sequence[Index],
    body: Callable[[Builder, Indices], None],
    place: Sequence[Index] = (),
) -> None:
    """The body in loops over all places of a box."""
    if len(place) == len(extents):
        body(b, [*place])
        return
    b.loop(
        0,
        extents[len(place)],
        lambda inner, iv: each(inner, extents, body, (*place, Index.of(iv))),
        hint=f"d{len(place)}",
    )


def _extents(b: Builder, buffer: Value) -> Indices:
    return [extent(b, buffer, d) for d in range(memref.rank(buffer))]


def extent(b: Builder, buffer: Value, dimension: int) -> Index:
    """The extent of a dimension: a number, or ``memref.dim``."""
    assert isinstance(buffer.type, MemRefType)
    known = buffer.type.shape[dimension]
    if known is not None:
        return Index.of(known)
    position = b.index(Index.of(dimension))
    size = b.value("memref.dim", (buffer, position), position.type, hint="n")
    return Index.of(size)


def _divides(tile: Index, extent: Index) -> bool:
    whole, part = extent.constant, tile.constant
    return whole is not None and part is not None and whole % part == 0
