"""Element types as the names that kernels and the runtime share."""

from __future__ import annotations

from gpucodegen.errors import UnsupportedType
from gpucodegen.ir.data.float_formats import FORMATS, NARROW, of_bits, to_bits
from gpucodegen.ir.locations import Location
from gpucodegen.ir.types import ComplexType, FloatType, IndexType, IntegerType, Type

CONSTRUCTORS = dict.fromkeys(sorted(NARROW), "float32") | {
    "f32": "float32",
    "f64": "float64",
    "i1": "boolean",
    "i8": "int8",
    "i16": "int16",
    "i32": "int32",
    "i64": "int64",
    "complex<f32>": "complex64",
    "complex<f64>": "complex128",
}
"""The function of the intrinsics that makes a number of a type."""
COMPLEX = "complex<"
SUPPORTED = frozenset({*CONSTRUCTORS, "index"})


def dtype(ty: Type, location: Location, target: str) -> str:
    """``f32``, ``i8``, ``index`` ... of a scalar type that the target can hold.

    >>> from gpucodegen.ir.locations import UNKNOWN
    >>> dtype(IntegerType(8, "u"), UNKNOWN, "cpu")
    'i8'
    """
    name = str(ty)
    if isinstance(ty, IntegerType):
        name = f"i{ty.width}"
    is_scalar = isinstance(ty, IntegerType | FloatType | IndexType | ComplexType)
    if is_scalar and name in SUPPORTED:
        return name
    raise UnsupportedType(location, type=ty, target=target)


def is_float(name: str) -> bool:
    """Whether a dtype name is one of the floats."""
    return name.startswith(("f", "b"))


def in_range(value: float, kind: str) -> float:
    """A constant as values of its type are held: signed, or rounded.

    >>> in_range(255, "i8"), in_range(-1, "i8"), in_range(0.1, "bf16")
    (-1, -1, 0.10009765625)
    """
    if kind in NARROW:
        return of_bits(to_bits(float(value), kind), kind)
    if kind[0] != "i" or not isinstance(value, int):
        return value
    width = int(kind[1:])
    value &= (1 << width) - 1
    return value - (1 << width) if value >> (width - 1) else value


def stored_bytes(kind: str) -> int:
    """Bytes of an element in memory.

    >>> [stored_bytes(kind) for kind in ("f8E4M3FN", "i1", "index", "complex<f32>")]
    [1, 1, 8, 8]
    """
    if kind.startswith(COMPLEX):
        return 2 * stored_bytes(kind[len(COMPLEX) : -1])
    if kind in FORMATS:
        return -(-FORMATS[kind].width // 8)
    return max(1, int(kind[1:]) // 8) if kind[1:].isdigit() else 8


def is_index(ty: Type) -> bool:
    """Whether a type is ``index``."""
    return isinstance(ty, IndexType)
