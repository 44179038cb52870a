"""Translates Python expressions to scalar operations.

Input: the text of an expression. Output: its names, and a value in a function's text
once the elements of the names are known. Syntax outside of the grammar is refused by
its name.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.errors import did_you_mean
from gpucodegen.kernels.elements import BOOL, I64, U64, Element, element_of
from gpucodegen.kernels.elementwise.functions import (
    CALLS,
    COMPARISONS,
    OPERATORS,
    Call,
)
from gpucodegen.kernels.scalar_text import Scalars, Value
from gpucodegen.records import dataclass

CONSTANTS = {"pi": float(np.pi), "e": float(np.e), "inf": np.inf, "nan": np.nan}
"""Names that need no operand."""
MOST_POWER = 16
"""Largest exponent that is computed by multiplications."""
Example = Any
"""An empty array, or a Python number, for NumPy's type promotion."""


@dataclass(frozen=True, slots=True)
class Typed:
    """A value and an example of its NumPy type; a constant has no value yet."""

    value: Value | None
    example: Example
    is_wide: bool = False
    """Whether it is an integer of Python that the other operand may not hold."""


@lru_cache(1024)
def parsed(expression: str) -> ast.expr:
    """The syntax tree of an expression.

    Raises InvalidOption.

    >>> ast.unparse(parsed("a*x+y"))
    'a * x + y'
    """
    try:
        tree = ast.parse(expression.strip(), mode="eval").body
    except (SyntaxError, ValueError) as problem:
        raise _refused(expression, f"{problem}") from None
    for node in ast.walk(tree):
        _require_known(node, expression)
    return tree


@lru_cache(1024)
def names_of(expression: str) -> tuple[str, ...]:
    """The operands, in order of first occurrence.

    >>> names_of("where(x > 0, x, a * x) + pi")
    ('x', 'a')
    """
    tree = parsed(expression)
    functions = {id(n.func) for n in ast.walk(tree) if isinstance(n, ast.Call)}
    found = [n for n in ast.walk(tree) if isinstance(n, ast.Name)]
    found.sort(key=lambda n: (n.lineno, n.col_offset))
    names = (n.id for n in found if id(n) not in functions and n.id not in CONSTANTS)
    return tuple(dict.fromkeys(names))


def _refused(expression: str, reason: str) -> errors.InvalidOption:
    return errors.InvalidOption(name="expression", value=expression, hint=reason)


def _require_known(node: ast.AST, expression: str) -> None:
    """Refuse syntax outside of the grammar."""
    match node:
        case ast.Call(func=ast.Name(id=name), args=_, keywords=[]):
            if name not in CALLS:
                advice = did_you_mean(name, CALLS, f"Functions: {', '.join(CALLS)}")
                raise _refused(expression, f"There is no function {name}. {advice}")
        case ast.BinOp(op=op) | ast.UnaryOp(op=op):
            word = type(op).__name__
            if word not in OPERATORS:
                raise _refused(expression, f"Leave out {word}: {_GRAMMAR}")
        case ast.Compare(ops=ops):
            if len(ops) > 1 or type(ops[0]).__name__ not in COMPARISONS:
                raise _refused(
                    expression, f"Compare two values by an order: {_GRAMMAR}"
                )
        case ast.Constant(value=value):
            if not isinstance(value, int | float | complex):
                raise _refused(expression, f"Leave out {value!r}: {_GRAMMAR}")
        case ast.Name() | ast.operator() | ast.unaryop() | ast.cmpop():
            pass
        case ast.IfExp() | ast.expr_context():
            pass
        case _:
            word = type(node).__name__
            raise _refused(expression, f"Leave out {word}: {_GRAMMAR}")


_GRAMMAR = (
    "an expression has names, numbers, + - * / // % ** & | ^ ~, one comparison at a"
    " time, 'x if c else y', and calls of known functions"
)


@dataclass(slots=True)
class Writer:
    """Translates an expression to lines of text."""

    text: Scalars
    expression: str
    operands: Mapping[str, Typed]

    def value(self, node: ast.expr) -> Typed:
        match node:
            case ast.Name(id=name):
                return self.operands.get(name) or Typed(None, CONSTANTS[name])
            case ast.Constant(value=number):
                return Typed(None, number)
            case ast.BinOp(
                left=left, op=ast.Pow(), right=ast.Constant(value=int(n))
            ) if 0 < n <= MOST_POWER:
                return self._power(self.value(left), n)
            case ast.BinOp(left=left, op=op, right=right):
                return self._call(OPERATORS[type(op).__name__], left, right)
            case ast.UnaryOp(op=op, operand=operand):
                return self._call(OPERATORS[type(op).__name__], operand)
            case ast.Compare(left=left, ops=[op], comparators=[right]):
                return self._compared(COMPARISONS[type(op).__name__], left, right)
            case ast.IfExp(test=test, body=body, orelse=other):
                return self._call(CALLS["where"], test, body, other)
            case ast.Call(func=ast.Name(id=name), args=arguments):
                return self._call(CALLS[name], *arguments)
            case _:
                raise AssertionError(node)

    def _call(self, call: Call, *arguments: ast.expr) -> Typed:
        given = [self.value(node) for node in arguments]
        example = self._example(call, given)
        if all(each.value is None for each in given):
            return Typed(None, example)
        element = element_of(example.dtype).computed
        if call is OPERATORS["Pow"] and element.kind in "iu":
            self._refuse_negative(given[1])
        values = [self._converted(each, element, call) for each in given]
        return Typed(call.build(self.text, element, *values), example)

    def _refuse_negative(self, exponent: Typed) -> None:
        """Refuse an exponent of an integer that may be negative, as NumPy does."""
        if exponent.value is None:
            may_be, remedy = exponent.example < 0, "Convert the base to floats"
        else:
            may_be = element_of(exponent.example.dtype).kind == "i"
            remedy = "Convert the exponent to an unsigned type, or the base to floats"
        if may_be:
            reason = "NumPy refuses integers to negative integer powers"
            raise _refused(self.expression, f"{remedy}: {reason}")

    def _converted(self, given: Typed, element: Element, call: Call) -> Value:
        if given.value is None:
            return self.text.constant(given.example, element)
        return self.text.cast(given.value, element) if call.converts else given.value

    def _compared(self, call: Call, *sides: ast.expr) -> Typed:
        """A comparison of operands converted to their common type."""
        given = [self.value(node) for node in sides]
        example = self._example(call, given)
        if all(each.value is None for each in given):
            return Typed(None, example)
        common = element_of(self._example(_COMMON, given).dtype).computed
        if common.kind in "iu" and any(_is_wide(each, common) for each in given):
            if common == U64:
                reason = "uint64 is not compared with a negative integer"
                raise _refused(self.expression, f"Convert x to another type: {reason}")
            common = I64
        values = [self._converted(each, common, _COMMON) for each in given]
        return Typed(call.build(self.text, BOOL, *values), example)

    def _power(self, base: Typed, exponent: int) -> Typed:
        """Integer powers as products, by repeated squaring."""
        example = self._example(OPERATORS["Pow"], [base, Typed(None, exponent)])
        if exponent == 2 and _is_bools(base.example):
            example = self._example(CALLS["square"], [base])  # as NumPy does it
        if base.value is None:
            return Typed(None, example)
        square = self.text.cast(base.value, element_of(example.dtype).computed)
        result: Value | None = None
        while exponent:
            if exponent & 1:
                result = square if result is None else self._product(result, square)
            exponent >>= 1
            square = self._product(square, square) if exponent else square
        return Typed(result, example)

    def _product(self, x: Value, y: Value) -> Value:
        return self.text.binary("mul", x, y)

    def _example(self, call: Call, given: list[Typed]) -> Example:
        """NumPy's result for examples, or a refusal with its message."""
        try:
            with np.errstate(all="ignore"):
                found = call.typed(*(each.example for each in given))
        except (TypeError, ValueError, OverflowError) as problem:
            reason = str(problem).partition("\n")[0].rstrip(".")
            raise _refused(self.expression, f"NumPy says: {reason}") from None
        if all(each.value is None for each in given):
            return found.item() if hasattr(found, "item") else found
        return found


def _is_bools(example: Example) -> bool:
    return bool(getattr(example, "dtype", None) == np.dtype(bool))


def _is_wide(given: Typed, element: Element) -> bool:
    """Whether a type may not hold an integer of Python."""
    if given.value is not None or type(given.example) is not int:
        return given.is_wide
    return not holds(element.numpy, given.example)


def holds(dtype: np.dtype[Any], number: int) -> bool:
    """Whether a type of integers has a number.

    >>> holds(np.dtype("u1"), 255), holds(np.dtype("u1"), -1)
    (True, False)
    """
    limits = np.iinfo(dtype)
    return bool(limits.min <= number <= limits.max)


def _common(x: Example, y: Example) -> Example:
    if isinstance(x, np.ndarray) and x.dtype == bool and isinstance(y, bool):
        return x
    return np.where(np.empty(0, bool), x, y)


def _first(_text: Scalars, _element: Element, x: Value, _y: Value) -> Value:
    return x


_COMMON = Call(_common, _first)
