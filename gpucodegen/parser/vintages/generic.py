"""Generic forms of 2018 to 2021: ``"constant"(){value: 42} : () -> i32``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpucodegen.dialects.framework.syntax import State
from gpucodegen.ir.attributes import FloatAttr, IntegerAttr, SymbolRefAttr
from gpucodegen.ir.segments import OPERAND_SEGMENTS, segment_sizes
from gpucodegen.ir.types import (
    INDEX,
    FunctionType,
    MemRefType,
    TensorType,
    Type,
    UnrankedTensorType,
    VectorType,
)
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages import literals

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


def _typed_value(p: Parser, state: State) -> None:
    """``"constant"(){value: 42} : () -> i32``: the number takes the result's type."""
    del p
    if isinstance(state.attributes.get("value"), SymbolRefAttr):
        state.name = "func.constant"
    number, types = state.attributes.get("value"), state.result_types
    if types and isinstance(number, IntegerAttr | FloatAttr):
        state.attributes["value"] = replace(number, type=types[0])


def _dim_operand(p: Parser, state: State) -> None:
    """``"dim"(%t) {index = 2}``: the number becomes an operand."""
    index = state.attributes.pop("index", None)
    if isinstance(index, IntegerAttr):
        state.operands.append(literals.constant(p, index.value, INDEX, state.start))
    is_tensor = isinstance(state.operands[0].type, TensorType | UnrankedTensorType)
    state.name = "tensor.dim" if is_tensor else "memref.dim"


def _alloc_segments(p: Parser, state: State) -> None:
    """Allocations without segment sizes: the dynamic sizes come first."""
    del p
    (ty,) = state.result_types
    if isinstance(ty, MemRefType) and OPERAND_SEGMENTS not in state.attributes:
        dynamic = sum(extent is None for extent in ty.shape)
        groups = [state.operands[:dynamic], state.operands[dynamic:]]
        state.attributes[OPERAND_SEGMENTS] = segment_sizes(groups)


def name_splat(p: Parser, state: State) -> None:
    """``splat`` makes a vector or a tensor."""
    del p
    is_vector = isinstance(state.result_types[0], VectorType)
    state.name = "vector.broadcast" if is_vector else "tensor.splat"


GENERIC: dict[str, Adapter] = {
    "arith.constant": _typed_value,
    "memref.alloc": _alloc_segments,
    "memref.alloca": _alloc_segments,
    "memref.dim": _dim_operand,
    "tensor.splat": name_splat,
}
