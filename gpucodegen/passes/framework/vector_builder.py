"""Builds operations on vectors: tiles of memory, masks, products, sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.dialects.gcg import Parts, packed_word_attributes
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    OpaqueAttr,
)
from gpucodegen.ir.operation import Value, segment_counts
from gpucodegen.ir.types import I1, I64, FloatType, VectorType, element_type
from gpucodegen.passes.framework.indexing import as_map
from gpucodegen.passes.framework.operation_list import IndexLike, OperationList


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
        (value,) = self.add(
            "vector.load", (memref, *operands), [ty], aligned, hint=hint
        )
        return value

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
        """``vector.transpose`` of a tile."""
        ty = tile.type
        assert isinstance(ty, VectorType)
        turned = replace(ty, shape=ty.shape[::-1])
        order = {"permutation": DenseArrayAttr(I64, (1, 0))}
        (result,) = self.add(
            "vector.transpose", (tile,), [turned], order, hint=tile.name
        )
        return result

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
        (value,) = self.add(
            "affine.vector_load", (memref, *operands), [ty], attributes, hint=hint
        )
        return value

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
        """``vector.store`` that goes past the caches."""
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
        (value,) = self.add("vector.maskedload", operands, [otherwise.type], hint=hint)
        return value

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
        (value,) = self.add(
            "vector.transfer_read",
            (memref, *operands, padding),
            [ty],
            _transfer_attributes(
                len(indices), dimensions, in_bounds, in_bounds and last_in_bounds
            )
            | {"operandSegmentSizes": segment_counts(1, len(indices), 1, 0)},
            hint=hint,
        )
        return value

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
        """``accumulator + column (x) row``; ``words``: what both are words of."""
        (value,) = self.add(
            "vector.outerproduct",
            (column, row, accumulator),
            [accumulator.type],
            {"kind": _ADD_KIND, **packed_word_attributes(words)},
            hint=accumulator.name or "acc",
        )
        return value

    def broadcast(self, value: Value, ty: VectorType, hint: str = "") -> Value:
        """``vector.broadcast`` of a scalar, or of one row to all rows."""
        (result,) = self.add("vector.broadcast", (value,), [ty], hint=hint)
        return result

    def row_sums(self, tile: Value, column: Value) -> Value:
        """Each row of ``tile`` added up, in any order, to its element of ``column``."""
        attributes = {"kind": _ADD_KIND, "reduction_dims": DenseArrayAttr(I64, (1,))}
        (value,) = self.add(
            "vector.multi_reduction",
            (tile, column),
            [column.type],
            attributes,
            hint="s",
        )
        return value

    def element(self, vector: Value, position: int) -> Value:
        """One element of a vector of one dimension."""
        where = {"static_position": DenseArrayAttr(I64, (position,))}
        ty = element_type(vector.type)
        (value,) = self.add("vector.extract", (vector,), [ty], where)
        return value

    def from_elements(self, values: Sequence[Value], hint: str = "") -> Value:
        """A vector of scalars (``vector.from_elements``)."""
        ty = VectorType((len(values),), values[0].type)
        (value,) = self.add("vector.from_elements", tuple(values), [ty], hint=hint)
        return value

    def every(self, vector: Value, step: int) -> Value:
        """Each ``step``-th lane from the first on (``vector.shuffle``)."""
        ty = vector.type
        assert isinstance(ty, VectorType)
        return self.shuffle(vector, vector, range(0, ty.shape[0], step))

    def shuffle(self, one: Value, other: Value, lanes: Sequence[int]) -> Value:
        """Lanes of two vectors, counted through both (``vector.shuffle``)."""
        (value,) = self.add(
            "vector.shuffle",
            (one, other),
            [VectorType((len(lanes),), element_type(one.type))],
            {"mask": DenseArrayAttr(I64, tuple(lanes))},
            hint=one.name,
        )
        return value

    def multiply(self, one: Value, other: Value) -> Value:
        """``one * other``."""
        is_float = isinstance(element_type(one.type), FloatType)
        name = "arith.mulf" if is_float else "arith.muli"
        (product,) = self.add(name, (one, other), [one.type], hint="p")
        return product

    def multiply_add(self, one: Value, other: Value, total: Value) -> Value:
        """``one * other + total``, fused where the elements are floats."""
        ty, hint = total.type, total.name
        if isinstance(element_type(ty), FloatType):
            (value,) = self.add("vector.fma", (one, other, total), [ty], hint=hint)
            return value
        product = self.multiply(one, other)
        (value,) = self.add("arith.addi", (total, product), [ty], hint=hint)
        return value

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
