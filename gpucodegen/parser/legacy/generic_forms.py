"""Generic forms of 2018 to 2021, and literals in place of operands.

Examples are ``"constant"(){value: 42} : () -> i32`` and ``store 0 to %m[%i, 3]``.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects.arith import constant_attribute
from gpucodegen.dialects.framework.syntax import State, Use
from gpucodegen.ir.attributes import FloatAttr, IntegerAttr, SymbolRefAttr
from gpucodegen.ir.operation import OPERAND_SEGMENTS, Operation, Value, segment_sizes
from gpucodegen.ir.types import (
    INDEX,
    FloatType,
    FunctionType,
    MemRefType,
    TensorType,
    Type,
    UnrankedTensorType,
    VectorType,
    element_type,
)
from gpucodegen.parser import literals
from gpucodegen.parser.parser import Parser

Written = Use | tuple[str, bool, int]
"""A value, or a literal: its token, whether it is negative, its offset."""


def written(p: Parser) -> Written:
    """Read a value or a literal, not yet resolved."""
    if p.token[:1] == "%":
        return p.use()
    start = p.start
    negative = p.accept("-")
    if not p.token[:1].isdigit() and p.token not in ("true", "false"):
        raise p.unexpected("a value or a number")
    return p.advance(), negative, start


def value(p: Parser, operand: Written, ty: Type) -> Value:
    """The value; a literal becomes a constant before the current operation."""
    if isinstance(operand, Use):
        return p.resolve(operand, ty)
    token, negative, start = operand
    return constant(p, _number(p, token, ty, start, negative=negative), ty, start)


def values(p: Parser, operands: list[Written]) -> list[Value]:
    return [value(p, operand, INDEX) for operand in operands]


def _number(p: Parser, token: str, ty: Type, start: int, *, negative: bool) -> float:
    if token in ("true", "false"):
        return int(token == "true")
    if isinstance(element_type(ty), FloatType) and "." not in token:
        return -p.to_int(token) if negative else p.to_int(token)
    return literals.literal_value(p, token, ty, start, negative=negative)


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
    """The result of a constant emitted before the current operation."""
    location = p.location(start)
    hint = f"c{number}" if ty == INDEX and number >= 0 else "cst"
    result = Value(ty, hint, location)
    attributes = {"value": constant_attribute(number, ty)}
    p.emit(Operation("arith.constant", (), (result,), attributes, location=location))
    return result


Adapter = Callable[[Parser, State], None]


def bare_signature(p: Parser) -> FunctionType:
    """``type -> types`` of one operand, or ``type`` of the only result."""
    ty = p.type()
    if p.token == "->":
        return FunctionType((ty,), tuple(p.arrow_types()))
    return FunctionType((), (ty,))


def function_results(p: Parser, signature: FunctionType) -> Sequence[Type]:
    """``() -> (types) -> type``: one result, which is a function."""
    if p.token != "->":
        return signature.results
    return [FunctionType(signature.results, tuple(p.arrow_types()))]


def _typed_value(_: Parser, state: State) -> None:
    """``"constant"(){value: 42} : () -> i32``: the number takes the result's type."""
    if isinstance(state.attributes.get("value"), SymbolRefAttr):
        state.name = "func.constant"
    number, types = state.attributes.get("value"), state.result_types
    if types and isinstance(number, IntegerAttr | FloatAttr):
        state.attributes["value"] = replace(number, type=types[0])


def _dim_operand(p: Parser, state: State) -> None:
    """``"dim"(%t) {index = 2}``: the attribute becomes an operand."""
    index = state.attributes.pop("index", None)
    if isinstance(index, IntegerAttr):
        state.operands.append(constant(p, index.value, INDEX, state.start))
    is_tensor = isinstance(state.operands[0].type, TensorType | UnrankedTensorType)
    state.name = "tensor.dim" if is_tensor else "memref.dim"


def _alloc_segments(_: Parser, state: State) -> None:
    """Allocations without segment sizes: the dynamic sizes come first."""
    (ty,) = state.result_types
    if isinstance(ty, MemRefType) and OPERAND_SEGMENTS not in state.attributes:
        dynamic = sum(extent is None for extent in ty.shape)
        groups = [state.operands[:dynamic], state.operands[dynamic:]]
        state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


def name_splat(_: Parser, state: State) -> None:
    """``splat`` becomes ``vector.splat`` or ``tensor.splat`` by its type."""
    is_vector = isinstance(state.result_types[0], VectorType)
    state.name = "vector.broadcast" if is_vector else "tensor.splat"


GENERIC: dict[str, Adapter] = {
    "arith.constant": _typed_value,
    "memref.alloc": _alloc_segments,
    "memref.alloca": _alloc_segments,
    "memref.dim": _dim_operand,
    "tensor.splat": name_splat,
}
