"""Views of memrefs of vectors as views of the numbers: whole vectors stay whole."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.memref import DYNAMIC_MARK, Mixed
from gpucodegen.dialects.memref.reshapes import groups_of
from gpucodegen.dialects.shared.memory import (
    elements_of,
    steps_of,
    vector_in,
    widened,
)
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    DenseArrayAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import Operation, Value, segment_counts
from gpucodegen.ir.types import I64, INDEX, MemRefType, VectorType
from gpucodegen.passes.framework.builder import Builder


def scaled(b: Builder, value: Value, factor: int) -> Value:
    """A number of vectors as a number of numbers."""
    if factor == 1:
        return value
    (product,) = b.add("arith.muli", (value, b.constant(factor, INDEX)), [INDEX])
    return product


def _scaled(b: Builder, entries: Sequence[Mixed], factor: int) -> list[Mixed]:
    return [
        entry * factor if isinstance(entry, int) else scaled(b, entry, factor)
        for entry in entries
    ]


def _vector(old: Operation) -> VectorType:
    vector = vector_in(old.operands[0].type)
    assert isinstance(vector, VectorType)
    return vector


def subview(b: Builder, old: Operation, new: Operation) -> None:
    """``memref.subview``: all of each vector."""
    part, shape = memref.Slice(old), _vector(old).shape
    zeros, ones = [0] * len(shape), [1] * len(shape)
    columns = (
        [*part.offsets, *zeros],
        [*part.sizes, *shape],
        [*part.strides, *ones],
    )
    b.operations.append(with_columns(new, columns))


def reinterpret(b: Builder, old: Operation, new: Operation) -> None:
    """``memref.reinterpret_cast``: offset and strides in numbers."""
    part, vector = memref.Slice(old), _vector(old)
    size = elements_of(vector)
    columns = (
        _scaled(b, part.offsets, size),
        [*part.sizes, *vector.shape],
        [*_scaled(b, part.strides, size), *steps_of(vector)],
    )
    b.operations.append(with_columns(new, columns))


COLUMNS = ("static_offsets", "static_sizes", "static_strides")


def with_columns(view: Operation, columns: Sequence[Sequence[Mixed]]) -> Operation:
    """The view with other offsets, sizes and strides, numbers or values."""
    return with_entries(view, columns, 1)


def with_entries(
    op: Operation, columns: Sequence[Sequence[Mixed]], first: int
) -> Operation:
    """The same of an operation whose offsets come after ``first`` operands."""
    dynamic = [[e for e in entries if isinstance(e, Value)] for entries in columns]
    attributes = {
        name: DenseArrayAttr(
            I64, tuple(e if isinstance(e, int) else DYNAMIC_MARK for e in entries)
        )
        for name, entries in zip(COLUMNS, columns, strict=True)
    }
    segments = segment_counts(*[1] * first, *map(len, dynamic))
    values = (value for values in dynamic for value in values)
    return op.with_(
        operands=(*op.operands[:first], *values),
        attributes={**op.attributes, **attributes, "operandSegmentSizes": segments},
    )


def transpose(b: Builder, old: Operation, new: Operation) -> None:
    """``memref.transpose``: vectors keep their order."""
    map_ = widened(affine.map_of(old, "permutation"), len(_vector(old).shape))
    b.operations.append(new.with_attribute("permutation", AffineMapAttr(map_)))


def reshape(b: Builder, old: Operation, new: Operation) -> None:
    """``memref.collapse_shape`` and ``expand_shape``: each vector dimension alone."""
    vector, (source,), (result,) = _vector(old), old.operands[:1], old.results
    larger = max(memref.rank(source), memref.rank(result))
    groups = [list(group) for group in groups_of(old.attributes.get("reassociation"))]
    groups += [[larger + i] for i in range(len(vector.shape))]
    rows = (ArrayAttr(tuple(IntegerAttr(d, I64) for d in group)) for group in groups)
    new = new.with_attribute("reassociation", ArrayAttr(tuple(rows)))
    extents = old.attributes.get("static_output_shape")
    if isinstance(extents, DenseArrayAttr) and isinstance(result.type, MemRefType):
        whole = DenseArrayAttr(extents.element, (*extents.values, *vector.shape))
        new = new.with_attribute("static_output_shape", whole)
    b.operations.append(new)
