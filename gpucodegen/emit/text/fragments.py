"""Pieces of Python expressions that know how tightly they bind.

A piece is put in parentheses only where its place binds tighter than it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


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
    """An integer or finite float literal.

    >>> number(-3).within(Precedence.PRODUCT), number(-3).within(Precedence.ATOM)
    ('-3', '(-3)')
    """
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
