"""The buffers that stand for tensors: their types, and those of constants.

Comes in: the type of a tensor, or the value of a constant and the memref it becomes.
Goes out: the type of the buffer, operations that make it, and the ``memref.global``
operations that belong into the module.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count

from gpucodegen import errors
from gpucodegen.dialects import complex as complex_
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    ComplexType,
    MemRefType,
    TensorType,
    Type,
    UnrankedTensorType,
)
from gpucodegen.passes.framework.builder import Builder


def buffer_type(ty: Type, location: Location = UNKNOWN) -> Type:
    """The row-major memref of a tensor type; other types are themselves."""
    encoded = isinstance(ty, TensorType) and ty.encoding is not None
    if encoded or isinstance(ty, UnrankedTensorType):
        raise errors.UnsupportedType(location, type=ty, target="buffers")
    return MemRefType(ty.shape, ty.element) if isinstance(ty, TensorType) else ty


@dataclass(slots=True)
class Globals:
    """The global constants that functions need; ``taken``: names of the module."""

    taken: set[str]
    operations: list[Operation] = field(default_factory=list[Operation])

    def add(self, value: DenseElementsAttr, ty: MemRefType) -> str:
        """The name of a new constant."""
        names = (f"constant_{n}" for n in count())
        name = next(n for n in names if n not in self.taken)
        self.taken.add(name)
        attributes: dict[str, Attribute] = {
            "sym_name": StringAttr(name),
            "sym_visibility": StringAttr("private"),
            "type": TypeAttr(ty),
            "initial_value": value,
            "constant": UnitAttr(),
        }
        self.operations.append(Operation("memref.global", attributes=attributes))
        return name

    def shown(self, b: Builder, value: DenseElementsAttr, ty: MemRefType) -> Value:
        """The buffer of a new constant."""
        name = SymbolRefAttr((self.add(value, ty),))
        (buffer,) = b.add("memref.get_global", (), [ty], {"name": name})
        return buffer


def fill(b: Builder, buffer: Value, value: object, ty: MemRefType) -> None:
    """Store one number in every element of a buffer of static shape."""
    scalar = _scalar(b, value, ty.element)
    _fill(b, scalar, buffer, tuple(n or 0 for n in ty.shape), [])


def _scalar(b: Builder, value: object, ty: Type) -> Value:
    if not isinstance(ty, ComplexType):
        return b.constant(float(str(value)), ty)
    number = value if isinstance(value, int | float | complex) else 0
    b.operations.append(complex_.constant(number, ty, name="c", location=b.location))
    return b.operations[-1].result


def _fill(
    b: Builder, scalar: Value, buffer: Value, shape: tuple[int, ...], ivs: list[Value]
) -> None:
    if len(ivs) == len(shape):
        b.store(scalar, buffer, ivs)
        return
    extent = shape[len(ivs)]
    b.loop(0, extent, lambda i, iv: _fill(i, scalar, buffer, shape, [*ivs, iv]))
