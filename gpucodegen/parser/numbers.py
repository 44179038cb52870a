"""Number literals and their types."""

from __future__ import annotations

import math
import struct
from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.ir.attributes import Attribute, FloatAttr, IntegerAttr
from gpucodegen.ir.types import (
    F64,
    I1,
    I64,
    INDEX,
    FloatType,
    IndexType,
    IntegerType,
    Type,
)

if TYPE_CHECKING:
    from gpucodegen.parser.parser import Parser

_FORMATS = {"f16": ("<H", "<e", 4), "f32": ("<I", "<f", 8), "f64": ("<Q", "<d", 16)}


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
    value = literal_value(p, token, ty, start, negative=negative)
    if isinstance(ty, FloatType):
        return FloatAttr(float(value), ty)
    return IntegerAttr(int(value), ty)


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
        return _float_value(p, token, ty, start, negative=negative)
    if not isinstance(ty, IntegerType | IndexType):
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=token, type=ty, example="a number of that type"
        )
    if "." in token:
        raise _wrong_kind(p, token, ty, start)
    value = -p.to_int(token) if negative else p.to_int(token)
    _check_range(p, value, ty, start)
    return value


def _wrong_kind(p: Parser, token: str, ty: Type, start: int) -> errors.ParseError:
    example = "1.0" if isinstance(ty, FloatType) else "1"
    return errors.LiteralTypeMismatch(
        p.location(start), literal=token, type=ty, example=example
    )


def _check_range(
    p: Parser, value: int, ty: IntegerType | IndexType, start: int
) -> None:
    width = 64 if ty == INDEX or isinstance(ty, IndexType) else ty.width
    signedness = "" if isinstance(ty, IndexType) else ty.signedness
    low = 0 if signedness == "u" else -(1 << (width - 1))
    high = (1 << (width - 1)) - 1 if signedness == "s" else (1 << width) - 1
    if not low <= value <= high:
        raise errors.LiteralOutOfRange(p.location(start), literal=value, type=ty)


def _float_value(
    p: Parser, token: str, ty: FloatType, start: int, *, negative: bool
) -> float:
    if token.startswith("0x"):
        if negative:
            raise _wrong_kind(p, f"-{token}", ty, start)
        return float_of_bits(p, token, ty, start)
    if "." not in token:
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=token, type=ty, example=f"{token}.0"
        )
    value = float(token)
    return rounded(-value if negative else value, ty)


def rounded(value: float, ty: Type) -> float:
    """The nearest value of ``ty``, so that equal constants are equal attributes."""
    name = ty.name if isinstance(ty, FloatType) else "f64"
    if name not in ("f32", "f16", "bf16"):
        return value
    if name == "bf16":
        return _rounded_bf16(value)
    layout = "<e" if name == "f16" else "<f"
    try:
        return struct.unpack(layout, struct.pack(layout, value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def _rounded_bf16(value: float) -> float:
    single = rounded(value, FloatType("f32"))
    if not math.isfinite(single):
        return single
    bits = struct.unpack("<I", struct.pack("<f", single))[0]
    bits += 0x7FFF + ((bits >> 16) & 1)
    return struct.unpack("<f", struct.pack("<I", bits & 0xFFFF0000))[0]


def float_of_bits(p: Parser, token: str, ty: FloatType, start: int) -> float:
    """The float whose bits a hexadecimal literal spells."""
    digits = token[2:]
    if ty.name == "bf16" and len(digits) <= 4:
        return struct.unpack("<f", struct.pack("<I", int(digits, 16) << 16))[0]
    if ty.name not in _FORMATS:
        raise _wrong_kind(p, token, ty, start)
    from_bits, to_float, width = _FORMATS[ty.name]
    if len(digits) > width:
        raise errors.LiteralOutOfRange(p.location(start), literal=token, type=ty)
    return struct.unpack(to_float, struct.pack(from_bits, int(digits, 16)))[0]
