"""Number literals and their types."""

from __future__ import annotations

import math
from fractions import Fraction

from gpucodegen import errors
from gpucodegen.ir.attributes import Attribute, FloatAttr, IntegerAttr
from gpucodegen.ir.data.float_formats import FORMATS, FloatFormat, of_bits, to_bits
from gpucodegen.ir.data.packing import wrapped
from gpucodegen.ir.types import F64, I1, I64, FloatType, IndexType, IntegerType, Type
from gpucodegen.parser.parser import Parser


def parse_number(p: Parser, ty: Type | None = None) -> Attribute:
    """``-1.5 : f32``, ``42``, ``0x7F800000 : f32``; ``ty`` if none is written."""
    start = p.start
    negative = p.accept("-")
    token = p.token
    if not token[:1].isdigit():
        raise p.unexpected("a number")
    p.advance()
    if p.token == ":":
        p.advance()
        ty = p.type()
    if ty is None:
        ty = F64 if "." in token else I64
    if isinstance(ty, FloatType):
        return float_attribute(float_bits(p, token, ty, start, negative=negative), ty)
    return IntegerAttr(int(literal_value(p, token, ty, start, negative=negative)), ty)


def float_attribute(bits: int, ty: FloatType) -> FloatAttr:
    """The constant with these bits."""
    value = of_bits(bits, ty.name)
    is_exact = to_bits(value, ty.name) == bits
    return FloatAttr(value, ty, None if is_exact else bits)


def parse_scalar(p: Parser, ty: Type) -> int | float:
    """The bare value of a literal at a known scalar type."""
    start = p.start
    if p.token in ("true", "false"):
        if ty != I1:
            raise _wrong_kind(p, p.token, ty, start)
        return int(p.advance() == "true")
    negative = p.accept("-")
    token = p.token
    if not token[:1].isdigit():
        raise p.unexpected(f"a literal of type {ty}")
    p.advance()
    return literal_value(p, token, ty, start, negative=negative)


def literal_value(
    p: Parser, token: str, ty: Type, start: int, *, negative: bool = False
) -> int | float:
    """Value of a number token at a type, once it fits."""
    if isinstance(ty, FloatType):
        return of_bits(float_bits(p, token, ty, start, negative=negative), ty.name)
    if not isinstance(ty, IntegerType | IndexType):
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=token, type=ty, example="a number of that type"
        )
    if "." in token:
        raise _wrong_kind(p, token, ty, start)
    value = -p.to_int(token) if negative else p.to_int(token)
    return _in_range(p, value, ty, start)


def _wrong_kind(p: Parser, token: str, ty: Type, start: int) -> errors.ParseError:
    example = "1.0" if isinstance(ty, FloatType) else "1"
    return errors.LiteralTypeMismatch(
        p.location(start), literal=token, type=ty, example=example
    )


def _in_range(p: Parser, value: int, ty: IntegerType | IndexType, start: int) -> int:
    """The value as its type holds it: without a sign of its own, ``255 : i8`` is -1."""
    if isinstance(ty, IndexType):
        width, signedness = 64, "s"
    else:
        width, signedness = ty.width, ty.signedness
    half = 1 << width >> 1
    low = 0 if signedness == "u" else -half
    high = half - 1 if signedness == "s" else (1 << width) - 1
    if not low <= value <= high:
        raise errors.LiteralOutOfRange(p.location(start), literal=value, type=ty)
    return value & 1 if ty == I1 else wrapped(value, width, signedness)


def float_bits(
    p: Parser, token: str, ty: FloatType, start: int, *, negative: bool
) -> int:
    """The bits of a float literal."""
    if token.startswith("0x"):
        if negative:
            raise _wrong_kind(p, f"-{token}", ty, start)
        return _written_bits(p, token, ty, start)
    if "." not in token:
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=token, type=ty, example=f"{token}.0"
        )
    if negative and not FORMATS[ty.name].is_signed:
        raise errors.LiteralOutOfRange(p.location(start), literal=f"-{token}", type=ty)
    value = _exact(token, ty)
    return to_bits(-value if negative else value, ty.name)


def _exact(token: str, ty: FloatType) -> float | Fraction:
    """A decimal number, unrounded where rounding it twice could differ."""
    value = float(token)
    if ty == F64 or _is_safe(value, FORMATS[ty.name]) or not token.strip("0."):
        return value
    exponent = token.lower().partition("e")[2]
    is_sane = len(exponent) < _EXPONENT_DIGITS and len(token) < _EXACT_DIGITS
    return Fraction(token) or value if is_sane else value


def _is_safe(value: float, format_: FloatFormat) -> bool:
    """Whether the float is no halfway point of the format, nor at its ends."""
    dropped = FORMATS["f64"].fraction - format_.fraction
    tail = to_bits(value, "f64") & ((1 << max(dropped, 0)) - 1)
    is_halfway = dropped < 1 or tail == 1 << (dropped - 1)
    return not is_halfway and 2.0**format_.low <= abs(value) < math.inf


_EXPONENT_DIGITS = 6
_EXACT_DIGITS = 200


def _written_bits(p: Parser, token: str, ty: FloatType, start: int) -> int:
    bits = p.to_int(token)
    if bits >> FORMATS[ty.name].width:
        raise errors.LiteralOutOfRange(p.location(start), literal=token, type=ty)
    return bits
