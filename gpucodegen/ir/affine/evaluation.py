"""Affine expressions with integers or other expressions put in for their variables."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Sequence
from typing import assert_never

from gpucodegen.ir.affine.expressions import (
    AffineExpr,
    Binary,
    Const,
    Dim,
    Expr,
    Sym,
    binary,
)


def substitute(
    expr: AffineExpr, dims: Sequence[AffineExpr], syms: Sequence[AffineExpr] = ()
) -> AffineExpr:
    """Replace dimensions and symbols by expressions.

    >>> print(substitute(Dim(0) * 2 + Sym(0), [Dim(1) + 1], [Const(5)]))
    d1 * 2 + 7
    """
    match expr:
        case Dim(position):
            return dims[position]
        case Sym(position):
            return syms[position]
        case Binary(op, lhs, rhs):
            return binary(op, substitute(lhs, dims, syms), substitute(rhs, dims, syms))
        case _:
            return expr


_EVALUATE: dict[str, Callable[[int, int], int]] = {
    "+": operator.add,
    "*": operator.mul,
    "mod": operator.mod,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
}


def evaluate(expr: AffineExpr, dims: Sequence[int], syms: Sequence[int] = ()) -> int:
    """Value of the expression at integer dimensions and symbols."""
    node: Expr = expr  # type: ignore[assignment]
    match node:
        case Dim(position):
            return dims[position]
        case Sym(position):
            return syms[position]
        case Const(value):
            return value
        case Binary(op, lhs, rhs):
            left, right = evaluate(lhs, dims, syms), evaluate(rhs, dims, syms)
            return _EVALUATE[op](left, right)
        case _:
            assert_never(node)


def divisor_of(expr: AffineExpr, divisors: Sequence[int]) -> int:
    """A number that divides an expression whose dimensions have the given divisors.

    >>> divisor_of(Dim(0) * 4 + 8, [1])
    4
    """
    match expr:
        case Const(value):
            return abs(value)
        case Dim(position):
            return divisors[position]
        case Binary("+", lhs, rhs):
            return math.gcd(divisor_of(lhs, divisors), divisor_of(rhs, divisors))
        case Binary("*", lhs, rhs):
            return divisor_of(lhs, divisors) * divisor_of(rhs, divisors)
        case Binary("mod", lhs, rhs):
            return math.gcd(divisor_of(lhs, divisors), divisor_of(rhs, divisors))
        case Binary("floordiv", lhs, Const(value)):
            whole = divisor_of(lhs, divisors)
            return whole // value if value > 0 and whole % value == 0 else 1
        case _:
            return 1
