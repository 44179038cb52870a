"""Operators of numbers and arrays, and the truth of numbers."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen.python.translation.context import Bound, Context
from gpucodegen.python.values import reductions
from gpucodegen.python.values.arrays import Lazy, View, mapped
from gpucodegen.python.values.elementwise import apply
from gpucodegen.python.values.scalars import Scalar, convert

HINT = "Write it with loops, indices, arithmetic and functions of NumPy and math"

OPERATORS: dict[type[ast.AST], np.ufunc] = {
    ast.Add: np.add,
    ast.Sub: np.subtract,
    ast.Mult: np.multiply,
    ast.Div: np.true_divide,
    ast.FloorDiv: np.floor_divide,
    ast.Mod: np.remainder,
    ast.Pow: np.power,
    ast.BitAnd: np.bitwise_and,
    ast.BitOr: np.bitwise_or,
    ast.BitXor: np.bitwise_xor,
    ast.LShift: np.left_shift,
    ast.RShift: np.right_shift,
    ast.USub: np.negative,
    ast.UAdd: np.positive,
    ast.Invert: np.invert,
    ast.Lt: np.less,
    ast.LtE: np.less_equal,
    ast.Gt: np.greater,
    ast.GtE: np.greater_equal,
    ast.Eq: np.equal,
    ast.NotEq: np.not_equal,
}
"""NumPy's function of each operator."""


def combined(c: Context, node: ast.AST, op: ast.AST, values: Sequence[Bound]) -> Bound:
    """An operator of numbers or arrays."""
    what, given = f"`{type(op).__name__}`", list(values)
    if isinstance(op, ast.MatMult):
        if not all(isinstance(v, View | Lazy) for v in given):
            raise c.wrong(node, "`@`", given, "Multiply numbers with `*`")
        with c.operands(node, "`@`", given):
            return reductions.product(c.b, given[0], given[1])
    if type(op) not in OPERATORS:
        raise c.refuse(node, what, HINT)
    if not all(isinstance(v, Scalar | View | Lazy) for v in given):
        raise c.wrong(node, what, given, "Use numbers and arrays")
    return elementwise(c, node, OPERATORS[type(op)], given, what)


def elementwise(
    c: Context, node: ast.AST, ufunc: np.ufunc, values: list[Bound], what: str
) -> Bound:
    """A function of numbers, or of each element of arrays."""
    with c.operands(node, what, values):
        if all(isinstance(v, Scalar) for v in values):
            return apply(c.b, ufunc, _power_operands(c, ufunc, values))
        return mapped(ufunc, values)


def _power_operands(c: Context, ufunc: np.ufunc, values: list[Any]) -> list[Any]:
    """An integer to a negative power is a float in Python."""
    if ufunc is not np.power or any(v.kind is not int for v in values):
        return values
    exponent = values[1]
    if exponent.value is None and exponent.constant < 0:
        return [convert(c.b, v, float) for v in values]
    return values


def truth(c: Context, node: ast.AST, value: Bound) -> Scalar:
    """Whether a number is true."""
    if not isinstance(value, Scalar):
        hint = "Ask numpy.any or numpy.all of an array"
        raise c.wrong(node, "a condition", [value], hint)
    return convert(c.b, value, bool)
