"""Views of the buffers of tensors: their types, and the operations that make them."""

from __future__ import annotations

from gpucodegen.dialects.memref import Mixed
from gpucodegen.dialects.memref.checks import static
from gpucodegen.dialects.memref.layouts import (
    Strided,
    plus,
    strided_form,
    times,
    with_strides,
)
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType, Shape, TensorType, Type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.memory.flat_views import with_columns
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Part
from gpucodegen.passes.prepare.tensors.kept import kept_dimensions


def shape_of(ty: Type) -> Shape:
    """The extents of a tensor or memref."""
    return ty.shape if isinstance(ty, MemRefType | TensorType) else ()


def part_of(b: Builder, buffer: Buffer, part: Part, shape: Shape) -> Buffer:
    """A slice of a buffer, without the dimensions of extent 1 that ``shape`` lacks."""
    ty = part_type(buffer.value.type, part, shape)
    (view,) = b.add("memref.subview", [buffer.value], [ty], hint=buffer.value.name)
    columns = (part.offsets, part.sizes, part.strides)
    b.operations[-1] = with_columns(b.operations[-1], columns)
    return Buffer(view, buffer.storage, (*buffer.steps, part))


def part_type(ty: Type, part: Part, shape: Shape) -> MemRefType:
    """The type of a slice: ``offset + o . strides`` and ``strides * s``.

    >>> from gpucodegen.ir.types import F32
    >>> print(part_type(MemRefType((8, 8), F32), Part((2, 0), (1, 8), (1, 1)), (8,)))
    memref<8xf32, strided<[1], offset: 16>>
    """
    assert isinstance(ty, MemRefType)
    form = strided_form(ty)
    assert form is not None
    offset = form.offset
    for start, stride in zip(static(part.offsets), form.strides, strict=True):
        offset = plus(offset, times(start, stride) if start != 0 else 0)
    steps = tuple(map(times, form.strides, static(part.strides)))
    kept = kept_dimensions(part.sizes, shape)
    strides = tuple(steps[d] for d in kept)
    return with_strides(
        ty, tuple(static(part.sizes)[d] for d in kept), Strided(offset, strides)
    )


def extent(b: Builder, memref: Value, dimension: int) -> Value:
    """An extent of a memref as a value."""
    ty = memref.type
    known = ty.shape[dimension] if isinstance(ty, MemRefType) else None
    if known is not None:
        return b.index(Index.of(known))
    position = b.index(Index.of(dimension))
    return b.add("memref.dim", (memref, position), [position.type], hint="n")[0]


def dimensions(b: Builder, value: Value) -> list[Mixed]:
    """The extents of a buffer, numbers where they are known."""
    return [
        extent(b, value, d) if known is None else known
        for d, known in enumerate(shape_of(value.type))
    ]
