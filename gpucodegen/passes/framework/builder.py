"""Operation builders: SSA operations appended to a list, scalars, vectors and loops.

`OperationList` is the base: an open list of operations with indices and constants.
`VectorBuilder` adds vector loads, stores, products, sums and masks.  `Builder` adds
loops and conditions, whose bodies are Python functions.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from gpucodegen.dialects.gcg import Parts, packed_word_attributes
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    DenseElementsAttr,
    IntegerAttr,
    IntegerSetAttr,
    OpaqueAttr,
    index_attr,
    number,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import (
    Operation,
    Region,
    Value,
    segment_counts,
    single_block,
)
from gpucodegen.ir.types import (
    I1,
    I32,
    I64,
    INDEX,
    FloatType,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.passes.framework.indexing import Index, as_map, as_set
from gpucodegen.records import dataclass

IndexLike = Index | Value | int


@dataclass(slots=True)
class OperationList:
    """An open list of operations at one place in the program."""

    location: Location = UNKNOWN
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(
        self,
        name: str,
        operands: Sequence[Value] = (),
        results: Sequence[Type] = (),
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        hint: str = "",
    ) -> tuple[Value, ...]:
        values = tuple(Value(ty, hint, self.location) for ty in results)
        self.operations.append(
            Operation(
                name,
                tuple(operands),
                values,
                attributes or {},
                tuple(regions),
                location=self.location,
            )
        )
        return values

    def value(
        self,
        name: str,
        operands: Sequence[Value],
        ty: Type,
        attributes: Mapping[str, Attribute] | None = None,
        regions: Sequence[Region] = (),
        hint: str = "",
    ) -> Value:
        """The only result of an operation that is added."""
        return self.add(name, operands, [ty], attributes, regions, hint)[0]

    def cast(self, name: str, value: Value, ty: Type, hint: str = "") -> Value:
        """A value in another type by ``arith.name``; itself if it has the type."""
        if value.type == ty:
            return value
        return self.value(f"arith.{name}", (value,), ty, hint=hint)

    def extended(self, value: Value, ty: Type) -> Value:
        """A number in a type that is as wide or wider."""
        return self.cast("extf" if isinstance(ty, FloatType) else "extsi", value, ty)

    def index(self, item: IndexLike, hint: str = "") -> Value:
        """The SSA value of an index expression (``affine.apply`` or a constant)."""
        if isinstance(item, Value):
            return item
        index = Index.of(item)
        if index.constant is not None:
            return self.constant(index.constant, INDEX)
        if index.expr == Dim(0):
            return index.values[0]
        map_, operands = as_map([index])
        return self.value(
            "affine.apply", operands, INDEX, {"map": AffineMapAttr(map_)}, hint=hint
        )

    def smallest(self, items: Sequence[Index], hint: str = "") -> Value:
        """The SSA value of the smallest of several index expressions."""
        return self._extreme("affine.min", items, hint)

    def largest(self, items: Sequence[Index], hint: str = "") -> Value:
        """The SSA value of the largest of several index expressions."""
        return self._extreme("affine.max", items, hint)

    def _extreme(self, op: str, items: Sequence[Index], hint: str) -> Value:
        if len(items) == 1:
            return self.index(items[0], hint)
        map_, operands = as_map(items)
        attributes = {"map": AffineMapAttr(map_)}
        return self.value(op, operands, INDEX, attributes, hint=hint)

    def constant(self, value: float, ty: Type) -> Value:
        """``arith.constant`` of a scalar, or of a vector filled with it."""
        attribute: Attribute
        if isinstance(ty, VectorType):
            scalar = float(value) if isinstance(ty.element, FloatType) else int(value)
            attribute = DenseElementsAttr((scalar,), ty, ty.element)
        else:
            attribute = number(value, ty)
        return self.value("arith.constant", (), ty, {"value": attribute}, hint="c")

    # -- memory ----------------------------------------------------------------------


@dataclass(slots=True)
class VectorBuilder(OperationList):
    """The operations on vectors."""

    def vector_load(
        self,
        memref: Value,
        indices: Sequence[IndexLike],
        ty: VectorType,
        hint: str = "",
        alignment: int = 0,
    ) -> Value:
        """``vector.load`` of consecutive elements of the last dimension.

        ``alignment``: bytes that divide the address; 0 where that is not known.
        """
        operands = [self.index(i) for i in indices]
        aligned = _aligned(alignment)
        return self.value("vector.load", (memref, *operands), ty, aligned, hint=hint)

    def vector_store(
        self,
        vector: Value,
        memref: Value,
        indices: Sequence[IndexLike],
        alignment: int = 0,
    ) -> None:
        """``vector.store`` to consecutive elements of the last dimensions.

        ``alignment``: as for :meth:`vector_load`.
        """
        operands = (vector, memref, *(self.index(i) for i in indices))
        self.add("vector.store", operands, (), _aligned(alignment))

    def transposed(self, tile: Value) -> Value:
        ty = tile.type
        assert isinstance(ty, VectorType)
        turned = replace(ty, shape=ty.shape[::-1])
        order = {"permutation": DenseArrayAttr(I64, (1, 0))}
        return self.value("vector.transpose", (tile,), turned, order, hint=tile.name)

    def affine_vector_load(
        self,
        memref: Value,
        indices: Sequence[IndexLike],
        ty: VectorType,
        hint: str = "",
    ) -> Value:
        """``affine.vector_load`` of consecutive elements of the last dimension."""
        map_, operands = as_map(indices)
        attributes = {"map": AffineMapAttr(map_)}
        return self.value(
            "affine.vector_load", (memref, *operands), ty, attributes, hint=hint
        )

    def affine_vector_store(
        self, vector: Value, memref: Value, indices: Sequence[IndexLike]
    ) -> None:
        """``affine.vector_store`` of consecutive elements of the last dimension."""
        map_, operands = as_map(indices)
        attributes = {"map": AffineMapAttr(map_)}
        self.add("affine.vector_store", (vector, memref, *operands), (), attributes)

    def streaming_store(
        self, vector: Value, memref: Value, indices: Sequence[IndexLike]
    ) -> None:
        """``vector.store`` with a non-temporal hint."""
        operands = (vector, memref, *(self.index(i) for i in indices))
        self.add("vector.store", operands, (), {"nontemporal": IntegerAttr(1, I1)})

    def masked_load(
        self,
        memref: Value,
        indices: Sequence[IndexLike],
        mask: Value,
        otherwise: Value,
        hint: str = "",
    ) -> Value:
        """``vector.maskedload``; lanes that the mask leaves out are ``otherwise``."""
        operands = (memref, *(self.index(i) for i in indices), mask, otherwise)
        return self.value("vector.maskedload", operands, otherwise.type, hint=hint)

    def masked_store(
        self, vector: Value, memref: Value, indices: Sequence[IndexLike], mask: Value
    ) -> None:
        """``vector.maskedstore`` of the lanes of the mask."""
        places = [self.index(i) for i in indices]
        self.add("vector.maskedstore", (memref, *places, mask, vector))

    def transfer_read(
        self,
        memref: Value,
        indices: Sequence[IndexLike],
        ty: VectorType,
        dimensions: Sequence[int],
        *,
        in_bounds: bool = True,
        last_in_bounds: bool = True,
        hint: str = "",
    ) -> Value:
        """``vector.transfer_read`` of a tile spanned by some dimensions."""
        padding = self.constant(0, ty.element)
        operands = [self.index(i) for i in indices]
        return self.value(
            "vector.transfer_read",
            (memref, *operands, padding),
            ty,
            _transfer_attributes(
                len(indices), dimensions, in_bounds, in_bounds and last_in_bounds
            )
            | {"operandSegmentSizes": segment_counts(1, len(indices), 1, 0)},
            hint=hint,
        )

    def transfer_write(
        self,
        vector: Value,
        memref: Value,
        indices: Sequence[IndexLike],
        dimensions: Sequence[int],
        *,
        in_bounds: bool = True,
    ) -> None:
        """``vector.transfer_write`` of a tile spanned by ``dimensions``."""
        operands = [self.index(i) for i in indices]
        self.add(
            "vector.transfer_write",
            (vector, memref, *operands),
            (),
            _transfer_attributes(len(indices), dimensions, in_bounds, in_bounds)
            | {"operandSegmentSizes": segment_counts(1, 1, len(indices), 0)},
        )

    def outerproduct(
        self,
        column: Value,
        row: Value,
        accumulator: Value,
        words: Parts | None = None,
    ) -> Value:
        """``accumulator + column (x) row``; ``words``: packed types of both."""
        return self.value(
            "vector.outerproduct",
            (column, row, accumulator),
            accumulator.type,
            {"kind": _ADD_KIND, **packed_word_attributes(words)},
            hint=accumulator.name or "acc",
        )

    def broadcast(self, value: Value, ty: VectorType, hint: str = "") -> Value:
        """``vector.broadcast`` of a scalar, or of one row to all rows."""
        return self.value("vector.broadcast", (value,), ty, hint=hint)

    def row_sums(self, tile: Value, column: Value) -> Value:
        """Each row of ``tile`` added up, in any order, to its element of ``column``."""
        attributes = {"kind": _ADD_KIND, "reduction_dims": DenseArrayAttr(I64, (1,))}
        return self.value(
            "vector.multi_reduction", (tile, column), column.type, attributes, hint="s"
        )

    def element(self, vector: Value, position: int) -> Value:
        where = {"static_position": DenseArrayAttr(I64, (position,))}
        ty = element_type(vector.type)
        return self.value("vector.extract", (vector,), ty, where)

    def from_elements(self, values: Sequence[Value], hint: str = "") -> Value:
        """A vector of scalars (``vector.from_elements``)."""
        ty = VectorType((len(values),), values[0].type)
        return self.value("vector.from_elements", tuple(values), ty, hint=hint)

    def every(self, vector: Value, step: int) -> Value:
        """Each ``step``-th lane from the first on (``vector.shuffle``)."""
        ty = vector.type
        assert isinstance(ty, VectorType)
        return self.shuffle(vector, vector, range(0, ty.shape[0], step))

    def shuffle(self, one: Value, other: Value, lanes: Sequence[int]) -> Value:
        """Lanes of two vectors, counted through both (``vector.shuffle``)."""
        return self.value(
            "vector.shuffle",
            (one, other),
            VectorType((len(lanes),), element_type(one.type)),
            {"mask": DenseArrayAttr(I64, tuple(lanes))},
            hint=one.name,
        )

    def multiply(self, one: Value, other: Value) -> Value:
        is_float = isinstance(element_type(one.type), FloatType)
        name = "arith.mulf" if is_float else "arith.muli"
        return self.value(name, (one, other), one.type, hint="p")

    def multiply_add(self, one: Value, other: Value, total: Value) -> Value:
        """``one * other + total``, fused where the elements are floats."""
        ty, hint = total.type, total.name
        if isinstance(element_type(ty), FloatType):
            return self.value("vector.fma", (one, other, total), ty, hint=hint)
        product = self.multiply(one, other)
        return self.value("arith.addi", (total, product), ty, hint=hint)

    # -- structure -------------------------------------------------------------------


def _aligned(alignment: int) -> dict[str, Attribute]:
    return {"alignment": IntegerAttr(alignment, I64)} if alignment else {}


def _transfer_attributes(
    rank: int, dimensions: Sequence[int], inside: bool, last_inside: bool
) -> dict[str, Attribute]:
    permutation = AffineMap(rank, 0, tuple(Dim(d) for d in dimensions))
    bounds = [inside] * (len(dimensions) - 1) + [last_inside]
    flags = ArrayAttr(tuple(IntegerAttr(int(flag), I1) for flag in bounds))
    return {"permutation_map": AffineMapAttr(permutation), "in_bounds": flags}


_ADD_KIND = OpaqueAttr("#vector.kind<add>")


Bound = IndexLike | Sequence[IndexLike]
Body = Callable[["Builder", Value], None]


@dataclass(slots=True)
class Builder(VectorBuilder):
    """Operations on memory and vectors, loops and conditions."""

    def nested(self, body: Callable[[Builder], None]) -> list[Operation]:
        """The operations that ``body`` builds, at the same location."""
        inner = Builder(self.location)
        body(inner)
        return inner.operations

    # -- index values and constants --------------------------------------------------

    def load(
        self, memref: Value, indices: Sequence[IndexLike], hint: str = ""
    ) -> Value:
        """``affine.load`` of one element."""
        map_, operands = as_map(indices)
        return self.value(
            "affine.load",
            (memref, *operands),
            element_type(memref.type),
            {"map": AffineMapAttr(map_)},
            hint=hint,
        )

    def store(self, value: Value, memref: Value, indices: Sequence[IndexLike]) -> None:
        """``affine.store`` of one element."""
        map_, operands = as_map(indices)
        self.add(
            "affine.store", (value, memref, *operands), (), {"map": AffineMapAttr(map_)}
        )

    def prefetch(
        self,
        memref: Value,
        indices: Sequence[IndexLike],
        *,
        write: bool = True,
        locality: int = 3,
    ) -> None:
        """``affine.prefetch`` of an element that will be read, and maybe written.

        ``locality``: 3 for the first cache, 2 for the second.
        """
        map_, operands = as_map(indices)
        attributes: dict[str, Attribute] = {
            "map": AffineMapAttr(map_),
            "isWrite": IntegerAttr(int(write), I1),
            "localityHint": IntegerAttr(locality, I32),
            "isDataCache": IntegerAttr(1, I1),
        }
        self.add("affine.prefetch", (memref, *operands), (), attributes)

    def allocate(
        self, op: str, ty: MemRefType, hint: str = "", extents: Sequence[Value] = ()
    ) -> Value:
        """``memref.alloc`` or ``memref.alloca``, with the extents that are open."""
        sizes = {"operandSegmentSizes": segment_counts(len(extents), 0)}
        return self.value(op, extents, ty, sizes, hint=hint)

    def extent(self, memref: Value, dimension: int) -> Value:
        """``memref.dim``."""
        number = self.constant(dimension, INDEX)
        return self.value("memref.dim", (memref, number), INDEX, hint="extent")

    def loop(
        self, lower: Bound, upper: Bound, body: Body, *, step: int = 1, hint: str = "i"
    ) -> None:
        """``affine.for`` without loop-carried values, from max of lowers to min."""

        def without_values(inner: Builder, iv: Value, _: Sequence[Value]) -> None:
            body(inner, iv)

        self.carried_loop(lower, upper, (), without_values, step=step, hint=hint)

    def once(self, body: Callable[[Builder], None]) -> None:
        """A loop of one iteration: vectors live in loops only."""
        self.loop(0, 1, lambda inner, _: body(inner), hint="once")

    def carried_loop(
        self,
        lower: Bound,
        upper: Bound,
        initial: Sequence[Value],
        body: Callable[[Builder, Value, Sequence[Value]], Sequence[Value] | None],
        *,
        step: int = 1,
        hint: str = "i",
    ) -> tuple[Value, ...]:
        """``affine.for`` whose body gets and returns the loop-carried values."""
        lower_map, lower_operands = as_map(_bounds(lower))
        upper_map, upper_operands = as_map(_bounds(upper))
        iv = Value(INDEX, hint, self.location)
        carried = tuple(v.renewed() for v in initial)
        inner = Builder(self.location)
        yielded = body(inner, iv, carried) or ()
        inner.add("affine.yield", yielded)
        return self.add(
            "affine.for",
            (*lower_operands, *upper_operands, *initial),
            [v.type for v in initial],
            {
                "lowerBoundMap": AffineMapAttr(lower_map),
                "upperBoundMap": AffineMapAttr(upper_map),
                "step": index_attr(step),
                "operandSegmentSizes": segment_counts(
                    len(lower_operands), len(upper_operands), len(initial)
                ),
            },
            [single_block(inner.operations, (iv, *carried))],
            hint=initial[0].name if initial else "",
        )

    def parallel(
        self,
        extents: Sequence[IndexLike],
        body: Callable[[Builder, Sequence[Value]], None],
        hints: Sequence[str] = (),
    ) -> None:
        """``affine.parallel`` over ``0 <= iv < extent`` for each extent."""
        names = [*hints, *("p" * len(extents))][: len(extents)]
        ivs = tuple(Value(INDEX, name, self.location) for name in names)
        inner = Builder(self.location)
        body(inner, ivs)
        inner.add("affine.yield")
        upper_map, operands = as_map(extents)
        count = len(extents)
        groups = DenseElementsAttr((1,), VectorType((count,), I32), I32)
        self.add(
            "affine.parallel",
            operands,
            (),
            {
                "lowerBoundsMap": AffineMapAttr(AffineMap.constant(*(0,) * count)),
                "lowerBoundsGroups": groups,
                "upperBoundsMap": AffineMapAttr(upper_map),
                "upperBoundsGroups": groups,
                "steps": ArrayAttr((IntegerAttr(1, I64),) * count),
                "reductions": ArrayAttr(()),
            },
            [single_block(inner.operations, ivs)],
        )

    def guard(
        self,
        conditions: Sequence[Index],
        body: Callable[[Builder], None],
        otherwise: Callable[[Builder], None] | None = None,
    ) -> None:
        """``affine.if`` all ``conditions`` are >= 0; statically true ones vanish."""
        unknown = [c for c in conditions if c.constant is None or c.constant < 0]
        if not unknown:
            body(self)
            return
        where, operands = as_set(unknown)
        condition = IntegerSetAttr(where)
        branches = [
            Region() if branch is None else single_block(self._yielding(branch))
            for branch in (body, otherwise)
        ]
        self.add("affine.if", operands, (), {"condition": condition}, branches)

    def choose(
        self,
        conditions: Sequence[Index],
        first: Callable[[Builder], Value],
        second: Callable[[Builder], Value],
        hint: str = "",
    ) -> Value:
        """``first`` if all ``conditions`` are >= 0, else ``second``: ``affine.if``."""
        unknown = [c for c in conditions if c.constant is None]
        if any(c.constant is not None and c.constant < 0 for c in conditions):
            return second(self)
        if not unknown:
            return first(self)
        where, operands = as_set(unknown)
        condition, types = IntegerSetAttr(where), list[Type]()

        def branch(body: Callable[[Builder], Value]) -> Region:
            inner = Builder(self.location)
            value = body(inner)
            types[:] = [value.type]
            inner.add("affine.yield", (value,))
            return single_block(inner.operations)

        regions = [branch(first), branch(second)]
        (value,) = self.add(
            "affine.if", operands, types, {"condition": condition}, regions, hint
        )
        return value

    def _yielding(self, body: Callable[[Builder], None]) -> list[Operation]:
        return [*self.nested(body), Operation("affine.yield", location=self.location)]


def _bounds(bound: IndexLike | Sequence[IndexLike]) -> Sequence[IndexLike]:
    return [bound] if isinstance(bound, Index | Value | int) else bound
