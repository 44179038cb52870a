"""Numbers where today only values may stand: ``store 0 to %m[%i, 3]``."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects.arith import constant_attribute
from gpucodegen.dialects.framework.syntax import Use
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    INDEX,
    FloatType,
    MemRefType,
    TensorType,
    Type,
    element_type,
)
from gpucodegen.parser.attributes import numbers
from gpucodegen.parser.parser import Parser

Written = Use | tuple[str, bool, int]
"""A value, or a literal: its token, whether it is negative, where it starts."""


def written(p: Parser) -> Written:
    """A value or a literal, not yet looked up."""
    if p.token[:1] == "%":
        return p.use()
    start = p.start
    negative = p.accept("-")
    if not p.token[:1].isdigit() and p.token not in ("true", "false"):
        raise p.unexpected("a value or a number")
    return p.advance(), negative, start


def value(p: Parser, operand: Written, ty: Type) -> Value:
    """The value; a literal becomes a constant operation before this one."""
    if isinstance(operand, Use):
        return p.resolve(operand, ty)
    token, negative, start = operand
    return constant(p, _number(p, token, ty, start, negative=negative), ty, start)


def values(p: Parser, operands: list[Written], ty: Type = INDEX) -> list[Value]:
    """Values of one type."""
    return [value(p, operand, ty) for operand in operands]


def _number(p: Parser, token: str, ty: Type, start: int, *, negative: bool) -> float:
    if token in ("true", "false"):
        return int(token == "true")
    if isinstance(element_type(ty), FloatType) and "." not in token:
        return -p.to_int(token) if negative else p.to_int(token)
    return numbers.literal_value(p, token, ty, start, negative=negative)


def check_dimension(p: Parser, name: str, number: Written, ty: Type) -> None:
    """A dimension that is written as a number is one of the rank."""
    if isinstance(number, Use) or not isinstance(ty, MemRefType | TensorType):
        return
    token, negative, start = number
    if negative or not token.isdigit() or int(token) >= len(ty.shape):
        raise errors.OutOfRange(
            p.location(start),
            operation=name,
            what="dimension",
            value=f"{'-' * negative}{token}",
            limit=len(ty.shape),
        )


def constant(p: Parser, number: float, ty: Type, start: int) -> Value:
    """The result of a constant operation put before the one being parsed."""
    location = p.location(start)
    hint = f"c{number}" if ty == INDEX and number >= 0 else "cst"
    result = Value(ty, hint, location)
    attributes = {"value": constant_attribute(number, ty)}
    p.emit(Operation("arith.constant", (), (result,), attributes, location=location))
    return result
