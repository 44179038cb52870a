"""Affine expressions as ``arith`` operations on index values.

Division rounds as MLIR says, also below zero: ``floordiv`` down, ``ceildiv`` up, and
``a mod b = a - floor(a / b) * b``, which lies in ``[0, b)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from gpucodegen.ir.affine import AffineExpr, AffineMap, Binary, Const, Dim, substitute
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import INDEX, Type
from gpucodegen.passes.framework.builder import Builder

_OPERATIONS = {
    "+": "arith.addi",
    "*": "arith.muli",
    "floordiv": "arith.floordivsi",
    "ceildiv": "arith.ceildivsi",
}


def results_of(b: Builder, map_: AffineMap, operands: Sequence[Value]) -> list[Value]:
    """Values of the results of a map at its operands, which may be vectors."""
    symbols = [Dim(map_.num_dims + position) for position in range(map_.num_syms)]
    dims = [Dim(position) for position in range(map_.num_dims)]
    exprs = [substitute(expr, dims, symbols) for expr in map_.results]
    ty = operands[0].type if operands else INDEX
    return [_value(b, expr, operands, ty) for expr in exprs]


def _value(b: Builder, expr: AffineExpr, operands: Sequence[Value], ty: Type) -> Value:
    """The value of an expression; operands stand for themselves."""

    def value(node: AffineExpr) -> Value:
        return _value(b, node, operands, ty)

    match expr:
        case Dim(position):
            return operands[position]
        case Const(number):
            return b.constant(number, ty)
        case Binary("+", lhs, Binary("*", rhs, Const(-1))):
            return index_operation(b, "arith.subi", value(lhs), value(rhs))
        case Binary("*", operand, Const(-1)):
            return index_operation(b, "arith.subi", value(Const(0)), value(operand))
        case Binary("mod", lhs, rhs):
            return _remainder(b, value(lhs), value(rhs))
        case Binary(symbol, lhs, rhs):
            return index_operation(b, _OPERATIONS[symbol], value(lhs), value(rhs))
        case _:
            raise TypeError(expr)


def _remainder(b: Builder, lhs: Value, rhs: Value) -> Value:
    quotient = index_operation(b, "arith.floordivsi", lhs, rhs)
    product = index_operation(b, "arith.muli", quotient, rhs)
    return index_operation(b, "arith.subi", lhs, product)


def extreme(b: Builder, name: str, map_: AffineMap, operands: Sequence[Value]) -> Value:
    """``arith.minsi`` or ``arith.maxsi`` over the results of a map."""
    return reduce(
        lambda lhs, rhs: index_operation(b, name, lhs, rhs),
        results_of(b, map_, operands),
    )


def index_operation(b: Builder, name: str, lhs: Value, rhs: Value) -> Value:
    """A two-operand operation on index values or vectors of them."""
    (result,) = b.add(name, (lhs, rhs), [lhs.type])
    return result
