"""Whether one schedule is faster than another, told from rounds of both in turn.

Comes in: seconds of each in the same rounds, so that what slows the machine down for a
while slows down both.  Goes out: a verdict that noise does not give.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence

LEAST_GAIN = 0.03
"""Share of the time that a faster schedule saves, at least."""
LEAST_ROUNDS = 9
"""Fewer rounds prove nothing."""
WON = 0.8
"""Share of the rounds that it wins: 8 of 9 are one chance in fifty."""


def is_faster(one: Sequence[float], other: Sequence[float]) -> bool:
    """Whether ``one`` takes less time than ``other`` beyond noise, round by round.

    >>> noise = [1.0, 1.3, 1.1, 1.0, 1.2, 2.0, 1.0, 1.1, 1.0]
    >>> is_faster([0.9 * t for t in noise], noise), is_faster(noise, noise[::-1])
    (True, False)

    What is faster on average only because of a few slow rounds of the other is not:

    >>> is_faster([1.0] * 9, [1.0] * 7 + [5.0] * 2)
    False
    """
    rounds = list(zip(one, other, strict=True))
    if len(rounds) < LEAST_ROUNDS:
        return False
    won = sum(mine < theirs for mine, theirs in rounds)
    return won >= WON * len(rounds) and ratio(one, other) <= 1 - LEAST_GAIN


def ratio(one: Sequence[float], other: Sequence[float]) -> float:
    """Median over the rounds of the time of ``one`` by that of ``other``.

    >>> ratio([1.0, 2.0, 9.0], [2.0, 4.0, 4.0])
    0.5
    """
    pairs = zip(one, other, strict=True)
    return statistics.median(mine / theirs for mine, theirs in pairs)
