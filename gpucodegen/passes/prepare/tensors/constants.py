"""The buffers that stand for tensors: their types, and those of constants.

Comes in: the type of a tensor, or the value of a constant and the memref it becomes.
Goes out: the type of the buffer, and the ``memref.global`` operations that belong into
the module.
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


def scalar_constant(b: Builder, value: object, ty: Type) -> Value:
    """One number of a constant."""
    if isinstance(ty, ComplexType):
        given = value if isinstance(value, int | float | complex) else 0
        b.operations.append(complex_.constant(given, ty, name="c", location=b.location))
        return b.operations[-1].result
    is_number = isinstance(value, int | float)
    return b.constant(value if is_number else float(str(value)), ty)
