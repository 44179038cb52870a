"""Python expressions with operator precedence; affine expressions and sets as text.

Parentheses are printed only where an operand binds less tightly than its operator.
Dimension ``d`` of an affine expression stands for the ``d``-th name of a list; symbols
do not occur, since maps are composed with their operands first. Constraints move
negative terms to the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum

from gpucodegen.ir.affine import AffineExpr, Binary, Const, Constraint, Dim, linear_form
from gpucodegen.records import dataclass


class Precedence(IntEnum):
    """Python's operator precedences, loosest first."""

    TERNARY = 1
    OR = 2
    AND = 3
    NOT = 4
    COMPARE = 5
    BIT_OR = 6
    BIT_XOR = 7
    BIT_AND = 8
    SHIFT = 9
    SUM = 10
    PRODUCT = 11
    UNARY = 12
    ATOM = 13


@dataclass(frozen=True, slots=True)
class Text:
    """A Python expression and the level of its outermost operator.

    >>> half = Text("a + b", Precedence.SUM)
    >>> f"{half.within(Precedence.PRODUCT)} * 2"
    '(a + b) * 2'
    """

    code: str
    level: Precedence = Precedence.ATOM

    def within(self, level: int) -> str:
        """The code as an operand of an operator of ``level``."""
        return self.code if self.level >= level else f"({self.code})"

    def __str__(self) -> str:
        return self.code


def number(value: float) -> Text:
    return Text(repr(value), Precedence.UNARY if value < 0 else Precedence.ATOM)


def binary(lhs: Text, operator: str, rhs: Text, level: Precedence) -> Text:
    """``lhs operator rhs``, grouped to the left."""
    left, right = lhs.within(level), rhs.within(level + 1)
    return Text(f"{left} {operator} {right}", level)


def call(function: str, *arguments: Text | str) -> Text:
    """``function(arguments)``.

    >>> print(call("min", Text("n - 1", Precedence.SUM), "m"))
    min(n - 1, m)
    """
    return Text(f"{function}({', '.join(map(str, arguments))})")


Printer = Callable[[AffineExpr], Text]


def condition_text(constraints: Sequence[Constraint], text: Printer) -> Text:
    """All constraints joined by ``and``.

    >>> from gpucodegen.ir.affine import Dim
    >>> from gpucodegen.emit.expressions import affine_text
    >>> inside = Constraint(Dim(1) - Dim(0) - 1, equality=False)
    >>> print(condition_text([inside], lambda e: affine_text(e, ["i", "n"])))
    i < n
    """
    if not constraints:
        return Text("True")
    if len(constraints) == 1:
        return _constraint(constraints[0], text)
    parts = [_constraint(c, text).within(Precedence.AND + 1) for c in constraints]
    return Text(" and ".join(parts), Precedence.AND)


def _constraint(constraint: Constraint, text: Printer) -> Text:
    """``positive + constant >= negative`` or its equality."""
    terms, constant = linear_form(constraint.expr)
    positive, negative = _sum_of_terms(terms, 1), _sum_of_terms(terms, -1)
    if constraint.equality:
        return _compare(text(positive + constant), "==", text(negative))
    if positive == Const(0):
        return _compare(text(negative), "<", text(Const(constant + 1)))
    if negative == Const(0):
        return _compare(text(positive), ">=", text(Const(-constant)))
    if constant < 0:
        return _compare(text(negative + (-constant - 1)), "<", text(positive))
    return _compare(text(negative), "<=", text(positive + constant))


def _sum_of_terms(terms: dict[AffineExpr, int], sign: int) -> AffineExpr:
    total: AffineExpr = Const(0)
    for term, factor in terms.items():
        if factor * sign > 0:
            total = total + term * (factor * sign)
    return total


def _compare(lhs: Text, symbol: str, rhs: Text) -> Text:
    level = Precedence.COMPARE + 1
    return Text(f"{lhs.within(level)} {symbol} {rhs.within(level)}", Precedence.COMPARE)


Divide = Callable[[Text, Text], Text]


@dataclass(frozen=True, slots=True)
class Division:
    """Spelling of division on a target: general, and by powers of two."""

    floordiv: Divide
    mod: Divide
    shifts: bool

    def quotient(self, lhs: Text, rhs: AffineExpr, divisor: Text) -> Text:
        """``lhs floordiv rhs``."""
        if self.shifts and (shift := _power_of_two(rhs)) is not None:
            return Text(f"{_narrow(lhs)} >> {shift}", Precedence.SHIFT)
        return self.floordiv(lhs, divisor)

    def remainder(self, lhs: Text, rhs: AffineExpr, divisor: Text) -> Text:
        """``lhs mod rhs``."""
        if self.shifts and (shift := _power_of_two(rhs)) is not None:
            mask = (1 << shift) - 1
            return Text(f"{lhs.within(Precedence.ATOM)} & {mask}", Precedence.BIT_AND)
        return self.mod(lhs, divisor)


PLAIN = Division(
    floordiv=lambda a, b: binary(a, "//", b, Precedence.PRODUCT),
    mod=lambda a, b: binary(a, "%", b, Precedence.PRODUCT),
    shifts=False,
)
"""Python's floor division, which equals MLIR's."""

NARROW_DIVISION = Division(
    floordiv=lambda a, b: call("floordiv", a, b),
    mod=lambda a, b: call("floormod", a, b),
    shifts=True,
)
"""32-bit division on the GPU; Numba's own uses 64 bits."""

HELPERS = ("floordiv", "floormod", "int32")
"""Intrinsics that affine expressions may call."""


def _narrow(text: Text) -> Text:
    return text if text.code.isidentifier() else call("int32", text)


def _power_of_two(expr: AffineExpr) -> int | None:
    match expr:
        case Const(value) if value > 0 and value & (value - 1) == 0:
            return value.bit_length() - 1
        case _:
            return None


def affine_text(
    expr: AffineExpr, names: Sequence[str], division: Division = PLAIN
) -> Text:
    """Python text of an expression over ``names``.

    >>> print(affine_text((Dim(0) + 1) % 16 - Dim(1) * 2 - 3, ["i", "j"]))
    (i + 1) % 16 - j * 2 - 3
    """

    def text(node: AffineExpr) -> Text:
        return affine_text(node, names, division)

    match expr:
        case Const(value):
            return number(value)
        case Dim(position):
            return Text(names[position])
        case Binary("mod", lhs, rhs):
            return division.remainder(text(lhs), rhs, text(rhs))
        case Binary("floordiv", lhs, rhs):
            return division.quotient(text(lhs), rhs, text(rhs))
        case Binary("ceildiv", lhs, rhs):
            # ceil(a / b) = -floor(-a / b)
            negative = division.quotient(text(-lhs), rhs, text(rhs))
            return Text(f"-{negative.within(Precedence.UNARY)}", Precedence.UNARY)
        case Binary("*", lhs, rhs) if not isinstance(rhs, Const):
            return binary(text(lhs), "*", text(rhs), Precedence.PRODUCT)
        case _:
            return _sum(expr, text)


def _sum(expr: AffineExpr, text: Callable[[AffineExpr], Text]) -> Text:
    """Positive terms first, then negative ones, then the constant.

    A positive constant goes first if no other term is positive.
    """
    terms, constant = linear_form(expr)
    ordered = sorted(terms.items(), key=lambda item: item[1] < 0)
    parts = [(factor < 0, _scaled(text(term), abs(factor))) for term, factor in ordered]
    if constant or not parts:
        leads = constant > 0 and all(negative for negative, _ in parts)
        place = 0 if leads else len(parts)
        parts.insert(place, (constant < 0, number(abs(constant))))
    negative, first = parts[0]
    result = first
    if negative:
        result = Text(f"-{first.within(Precedence.UNARY)}", Precedence.UNARY)
    for negative, part in parts[1:]:
        result = binary(result, "-" if negative else "+", part, Precedence.SUM)
    return result


def _scaled(term: Text, factor: int) -> Text:
    return (
        term if factor == 1 else binary(term, "*", number(factor), Precedence.PRODUCT)
    )


def extreme(function: str, bounds: Sequence[Text]) -> Text:
    """The single bound, or ``min(...)`` / ``max(...)`` of several."""
    return bounds[0] if len(bounds) == 1 else call(function, *bounds)
