"""Evaluation of the isl text of a `Scop` on integers and NumPy arrays.

Index expressions and constraints become Python expressions by Python's own parser:
``floor(a/n)`` is ``a // n`` and ``a mod n`` is ``a % n``, which round down in both
languages, and ``a = b`` is ``a == b``.  Accepted are sums, products with an integer,
``floor``, ``mod``, ``min`` and ``max``, and one comparison per constraint.  Where the
precedence of ``mod`` or ``/`` would matter, parentheses are required; whatever else
occurs raises `UndecidedError`.

Arrays have elements of 64 bits.  Variables must be smaller than `LARGEST`; text whose
value might then not fit is refused.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from itertools import product
from math import gcd, lcm
from types import CodeType
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from gpucodegen.records import dataclass

Integers: TypeAlias = NDArray[np.int64]
Environment: TypeAlias = Mapping[str, int | Integers]

LARGEST = 1 << 31
"""Bound of the magnitude of a variable."""
_FITS = 1 << 62


class UndecidedError(Exception):
    """A text or kernel that enumeration does not decide."""


@dataclass(frozen=True, slots=True)
class Formula:
    """An expression whose parts over some fixed variables are computed separately.

    ``parts``: these maximal parts, by the names that stand for them in ``code``;
    ``variables``: the other variables.
    """

    code: CodeType
    parts: tuple[tuple[str, CodeType], ...]
    variables: frozenset[str]

    def value(self, values: Environment) -> Any:
        """The value where ``values`` has the variables and the parts.

        >>> formula("4*(k mod 2) + t", frozenset({"k"})).parts[0][0]
        '4 * (k % 2)'
        """
        return evaluated(self.code, values)


@lru_cache(maxsize=8192)
def formula(
    text: str, fixed: frozenset[str] = frozenset(), *, is_constraint: bool = False
) -> Formula:
    """Read an index, or a constraint, of isl.

    >>> int(formula("floor((i - 3)/4) + (i mod 4)").value({"i": 2}))
    1
    >>> formula("2*i mod 4")
    Traceback (most recent call last):
    gpucodegen.tiling.model.isl_evaluation.UndecidedError: 2*i mod 4
    """
    return formula_of(expression(text, is_constraint=is_constraint), fixed)


def formula_of(node: ast.expr, fixed: frozenset[str] = frozenset()) -> Formula:
    """An expression from `expression`, or one that `Sum.expression` has."""
    parts: dict[str, ast.expr] = {}
    node = _split(node, fixed, parts)
    coded = tuple((name, compiled(part)) for name, part in parts.items())
    return Formula(compiled(node), coded, names(node).difference(parts))


def evaluated(code: CodeType, values: Environment) -> Any:
    return eval(code, _GLOBALS, values)  # noqa: S307 - only what `_Reader` accepts


def compiled(node: ast.expr) -> CodeType:
    """The code of an expression from `expression`."""
    return compile(ast.fix_missing_locations(ast.Expression(node)), "isl", "eval")


@lru_cache(maxsize=8192)
def names(node: ast.expr) -> frozenset[str]:
    """The variables in an expression, which nothing may change later."""
    found, pending = set[str](), list[ast.AST]([node])
    while pending:
        inner = pending.pop()
        if isinstance(inner, ast.Name):
            found.add(inner.id)
        elif isinstance(inner, ast.BinOp):
            pending += inner.left, inner.right
        elif not isinstance(inner, ast.Constant):
            pending += ast.iter_child_nodes(inner)
    return frozenset(found).difference(_FUNCTIONS)


@dataclass(frozen=True, slots=True)
class Residues:
    """An expression for all values of some variables, as far as these matter.

    ``code`` has the variables in ``choices`` in the place of remainders of what is not
    known, each with the number of values; it depends on the other variables that are
    not exact by their remainders of ``period`` alone.
    """

    code: CodeType
    choices: tuple[tuple[str, int], ...]
    period: int

    def values(self, values: Environment) -> list[int]:
        """All values that it may have."""
        if not self.choices:
            return [int(evaluated(self.code, values))]
        names = [name for name, _ in self.choices]
        return [
            int(evaluated(self.code, {**values, **dict(zip(names, each, strict=True))}))
            for each in product(*(range(count) for _, count in self.choices))
        ]


@lru_cache(maxsize=8192)
def residues(
    text: str, exact: frozenset[str], unknown: frozenset[str] = frozenset()
) -> Residues:
    """Read the text of a part of a `Formula`, of whose variables some are ``exact``.

    Of those that are ``unknown`` nothing is known, of the others the remainder of any
    period.

    >>> found = residues("2 * ((N // 16 + k) % 4)", frozenset(), frozenset({"N"}))
    >>> found.values({"k": 0})
    [0, 2, 4, 6]
    >>> residues("2 * ((k + 1) % 4)", frozenset()).period
    4
    """
    choices, periods = list[tuple[str, int]](), [1]

    def read(node: ast.expr) -> ast.expr:
        if names(node) <= exact:
            return node
        match node:
            case ast.BinOp(
                left=left, op=ast.Mod(), right=ast.Constant(value=int() as number)
            ):
                terms = sum_in(left).atoms.values()
                others = [atom for atom in terms if not names(atom) <= exact]
                if all(isinstance(a, ast.Name) for a in others) and names(
                    left
                ).isdisjoint(unknown):
                    periods.append(number)
                    return node
                choices.append((f"choice {len(choices)}", number))
                return ast.Name(choices[-1][0], ast.Load())
            case ast.Name():
                raise UndecidedError(text)
            case _:
                return _with_children(node, read)

    node = read(ast.parse(text, mode="eval").body)
    return Residues(compiled(node), tuple(choices), lcm(*periods))


@dataclass(frozen=True, slots=True)
class Sum:
    """constant + sum of factor * atom; the atoms are no sums, by their Python text."""

    constant: int
    factors: Mapping[str, int]
    atoms: Mapping[str, ast.expr]

    def plus(self, other: Sum, factor: int = 1) -> Sum:
        """The sum of this and a multiple of another one."""
        factors = dict(self.factors)
        for text, value in other.factors.items():
            factors[text] = factors.get(text, 0) + factor * value
        factors = {text: value for text, value in factors.items() if value}
        atoms = {**self.atoms, **other.atoms}
        kept = {text: atoms[text] for text in factors}
        return Sum(self.constant + factor * other.constant, factors, kept)

    @property
    def remainders(self) -> Iterator[tuple[str, ast.expr, int]]:
        """Each atom that is a remainder x % n, with x and n."""
        for text in self.factors:
            match self.atoms[text]:
                case ast.BinOp(
                    left=left, op=ast.Mod(), right=ast.Constant(value=int() as number)
                ):
                    yield text, left, number
                case _:
                    pass

    def modulo(self, number: int) -> frozenset[int]:
        """The remainders that it may have, for any integers in the place of atoms.

        >>> sorted(sum_of("4*(i + 2*j) + 3").modulo(8))
        [3, 7]
        """
        step = gcd(number, *self.factors.values())
        return frozenset((self.constant + n) % number for n in range(0, number, step))

    @property
    def fits(self) -> bool:
        """Whether its value fits for all variables smaller than `LARGEST`."""
        terms = (abs(f) * _magnitude(self.atoms[t]) for t, f in self.factors.items())
        return abs(self.constant) + sum(terms) < _FITS

    def without_remainders(self) -> Sum:
        """The sum with c*x in the place of c*n*(x // n) + c*(x % n).

        >>> sum_of("20*floor(i/4) + 5*(i mod 4) + j").without_remainders().factors
        {'j': 1, 'i': 5}
        """
        for text, dividend, number in self.remainders:
            factor = self.factors[text]
            for quotient in quotients(dividend, number):
                if self.factors.get(quotient) == number * factor:
                    parts = {text: factor, quotient: number * factor}
                    rest = self.plus(Sum(0, parts, {}), -1)
                    return rest.plus(sum_in(dividend), factor).without_remainders()
        return self

    def expression(self, offset: int = 0) -> ast.expr:
        """The sum, and an offset, as an expression.

        >>> ast.unparse(sum_of("4*(i + 2*j) + 3").expression(-1))
        '2 + 4 * i + 8 * j'
        """
        total: ast.expr = ast.Constant(self.constant + offset)
        for text, factor in self.factors.items():
            term = ast.BinOp(ast.Constant(factor), ast.Mult(), self.atoms[text])
            total = ast.BinOp(total, ast.Add(), term)
        return total


@lru_cache(maxsize=8192)
def sum_of(text: str) -> Sum:
    """An index as a sum.

    >>> sum_of("4*(i + 2*j) - (i mod 2) + 3").factors
    {'i': 4, 'j': 8, 'i % 2': -1}
    """
    return sum_in(expression(text))


def quotients(dividend: ast.expr, divisor: int) -> Iterator[str]:
    """Texts of floor(x/n); floor(floor(y/m)/n) is also floor(y/(m*n))."""
    yield ast.unparse(ast.BinOp(dividend, ast.FloorDiv(), ast.Constant(divisor)))
    match dividend:
        case ast.BinOp(
            left=left, op=ast.FloorDiv(), right=ast.Constant(value=int() as inner)
        ):
            yield from quotients(left, inner * divisor)
        case _:
            pass


def sum_in(node: ast.expr) -> Sum:
    """An expression as a sum."""
    constant, factors, atoms = 0, dict[str, int](), dict[str, ast.expr]()
    pending = [(node, 1)]
    while pending:
        node, factor = pending.pop()
        match node:
            case ast.BinOp(left=left, op=ast.Add(), right=right):
                pending += [(right, factor), (left, factor)]
            case ast.BinOp(left=left, op=ast.Sub(), right=right):
                pending += [(right, -factor), (left, factor)]
            case ast.UnaryOp(operand=operand):
                pending.append((operand, -factor))
            case ast.BinOp(left=left, op=ast.Mult(), right=right):
                known, other = (left, right) if _is_number(left) else (right, left)
                pending.append((other, factor * _number(known)))
            case ast.Constant(value=int() as number):
                constant += factor * number
            case _:
                key = ast.unparse(node)
                atoms[key] = node
                factors[key] = factors.get(key, 0) + factor
    return Sum(constant, factors, atoms)


def renamed(node: ast.expr, new: Mapping[str, str]) -> ast.expr:
    """The expression with other names of variables."""
    if isinstance(node, ast.Name):
        return ast.Name(new.get(node.id, node.id), ast.Load())
    return _with_children(node, lambda inner: renamed(inner, new))


@lru_cache(maxsize=8192)
def expression(text: str, *, is_constraint: bool = False) -> ast.expr:
    """isl text as a Python expression."""
    python = re.sub(r"\bmod\b", "%  ", re.sub(r"(?<![<>=!])=(?!=)", "==", text))
    try:
        node = ast.parse(python, mode="eval").body
    except (SyntaxError, ValueError) as error:
        raise UndecidedError(text) from error
    read = _Reader(text, python)
    if is_constraint:
        if not isinstance(node, ast.Compare) or len(node.ops) != 1:
            raise UndecidedError(text)
        if not isinstance(node.ops[0], _COMPARISONS):
            raise UndecidedError(text)
        left, right = read.read(node.left), read.read(node.comparators[0])
        return ast.Compare(left, node.ops, [right])
    return read.read(node)


@dataclass(frozen=True, slots=True)
class _Reader:
    """Checks an expression and copies it, with ``//`` for ``floor``."""

    text: str
    python: str

    def read(self, node: ast.expr) -> ast.expr:
        copied = self._copied(node)
        if _magnitude(copied) >= _FITS:
            raise UndecidedError(self.text)
        return copied

    def _copied(self, node: ast.expr) -> ast.expr:
        match node:
            case ast.Constant(value=int() as number) if not isinstance(number, bool):
                return ast.Constant(number)
            case ast.Name(id=name) if name not in _FUNCTIONS:
                return ast.Name(name, ast.Load())
            case ast.UnaryOp(op=ast.USub(), operand=inner):
                return ast.UnaryOp(ast.USub(), self._copied(inner))
            case ast.BinOp(left=left, op=ast.Add() | ast.Sub() as op, right=right):
                return ast.BinOp(self._copied(left), op, self._copied(right))
            case ast.BinOp(left=left, op=ast.Mult() as op, right=right) if _is_number(
                left
            ) or _is_number(right):
                return ast.BinOp(self._copied(left), op, self._copied(right))
            case ast.BinOp(left=left, op=ast.Mod() as op, right=right) if (
                self._stands_alone(node) and self._is_divided(left, right)
            ):
                return ast.BinOp(self._copied(left), op, self._copied(right))
            case ast.Call(
                func=ast.Name(id="floor"),
                args=[ast.BinOp(left=left, op=ast.Div(), right=right)],
                keywords=[],
            ) if self._is_divided(left, right):
                return ast.BinOp(
                    self._copied(left), ast.FloorDiv(), self._copied(right)
                )
            case ast.Call(
                func=ast.Name(id="min" | "max" as name), args=[_, _, *_], keywords=[]
            ):
                return self._nested(name, node.args)
            case _:
                raise UndecidedError(self.text)

    def _nested(self, name: str, args: list[ast.expr]) -> ast.expr:
        """A minimum or maximum as calls of two arguments."""
        first = self._copied(args[0])
        if len(args) == 1:
            return first
        rest = self._nested(name, args[1:])
        return ast.Call(ast.Name(name, ast.Load()), [first, rest], [])

    def _is_divided(self, left: ast.expr, right: ast.expr) -> bool:
        """Whether a dividend is a factor and its divisor a positive integer."""
        is_factor = isinstance(left, ast.Name | ast.Call)
        before, after = self._around(left)
        is_factor = is_factor or (before == "(" and after == ")")
        is_plain = isinstance(right, ast.Constant) and _is_number(right)
        return is_factor and is_plain and 0 < _number(right) < LARGEST

    def _stands_alone(self, node: ast.expr) -> bool:
        """Whether only parentheses, commas and comparisons are beside an operation."""
        before, after = self._around(node)
        return before in "(,=<>" and after in "),=<>!"

    def _around(self, node: ast.expr) -> tuple[str, str]:
        """The characters before and after, none at the ends of the text."""
        assert node.end_col_offset is not None
        before = self.python[: node.col_offset].rstrip()
        after = self.python[node.end_col_offset :].lstrip()
        return before[-1:], after[:1]


_FUNCTIONS = {"min": np.minimum, "max": np.maximum, "floor": np.floor}
_GLOBALS: dict[str, Any] = {"__builtins__": {}, **_FUNCTIONS}
_COMPARISONS = (ast.Lt, ast.LtE, ast.Gt, ast.GtE, ast.Eq, ast.NotEq)


def _split(
    node: ast.expr, fixed: frozenset[str], parts: dict[str, ast.expr]
) -> ast.expr:
    """The expression with its maximal parts over fixed variables as variables."""
    used = names(node)
    if used and used <= fixed and not isinstance(node, ast.Compare):
        name = ast.unparse(node)
        parts[name] = node
        return ast.Name(name, ast.Load())
    if used.isdisjoint(fixed):
        return node
    return _with_children(node, lambda inner: _split(inner, fixed, parts))


def _with_children(node: ast.expr, change: Callable[[ast.expr], ast.expr]) -> ast.expr:
    match node:
        case ast.BinOp(left=left, op=op, right=right):
            return ast.BinOp(change(left), op, change(right))
        case ast.UnaryOp(op=op, operand=operand):
            return ast.UnaryOp(op, change(operand))
        case ast.Call(func=function, args=args):
            return ast.Call(function, [change(inner) for inner in args], [])
        case ast.Compare(left=left, ops=ops, comparators=[right]):
            return ast.Compare(change(left), ops, [change(right)])
        case _:
            return node


def _is_number(node: ast.expr) -> bool:
    match node:
        case ast.Constant(value=int() as number):
            return not isinstance(number, bool)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return _is_number(inner)
        case _:
            return False


def _number(node: ast.expr) -> int:
    match node:
        case ast.Constant(value=int() as number):
            return number
        case ast.UnaryOp(operand=inner):
            return -_number(inner)
        case _:
            raise AssertionError(ast.dump(node))


@lru_cache(maxsize=8192)
def _magnitude(node: ast.expr) -> int:
    """A bound of the magnitudes of an expression and of its parts."""
    match node:
        case ast.Constant(value=int() as number):
            return abs(number)
        case ast.Name():
            return LARGEST
        case ast.UnaryOp(operand=inner):
            return _magnitude(inner)
        case ast.BinOp(left=left, op=op, right=right):
            sizes = _magnitude(left), _magnitude(right)
            return sizes[0] * sizes[1] if isinstance(op, ast.Mult) else sum(sizes)
        case ast.Call(args=args):
            return max(map(_magnitude, args))
        case _:
            raise AssertionError(ast.dump(node))
