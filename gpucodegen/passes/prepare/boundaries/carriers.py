"""Buffers that carry what only kernels hold, vectors, and values that have no place.

A vector is stored to a new buffer of its shape; a tensor is shown as a buffer.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.attributes import DenseArrayAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    I64,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from gpucodegen.passes.framework.builder import Builder


def carrier(ty: Type) -> Type:
    """The type that carries values of a type outside of kernels.

    >>> from gpucodegen.ir.types import F32, INDEX
    >>> print(carrier(VectorType((2, 4), F32)), carrier(INDEX))
    memref<2x4xf32> index
    """
    match ty:
        case VectorType(shape, element):
            return MemRefType(shape, element)
        case TensorType(shape, element):
            return MemRefType(shape, element)
        case UnrankedTensorType(element):
            return UnrankedMemRefType(element)
        case _:
            return ty


def is_carried(value: Value) -> bool:
    """Whether a value needs a carrier."""
    return carrier(value.type) != value.type


def holds_vector(value: Value) -> bool:
    """Whether a value is a vector."""
    return isinstance(value.type, VectorType)


def outward(b: Builder, value: Value) -> Value:
    """A number or buffer with the contents of a value."""
    ty = carrier(value.type)
    if isinstance(value.type, VectorType):
        assert isinstance(ty, MemRefType)
        box = b.allocate("memref.alloc", ty, value.name or "box")
        stored(b, value, box)
        return box
    if ty == value.type:
        return value
    (shown,) = b.add("bufferization.to_buffer", (value,), [ty], hint=value.name)
    return shown


def inward(b: Builder, box: Value, value: Value) -> None:
    """Define a value by the contents of a buffer; a vector's is then given back."""
    if isinstance(value.type, VectorType):
        b.operations.append(loaded(b, box, value))
        b.add("memref.dealloc", (box,))
        return
    b.operations.append(
        Operation("bufferization.to_tensor", (box,), (value,), location=b.location)
    )


def stored(b: Builder, vector: Value, box: Value) -> None:
    """A whole vector to a buffer of its shape."""
    ty = vector.type
    assert isinstance(ty, VectorType)
    if ty.shape:
        b.vector_store(vector, box, [0] * len(ty.shape))
        return
    position = {"static_position": DenseArrayAttr(I64, ())}
    (number,) = b.add("vector.extract", (vector,), [ty.element], position)
    b.store(number, box, [])


def loaded(b: Builder, box: Value, vector: Value) -> Operation:
    """The load of a whole vector from a buffer of its shape; its indices are added."""
    ty = vector.type
    assert isinstance(ty, VectorType)
    if not ty.shape:
        number = b.load(box, [])
        return Operation("vector.broadcast", (number,), (vector,), location=b.location)
    zeros = [b.index(0) for _ in ty.shape]
    return Operation("vector.load", (box, *zeros), (vector,), location=b.location)


def given_back(b: Builder, boxes: Sequence[Value], values: Sequence[Value]) -> None:
    """Free the buffers that carried vectors."""
    for box, value in zip(boxes, values, strict=True):
        if holds_vector(value):
            b.add("memref.dealloc", (box,))
