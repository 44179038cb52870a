"""Translates operators of numbers and arrays, and the truth of numbers."""

from __future__ import annotations

import ast
import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from gpucodegen.python import masks, reductions
from gpucodegen.python.arrays import Lazy, View, cast, mapped
from gpucodegen.python.context import Bound, Context
from gpucodegen.python.elementwise import apply, kinds_of
from gpucodegen.python.masks import Selected
from gpucodegen.python.range_checks import convert
from gpucodegen.python.results import is_tuple
from gpucodegen.python.scalars import Scalar, known

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
    if isinstance(op, ast.cmpop) and not _are_numbers(given):
        return _compared(c, node, op, given)
    if isinstance(op, ast.MatMult):
        if not all(isinstance(v, View | Lazy | Selected) for v in given):
            raise c.wrong(node, "`@`", given, "Multiply numbers with `*`")
        given = [masks.settled(c.b, v) for v in given]
        with c.operands(node, "`@`", given):
            return reductions.product(c.b, given[0], given[1])
    if isinstance(op, ast.Add) and all(map(is_tuple, given)):
        return given[0] + given[1]
    if isinstance(op, ast.Mult) and any(map(is_tuple, given)):
        parts, count = given if is_tuple(given[0]) else given[::-1]
        if isinstance(count, Scalar) and count.value is None and count.kind is int:
            return parts * count.constant
    if type(op) not in OPERATORS:
        raise c.refuse(node, what, HINT)
    if not all(isinstance(v, Scalar | View | Lazy | Selected) for v in given):
        raise c.wrong(node, what, given, "Use numbers and arrays")
    ufunc = OPERATORS[type(op)]
    if ufunc is np.power:
        ufunc, given = _power(c, given)
    return elementwise(c, node, ufunc, given, what)


def _are_numbers(values: Sequence[Bound]) -> bool:
    return all(isinstance(v, Scalar | View | Lazy | Selected) for v in values)


def _compared(c: Context, node: ast.AST, op: ast.cmpop, values: list[Bound]) -> Bound:
    """A comparison of None, dtypes, texts or tuples, most of which are known."""
    one, other = values
    if isinstance(op, ast.Is | ast.IsNot) and None in values[:2]:
        return known((one is other) is isinstance(op, ast.Is))
    if isinstance(op, ast.Eq | ast.NotEq) and is_tuple(one) and is_tuple(other):
        found = known(len(one) == len(other))
        if found.constant:
            pairs = zip(one, other, strict=True)
            for pair in pairs:
                equal = combined(c, node, ast.Eq(), list(pair))
                found = apply(c.b, np.logical_and, [found, truth(c, node, equal)])
        return found if isinstance(op, ast.Eq) else apply(c.b, np.logical_not, [found])
    if isinstance(op, ast.In | ast.NotIn) and is_tuple(other):
        found = known(False)
        for part in other:
            equal = combined(c, node, ast.Eq(), [one, part])
            found = apply(c.b, np.logical_or, [found, truth(c, node, equal)])
        return found if isinstance(op, ast.In) else apply(c.b, np.logical_not, [found])
    if type(op) in _OF_OBJECTS and not any(
        isinstance(v, View | Lazy | Selected) or is_tuple(v) for v in values
    ):
        made = _OF_OBJECTS[type(op)](*values)
        return known(bool(made))
    raise c.wrong(node, f"`{type(op).__name__}`", values, "Use numbers and arrays")


def _is_in(part: Any, whole: Any) -> bool:
    return part in whole


def _is_not_in(part: Any, whole: Any) -> bool:
    return part not in whole


_OF_OBJECTS: dict[type[ast.AST], Any] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: _is_in,
    ast.NotIn: _is_not_in,
}


def elementwise(
    c: Context, node: ast.AST, ufunc: np.ufunc, values: list[Bound], what: str
) -> Bound:
    """A function of numbers, or of each element of arrays."""
    with c.operands(node, what, values):
        if any(isinstance(v, Selected) for v in values):
            made = masks.applied(ufunc, values)
            if made is not None:
                return made
            values = [masks.settled(c.b, v) for v in values]
        if all(isinstance(v, Scalar) for v in values):
            return apply(c.b, ufunc, values)
        reductions.check_exponents(c.b, ufunc, values)
        return mapped(ufunc, values)


def _power(c: Context, values: list[Any]) -> tuple[np.ufunc, list[Any]]:
    """``**`` with a constant exponent.

    A Python integer to a negative power is a float. NumPy computes an array to the
    power of 0.5 as a root, and bools to the power of 2 as squares, which are int8.
    """
    base, exponent = values
    if not isinstance(exponent, Scalar) or exponent.value is not None:
        return np.power, values
    is_array = isinstance(base, View | Lazy)
    if is_array and base.dtype.kind == "b" and exponent == known(2):
        return np.square, [base]
    if is_array and exponent.constant == 0.5:
        kind = kinds_of(np.power, [base.dtype, exponent.kind])[1]
        return np.sqrt, [cast(base, kind)]
    kinds = [v.kind for v in values if isinstance(v, Scalar)]
    is_integer = len(kinds) == 2 and all(k in (int, bool) for k in kinds)
    if is_integer and exponent.constant < 0:
        return np.power, [convert(c.b, v, float) for v in values]
    return np.power, values


def truth(c: Context, node: ast.AST, value: Bound) -> Scalar:
    """Whether a number is true."""
    if value is None or is_tuple(value) or isinstance(value, str):
        return known(bool(value))
    if not isinstance(value, Scalar):
        hint = "Ask numpy.any or numpy.all of an array"
        raise c.wrong(node, "a condition", [value], hint)
    return convert(c.b, value, bool)
