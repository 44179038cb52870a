"""Elements of dense literals as little-endian bytes, and back.

Every element takes whole bytes, a complex one twice those of its part; ``index`` takes
eight.  A Python float cannot hold every code, so bytes are what decides equality.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence

from gpucodegen.ir.data.float_formats import FORMATS, of_bits, to_bits
from gpucodegen.ir.data.literals import print_float
from gpucodegen.ir.types import ComplexType, FloatType, IndexType, IntegerType, Type

Scalar = int | float | str | complex

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_FLOATS = {"f16": "e", "f32": "f", "f64": "d"}
_INDEX_WIDTH = 64


def part_type(element: Type) -> Type:
    """The type of a complex number's parts, or the type itself."""
    return element.element if isinstance(element, ComplexType) else element


def width(part: Type) -> int:
    """Bits of a number; 0 for types that have no bytes here."""
    match part:
        case IntegerType(bits, _):
            return bits
        case IndexType():
            return _INDEX_WIDTH
        case FloatType(name):
            return FORMATS[name].width
        case _:
            return 0


def element_size(element: Type) -> int:
    """Bytes of one element; 0 for types that have no bytes here."""
    parts = 2 if isinstance(element, ComplexType) else 1
    part = part_type(element)
    is_number = isinstance(part, IntegerType | IndexType | FloatType)
    return parts * max(1, (width(part) + 7) // 8) if is_number else 0


# -- to bytes --------------------------------------------------------------------------


def pack(values: Sequence[Scalar], element: Type) -> bytes:
    """The bytes of numbers."""
    part = part_type(element)
    numbers = [n for value in values for n in _parts(value, element)]
    return join([code_of(n, part) for n in numbers], part)


def _parts(value: Scalar, element: Type) -> tuple[float, ...]:
    if isinstance(value, str):
        raise TypeError(value)
    if not isinstance(element, ComplexType):
        return (value if isinstance(value, int) else value.real,)
    return value.real, value.imag


def code_of(value: float, part: Type) -> int:
    """The bits of one number."""
    if isinstance(part, FloatType):
        return to_bits(float(value), part.name)
    return int(value) & ((1 << width(part)) - 1)


def join(codes: Sequence[int], part: Type) -> bytes:
    """The bytes of codes, one after the other."""
    size = element_size(part)
    if size in _CODES:
        return struct.pack(f"<{len(codes)}{_CODES[size]}", *codes)
    return b"".join(code.to_bytes(size, "little") for code in codes)


# -- from bytes ------------------------------------------------------------------------


def unpack(data: bytes, element: Type) -> tuple[Scalar, ...]:
    """The numbers in bytes."""
    part = part_type(element)
    if isinstance(part, FloatType) and part.name in _FLOATS:
        code = _FLOATS[part.name]
        flat = struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data)
        numbers = [x if x == x else math.nan for x in flat]  # noqa: PLR0124
    else:
        numbers = [number_of(code, part) for code in split(data, part)]
    if not isinstance(element, ComplexType):
        return tuple(numbers)
    return tuple(map(complex, numbers[::2], numbers[1::2]))


def split(data: bytes, part: Type) -> Sequence[int]:
    """The codes in bytes."""
    size = element_size(part)
    if size in _CODES:
        return struct.unpack(f"<{len(data) // size}{_CODES[size]}", data)
    pieces = (data[i : i + size] for i in range(0, len(data), size))
    return [int.from_bytes(piece, "little") for piece in pieces]


def number_of(code: int, part: Type) -> int | float:
    """The number that bits stand for; integers without a sign are signed, i1 is not."""
    if isinstance(part, FloatType):
        return of_bits(code & ((1 << width(part)) - 1), part.name)
    signedness = part.signedness if isinstance(part, IntegerType) else ""
    if part == IntegerType(1) and not signedness:
        return int(code != 0)
    return wrapped(code, width(part), signedness)


def wrapped(value: int, bits: int, signedness: str = "") -> int:
    """An integer brought into the range of its type.

    >>> wrapped(255, 8), wrapped(255, 8, "u")
    (-1, 255)
    """
    value &= (1 << bits) - 1
    is_negative = signedness != "u" and bits > 0 and value >> (bits - 1)
    return value - (1 << bits) if is_negative else value


# -- to text ---------------------------------------------------------------------------


def element_texts(data: bytes, element: Type) -> list[str]:
    """Every element as written inside ``dense<>``."""
    part = part_type(element)
    texts = [_code_text(code, part) for code in split(data, part)]
    if not isinstance(element, ComplexType):
        return texts
    return [f"({a},{b})" for a, b in zip(texts[::2], texts[1::2], strict=True)]


def _code_text(code: int, part: Type) -> str:
    value = number_of(code, part)
    if isinstance(part, FloatType):
        is_exact = to_bits(float(value), part.name) == code
        return print_float(float(value), part, None if is_exact else code)
    if part == IntegerType(1):
        return "true" if value else "false"
    return str(value)


def nested(texts: Sequence[str], shape: Sequence[int]) -> str:
    """Elements in brackets, by their shape.

    >>> print(nested(["1", "2", "3", "4"], (2, 2)))
    [[1, 2], [3, 4]]
    """
    if not texts:
        return ""
    if not shape:
        return texts[0]
    size = len(texts) // shape[0]
    rows = (texts[i : i + size] for i in range(0, len(texts), size))
    return f"[{', '.join(nested(row, shape[1:]) for row in rows)}]"
