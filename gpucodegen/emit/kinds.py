"""Element types as the names that kernels and the runtime share."""

from __future__ import annotations

import math
import struct

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


def nearest_half(value: float, kind: str) -> float:
    """The nearest number that a 16-bit float can hold, ties to even.

    >>> nearest_half(0.1, "bf16"), nearest_half(0.1, "f16"), nearest_half(1e6, "f16")
    (0.10009765625, 0.0999755859375, inf)
    """
    if not math.isfinite(value):
        return value
    if kind == "f16":
        try:
            return float(struct.unpack("<e", struct.pack("<e", value))[0])
        except OverflowError:
            return math.copysign(math.inf, value)
    bits = int(struct.unpack("<I", struct.pack("<f", value))[0])
    kept = bits + 0x7FFF + (bits >> 16 & 1) & 0xFFFF0000
    return float(struct.unpack("<f", struct.pack("<I", kept))[0])


def in_range(value: float, kind: str) -> float:
    """A constant as values of its type are held: signed, or rounded.

    >>> in_range(255, "i8"), in_range(-1, "i8"), in_range(0.1, "bf16")
    (-1, -1, 0.10009765625)
    """
    if kind in HALVES:
        return nearest_half(value, kind)
    if kind[0] != "i" or not isinstance(value, int):
        return value
    width = int(kind[1:])
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def is_index(ty: Type) -> bool:
    """Whether a type is ``index``."""
    return isinstance(ty, IndexType)
