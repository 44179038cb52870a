"""Numbers and strings as MLIR writes them."""

from __future__ import annotations

import math
import re
from decimal import ROUND_HALF_UP, Context, Decimal
from fractions import Fraction

from gpucodegen.ir.float_formats import FORMATS, FloatFormat, of_bits, to_bits
from gpucodegen.ir.types import FloatType, Type


def print_float(value: float, ty: Type, bits: int | None = None) -> str:
    """The shortest of MLIR's spellings that reads back as the same number.

    Six digits in scientific notation if they suffice, else all digits, else the bits;
    ``bits`` are given for values that a Python float cannot hold.

    >>> print(print_float(1.5, FloatType("f32")), print_float(0.1, FloatType("f16")))
    1.500000e+00 9.997550e-02
    """
    name = ty.name if isinstance(ty, FloatType) else "f64"
    code = to_bits(value, name) if bits is None else bits
    shown = of_bits(code, name) if bits is None else value
    if math.isfinite(shown):
        short = f"{shown:.5e}"
        if bits is None and of_bits(_nearest(short, name), name) == shown:
            return short.replace("e", "0e")
        exact = FORMATS[name].exact(code)
        full = "" if exact is None else _all_digits(exact, FORMATS[name])
        if "." in full:
            return full
    return f"0x{code:0{(FORMATS[name].width + 3) // 4}X}"


def _nearest(text: str, name: str) -> int:
    is_native = name in ("f64", "f32", "f16")
    return to_bits(float(text) if is_native else Fraction(text), name)


def _all_digits(value: Fraction, format_: FloatFormat) -> str:
    """As many digits as tell the format's values apart, without trailing zeros."""
    context = Context(format_.digits, ROUND_HALF_UP, Emin=-99999, Emax=99999)
    quotient = context.divide(Decimal(value.numerator), Decimal(value.denominator))
    sign, digits, last = quotient.normalize(context).as_tuple()
    text, exponent = "".join(map(str, digits)), int(last)
    point = len(text) + exponent
    minus = "-" if sign else ""
    if exponent >= 0 and (exponent > _PADDING or point > format_.digits):
        return f"{minus}{text[0]}.{text[1:] or '0'}E+{point - 1}"
    if exponent >= 0:
        return f"{minus}{text}{'0' * exponent}"
    if point > 0:
        return f"{minus}{text[:point]}.{text[point:]}"
    if 1 - point > _PADDING:
        return f"{minus}{text[0]}.{text[1:] or '0'}E{point - 1}"
    return f"{minus}0.{'0' * -point}{text}"


_PADDING = 3
"""Zeros that are written out before or after the digits."""


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
