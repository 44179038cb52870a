"""Pieces of Python expressions that know how tightly they bind.

A piece is put in parentheses only where its place binds tighter than it does.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum


class Level(IntEnum):
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

    >>> half = Text("a + b", Level.SUM)
    >>> f"{half.within(Level.PRODUCT)} * 2"
    '(a + b) * 2'
    """

    code: str
    level: Level = Level.ATOM

    def within(self, level: int) -> str:
        """The code as an operand of an operator of ``level``."""
        return self.code if self.level >= level else f"({self.code})"

    def __str__(self) -> str:
        return self.code


def number(value: float) -> Text:
    """An integer or finite float literal.

    >>> number(-3).within(Level.PRODUCT), number(-3).within(Level.ATOM)
    ('-3', '(-3)')
    """
    return Text(repr(value), Level.UNARY if value < 0 else Level.ATOM)


def binary(lhs: Text, operator: str, rhs: Text, level: Level) -> Text:
    """``lhs operator rhs``, grouped to the left."""
    left, right = lhs.within(level), rhs.within(level + 1)
    return Text(f"{left} {operator} {right}", level)


def call(function: str, *arguments: Text | str) -> Text:
    """``function(arguments)``.

    >>> print(call("min", Text("n - 1", Level.SUM), "m"))
    min(n - 1, m)
    """
    return Text(f"{function}({', '.join(map(str, arguments))})")
