"""Numbers, strings and dense elements: MLIR text and little-endian bytes.

Every element takes whole bytes, a complex one twice those of its part; ``index`` takes
eight. A Python float cannot represent every bit pattern, so equality is that of bytes.
"""

from __future__ import annotations

import math
import re
import struct
from collections.abc import Sequence
from fractions import Fraction

from gpucodegen.ir.number_formats import FORMATS, FloatFormat, of_bits, to_bits
from gpucodegen.ir.types import ComplexType, FloatType, IndexType, IntegerType, Type

_SHORT = 6
"""Digits of the scientific spelling."""

_PADDING = 3
"""Largest number of zeros written around the digits of the plain spelling."""


def print_float(value: float, ty: Type, bits: int | None = None) -> str:
    """The first of MLIR's spellings that reads back as the same number.

    Six digits in scientific notation, or all digits, or the bits; ``bits`` are given
    for values that a Python float cannot hold.

    >>> print(print_float(1.5, FloatType("f32")), print_float(0.1, FloatType("f16")))
    1.500000e+00 9.997550e-02
    """
    name = ty.name if isinstance(ty, FloatType) else "f64"
    format_ = FORMATS[name]
    code = to_bits(value, name) if bits is None else bits
    exact = format_.exact(code)
    if exact is not None:
        minus = "-" if format_.is_negative(code) else ""
        short = minus + _scientific(*_digits(abs(exact), _SHORT), "e", 2)
        nearest = float(short) if name == "f64" or not exact else Fraction(short)
        if to_bits(nearest, name) == code:
            return short
        full = minus + _all_digits(abs(exact), format_)
        if "." in full:
            return full
    return f"0x{code:0{(format_.width + 3) // 4}X}"


def _digits(value: Fraction, precision: int) -> tuple[str, int]:
    """At most so many decimal digits and the exponent of the last, as LLVM rounds.

    The exact decimal is truncated to the bits that the digits need, then rounded half
    up.
    """
    exponent = 1 - value.denominator.bit_length()
    number = value.numerator * 5**-exponent
    needed = (precision * 196 + 58) // 59
    surplus = max(number.bit_length() - needed, 0) * 59 // 196
    text = str(number // 10**surplus)
    exponent += surplus + len(text)
    text = text.rstrip("0")
    if len(text) > precision:
        number = int(text[:precision]) + (text[precision] >= "5")
        exponent += len(str(number)) - precision
        text = str(number).rstrip("0")
    return text or "0", exponent - max(len(text), 1)


def _scientific(digits: str, exponent: int, mark: str, width: int) -> str:
    """``1.500000e+00``; without padding ``1.5E-7``."""
    power = exponent + len(digits) - 1
    tail = digits[1:].ljust(_SHORT if mark == "e" else 1, "0")
    return f"{digits[0]}.{tail}{mark}{'-' if power < 0 else '+'}{abs(power):0{width}}"


def _all_digits(value: Fraction, format_: FloatFormat) -> str:
    """As many digits as distinguish the format's values, without exponent if short."""
    digits, exponent = _digits(value, format_.digits)
    point = len(digits) + exponent
    if exponent >= 0:
        is_long = exponent > _PADDING or point > format_.digits
        plain = digits + "0" * exponent
    elif point > 0:
        is_long = False
        plain = f"{digits[:point]}.{digits[point:]}"
    else:
        is_long = 1 - point > _PADDING
        plain = f"0.{'0' * -point}{digits}"
    return _scientific(digits, exponent, "E", 1) if is_long else plain


def quote(text: str) -> str:
    r"""MLIR string literal: printable ASCII, a backslash doubled, the rest in hex.

    >>> print(quote('a"b\n'))
    "a\22b\0A"
    """
    if _PLAIN.fullmatch(text):
        return f'"{text}"'
    raw = text.encode("utf-8", "surrogateescape")
    return f'"{"".join(map(_ESCAPED.__getitem__, raw))}"'


def is_bare(name: str) -> bool:
    """Whether a name needs no quotes."""
    return _BARE.fullmatch(name) is not None


_PLAIN = re.compile(r"[ !#-\[\]-~]*")
_BARE = re.compile(r"[A-Za-z_][\w$.]*", re.ASCII)
_ESCAPED = tuple(
    c if _PLAIN.fullmatch(c := chr(byte)) else "\\\\" if c == "\\" else f"\\{byte:02X}"
    for byte in range(256)
)


Scalar = int | float | str | complex

_CODES = {1: "B", 2: "H", 4: "I", 8: "Q"}
_FLOATS = {"f16": "e", "f32": "f", "f64": "d"}
_INDEX_WIDTH = 64


def part_type(element: Type) -> Type:
    """The type of a complex number's parts, or the type itself."""
    return element.element if isinstance(element, ComplexType) else element


def width(part: Type) -> int:
    """Bits of a number; 0 for types without a byte representation."""
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
    """Bytes of one element; 0 for types without a byte representation."""
    parts = 2 if isinstance(element, ComplexType) else 1
    part = part_type(element)
    is_number = isinstance(part, IntegerType | IndexType | FloatType)
    return parts * max(1, (width(part) + 7) // 8) if is_number else 0


# -- to bytes --------------------------------------------------------------------------


def pack(values: Sequence[Scalar], element: Type) -> bytes:
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
    """The bit pattern of one number."""
    if isinstance(part, FloatType):
        return to_bits(float(value), part.name)
    return int(value) & ((1 << width(part)) - 1)


def join(codes: Sequence[int], part: Type) -> bytes:
    """Concatenate the bytes of bit patterns."""
    size = element_size(part)
    if size in _CODES:
        return struct.pack(f"<{len(codes)}{_CODES[size]}", *codes)
    return b"".join(code.to_bytes(size, "little") for code in codes)


# -- from bytes ------------------------------------------------------------------------


def unpack(data: bytes, element: Type) -> tuple[Scalar, ...]:
    """The numbers encoded in bytes."""
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
    """The bit patterns encoded in bytes."""
    size = element_size(part)
    if size in _CODES:
        return struct.unpack(f"<{len(data) // size}{_CODES[size]}", data)
    pieces = (data[i : i + size] for i in range(0, len(data), size))
    return [int.from_bytes(piece, "little") for piece in pieces]


def number_of(code: int, part: Type) -> int | float:
    """The number that bits encode; signless integers are signed, except i1."""
    if isinstance(part, FloatType):
        return of_bits(code & ((1 << width(part)) - 1), part.name)
    signedness = part.signedness if isinstance(part, IntegerType) else ""
    if part == IntegerType(1) and not signedness:
        return int(code != 0)
    return wrapped(code, width(part), signedness)


def wrapped(value: int, bits: int, signedness: str = "") -> int:
    """An integer wrapped to the range of its type.

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
