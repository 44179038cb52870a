"""External calls: vectors and tensors are passed in buffers.

Functions that print, check, or call external functions may do so on vectors and
tensors. A vector is stored to a new buffer of its shape, a tensor is passed as a
buffer, and the operation becomes ``gcg.handle`` of scalars and buffers.  Calls and
unknown operations with only such operands stay.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.func import Function, named_function
from gpucodegen.dialects.shared.effects import is_external
from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    ElementsAttr,
    StringAttr,
    dictionary,
)
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import (
    I64,
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.records import dataclass


def carrier(ty: Type) -> Type:
    """The type in which values of a type are passed outside of kernels.

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
    """Whether a value is passed in a buffer."""
    return carrier(value.type) != value.type


def holds_vector(value: Value) -> bool:
    return isinstance(value.type, VectorType)


def outward(b: Builder, value: Value) -> Value:
    """A scalar or buffer with the contents of a value."""
    ty = carrier(value.type)
    if isinstance(value.type, VectorType):
        assert isinstance(ty, MemRefType)
        box = b.allocate("memref.alloc", ty, value.name or "box")
        stored(b, value, box)
        return box
    if ty == value.type:
        return value
    return b.value("bufferization.to_buffer", (value,), ty, hint=value.name)


def inward(b: Builder, box: Value, value: Value) -> None:
    """Define a value by the contents of a buffer; a vector's buffer is then freed."""
    if isinstance(value.type, VectorType):
        b.operations.append(loaded(b, box, value))
        b.add("memref.dealloc", (box,))
        return
    b.operations.append(
        Operation("bufferization.to_tensor", (box,), (value,), location=b.location)
    )


def stored(b: Builder, vector: Value, box: Value) -> None:
    """Store a whole vector to a buffer of its shape."""
    ty = vector.type
    assert isinstance(ty, VectorType)
    if ty.shape:
        b.vector_store(vector, box, [0] * len(ty.shape))
        return
    position = {"static_position": DenseArrayAttr(I64, ())}
    number = b.value("vector.extract", (vector,), ty.element, position)
    b.store(number, box, [])


def loaded(b: Builder, box: Value, vector: Value) -> Operation:
    """The load of a whole vector from a buffer of its shape; adds its indices."""
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


HANDLE = "gcg.handle"


@dataclass(frozen=True, slots=True)
class OutsideCalls(ModulePass, name="outside-calls"):
    """Pass vectors and tensors to external operations through buffers.

    ``handled``: operations that functions of the caller run; another ``cf.assert``
    stays, for generated code runs it.
    """

    handled: tuple[str, ...] = ()

    def apply(self, module: Module) -> Module:
        without_body = {
            name for name, op in module.functions.items() if Function(op).is_external
        }

        def rewrite(op: Operation) -> Sequence[Operation] | None:
            if op.name == "func.call":
                callee = named_function(op)
                is_outside = callee in without_body and any(
                    map(is_carried, _values(op))
                )
                return outside(op, callee, {}) if is_outside else None
            if op.name == HANDLE or op.regions or not is_external(op):
                return None
            if op.name == "cf.assert" and op.name not in self.handled:
                return None
            is_known = lookup(op.name) is not None
            if is_known or any(map(holds_vector, _values(op))):
                return outside(op, op.name, op.attributes)
            return None

        (root,) = rewrite_bottom_up(module.operation, rewrite)
        return Module(root)


def _values(op: Operation) -> tuple[Value, ...]:
    return (*op.operands, *op.results)


def outside(
    op: Operation, name: str, attributes: Mapping[str, Attribute]
) -> list[Operation]:
    """The operation on carriers of its operands; a constant becomes an operand."""
    b = Builder(op.location)
    values, given = list(op.operands), dict(attributes)
    constant = given.get("value")
    if op.dialect == "check" and isinstance(constant, ElementsAttr):
        del given["value"]
        stated = {"value": constant}
        values += b.add("arith.constant", (), [constant.type], stated, hint="wanted")
    boxes = [outward(b, value) for value in values]
    about = {"operation": StringAttr(name), "given": dictionary(given)}
    results = tuple(
        v.renewed(carrier(v.type)) if is_carried(v) else v for v in op.results
    )
    b.operations.append(
        Operation(HANDLE, tuple(boxes), results, about, location=op.location)
    )
    given_back(b, boxes, values)
    for box, value in zip(results, op.results, strict=True):
        if box is not value:
            inward(b, box, value)
    return b.operations
