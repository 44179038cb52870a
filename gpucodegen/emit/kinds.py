"""Element types as the names that kernels and the runtime share."""

from __future__ import annotations

from gpucodegen.errors import UnsupportedType
from gpucodegen.ir.locations import Location
from gpucodegen.ir.types import FloatType, IndexType, IntegerType, Type

SUPPORTED = frozenset("f16 bf16 f32 f64 i1 i8 i16 i32 i64 index".split())
HALVES = frozenset({"f16", "bf16"})
"""Stored in 16 bits, computed in float32 with a rounding after every operation."""

CONSTRUCTORS = {
    "f16": "float32",
    "bf16": "float32",
    "f32": "float32",
    "f64": "float64",
    "i1": "boolean",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
}
"""The function of the intrinsics that makes a number of a type."""


def dtype(ty: Type, location: Location, target: str) -> str:
    """``f32``, ``i8``, ``index`` ... of a scalar type that the target can hold.

    >>> from gpucodegen.ir.locations import UNKNOWN
    >>> dtype(IntegerType(8, "u"), UNKNOWN, "cpu")
    'i8'
    """
    name = str(ty)
    if isinstance(ty, IntegerType):
        name = f"i{ty.width}"
    if isinstance(ty, IntegerType | FloatType | IndexType) and name in SUPPORTED:
        return name
    raise UnsupportedType(location, type=ty, target=target)


def is_float(name: str) -> bool:
    """Whether a dtype name is one of the floats."""
    return name.startswith(("f", "b"))


def is_index(ty: Type) -> bool:
    """Whether a type is ``index``."""
    return isinstance(ty, IndexType)
