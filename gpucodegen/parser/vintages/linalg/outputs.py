"""Outputs for tensor results that the text of 2020 left to the operation."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects.framework.syntax import State
from gpucodegen.ir.affine.expressions import AffineExpr, Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, MemRefType, TensorType, Type
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.vintages import literals


def add_outputs(
    p: Parser, state: State, maps: Sequence[AffineMap], inputs: int
) -> None:
    """Append an empty tensor per result that no operand stands for.

    ``maps`` are those of the inputs and of all outputs.
    """
    given = len(state.operands) - inputs
    for ty, map_ in zip(
        state.result_types[-(len(maps) - inputs - given) :],
        maps[inputs + given :],
        strict=False,
    ):
        state.operands.append(_empty(p, state, ty, map_, maps[:inputs]))


def _empty(
    p: Parser, state: State, ty: Type, map_: AffineMap, maps: Sequence[AffineMap]
) -> Value:
    shape = ty.shape if isinstance(ty, TensorType) else ()
    sizes = [
        _size(p, state, expr, maps)
        for expr, extent in zip(map_.results, shape, strict=False)
        if extent is None
    ]
    location = p.location(state.start)
    result = Value(ty, "", location)
    p.emit(Operation("tensor.empty", tuple(sizes), (result,), location=location))
    return result


def _size(
    p: Parser, state: State, expr: AffineExpr, maps: Sequence[AffineMap]
) -> Value:
    """Extent of a loop, by the first input that it indexes alone."""
    for map_, value in zip(maps, state.operands, strict=False):
        if isinstance(expr, Dim) and expr in map_.results:
            return _dim(p, state, value, map_.results.index(expr))
    raise errors.OldSyntax(
        p.location(state.start),
        text=f"{state.name} with a result of unknown extent",
        hint="Write outs(%value : type) after the inputs",
    )


def _dim(p: Parser, state: State, value: Value, axis: int) -> Value:
    name = "memref.dim" if isinstance(value.type, MemRefType) else "tensor.dim"
    position = literals.constant(p, axis, INDEX, state.start)
    location = p.location(state.start)
    result = Value(INDEX, "", location)
    p.emit(Operation(name, (value, position), (result,), location=location))
    return result
