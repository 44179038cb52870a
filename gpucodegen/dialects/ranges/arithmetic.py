"""Ranges of integers: what sums, quotients and affine expressions of them may be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from gpucodegen.ir.affine.expressions import AffineExpr, Binary, Const, Dim, Sym


class Range(NamedTuple):
    """Numbers from ``low`` to ``high``; ``exact`` if nothing was left open on the way.

    >>> Range(0, 7) + Range(1, 2), Range(0, 7).within(Range(0, 9))
    (Range(low=1, high=9, exact=True), True)
    """

    low: int
    high: int
    exact: bool = True

    def within(self, other: Range) -> bool:
        """Whether all numbers are in another range."""
        return other.low <= self.low and self.high <= other.high

    def of(self, numbers: Sequence[int], *others: Range) -> Range:
        """From the least to the largest of some numbers; a word if they leave it."""
        exact = self.exact and all(other.exact for other in others)
        found = Range(min(numbers), max(numbers), exact)
        return found if found.within(WORD) else WORD._replace(exact=exact)

    def __add__(self, other: object) -> Range:  # type: ignore[override]
        assert isinstance(other, Range)
        return self.of([self.low + other.low, self.high + other.high], other)

    def minus(self, other: Range) -> Range:
        """Differences."""
        return self.of([self.low - other.high, self.high - other.low], other)

    def times(self, other: Range) -> Range:
        """Products."""
        return self.of([a * b for a in self[:2] for b in other[:2]], other)

    def divided(self, other: Range, divide: Callable[[int, int], int]) -> Range:
        """Quotients by positive numbers; else anything."""
        if other.low <= 0:
            return WORD._replace(exact=False)
        return self.of([divide(a, b) for a in self[:2] for b in other[:2]], other)

    def rest(self, other: Range) -> Range:
        """Remainders by positive numbers."""
        if other.low <= 0:
            return WORD._replace(exact=False)
        low = 0 if self.low >= 0 else 1 - other.high
        return self.of([low, min(max(self.high, 0), other.high - 1)], other)

    def smaller(self, other: Range) -> Range:
        """Minima."""
        return self.of([min(self.low, other.low), min(self.high, other.high)], other)

    def larger(self, other: Range) -> Range:
        """Maxima."""
        return self.of([max(self.low, other.low), max(self.high, other.high)], other)

    def either(self, other: Range) -> Range:
        """Both."""
        return self.of([*self[:2], *other[:2]], other)


WORD = Range(-(1 << 63), (1 << 63) - 1)
HALF = Range(-(1 << 31), (1 << 31) - 1)
EXTENT = Range(0, HALF.high, exact=False)
OPEN = WORD._replace(exact=False)


def _down(a: int, b: int) -> int:
    return a // b


def _up(a: int, b: int) -> int:
    return -(-a // b)


def _to_zero(a: int, b: int) -> int:
    return a // b if a >= 0 else -(-a // b)


RULES: dict[str, Callable[[Range, Range], Range]] = {
    "arith.addi": lambda a, b: a + b,
    "arith.subi": Range.minus,
    "arith.muli": Range.times,
    "arith.divsi": lambda a, b: a.divided(b, _to_zero),
    "arith.floordivsi": lambda a, b: a.divided(b, _down),
    "arith.ceildivsi": lambda a, b: a.divided(b, _up),
    "arith.remsi": Range.rest,
    "arith.minsi": Range.smaller,
    "arith.maxsi": Range.larger,
}
UNSIGNED = {
    "arith.divui": "arith.floordivsi",
    "arith.ceildivui": "arith.ceildivsi",
    "arith.remui": "arith.remsi",
    "arith.minui": "arith.minsi",
    "arith.maxui": "arith.maxsi",
}
"""The same of natural numbers."""
_IN_EXPRESSIONS = {
    "+": "arith.addi",
    "*": "arith.muli",
    "floordiv": "arith.floordivsi",
    "ceildiv": "arith.ceildivsi",
}


def range_of(expr: AffineExpr, dims: Sequence[Range], syms: Sequence[Range]) -> Range:
    """The values of an affine expression.

    >>> range_of(Dim(0) * 4 + 3, [Range(0, 9)], [])
    Range(low=3, high=39, exact=True)
    """
    match expr:
        case Const(value):
            return Range(value, value)
        case Dim(position):
            return dims[position]
        case Sym(position):
            return syms[position]
        case Binary("mod", lhs, rhs):
            left, right = (range_of(side, dims, syms) for side in (lhs, rhs))
            rest = left.rest(right)
            return rest if left.low >= 0 else rest._replace(low=0)
        case Binary(op, lhs, rhs):
            left, right = (range_of(side, dims, syms) for side in (lhs, rhs))
            return RULES[_IN_EXPRESSIONS[op]](left, right)
        case _:
            return OPEN
