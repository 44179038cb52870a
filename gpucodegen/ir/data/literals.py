"""Numbers and strings as MLIR writes them."""

from __future__ import annotations

import re
from fractions import Fraction

from gpucodegen.ir.data.float_formats import FORMATS, FloatFormat, to_bits
from gpucodegen.ir.types import FloatType, Type

_SHORT = 6
"""Digits of the short spelling."""

_PADDING = 3
"""Zeros that are written out before or after the digits of the full one."""


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

    The exact decimal is cut to the bits that the digits need, then rounded half up.
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
    """As many digits as tell the format's values apart, written plainly if short."""
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
