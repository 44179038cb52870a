"""How much faster one schedule is than another, told from rounds of both in turn.

Comes in: seconds of each in the same rounds, so that what slows the machine down for a
while slows down both.  Goes out: a gain with the interval that holds it, and a verdict
that noise does not give.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from math import comb, inf

LEAST_GAIN = 0.03
"""Share of the time that a faster schedule saves, at least."""
CONFIDENCE = 0.95
"""Chance that the intervals of a final hold all of its gains together."""


@dataclass(frozen=True, slots=True)
class Gain:
    """How many times as fast: the median over the rounds, and the ends of its interval.

    >>> print(Gain(1.2345, 1.19, 1.271))
    1.23 times (95 %: 1.19 to 1.27)
    """

    median: float
    low: float = 0.0
    high: float = inf

    @property
    def is_proven(self) -> bool:
        """Whether noise does not explain it, and it saves time that is worth having."""
        return self.low > 1 and 1 / self.median <= 1 - LEAST_GAIN

    @property
    def is_loss(self) -> bool:
        """Whether it is slower, beyond noise or by as much as a gain must be."""
        return self.high < 1 or self.median < 1 - LEAST_GAIN

    def __str__(self) -> str:
        share = f"{CONFIDENCE:.0%}".replace("%", " %")
        return f"{self.median:.2f} times ({share}: {self.low:.2f} to {self.high:.2f})"


def gain(one: Sequence[float], other: Sequence[float], comparisons: int = 1) -> Gain:
    """How many times as fast as ``other`` ``one`` is, from their seconds by rounds.

    The interval of the median is that of the sign test: with n ratios in order, it goes
    from the k-th least to the k-th greatest, k the largest with 2 P(B < k) <= 1 - c for
    B binomial of n and 1/2 (Conover, Practical Nonparametric Statistics, 3.2).  No
    assumption is made about how times are distributed.  Of several ``comparisons`` c is
    what makes all of them hold together (Bonferroni).  Too few rounds tell nothing: the
    interval is then all numbers.

    >>> noise = [1.0, 1.3, 1.1, 1.0, 1.2, 2.0, 1.0, 1.1, 1.0]
    >>> gain([0.9 * t for t in noise], noise).is_proven, gain(noise, noise).is_proven
    (True, False)

    What is faster on average only because of a few slow rounds of the other is not:

    >>> print(gain([1.0] * 9, [1.0] * 7 + [5.0] * 2))
    1.00 times (95 %: 1.00 to 5.00)
    >>> print(gain([1.0] * 5, [2.0] * 5))
    2.00 times (95 %: 0.00 to inf)
    """
    pairs = zip(one, other, strict=True)
    ratios = sorted(theirs / mine for mine, theirs in pairs)
    k = _rank(len(ratios), (1 - CONFIDENCE) / comparisons)
    ends = (ratios[k - 1], ratios[-k]) if k else (0.0, inf)
    return Gain(statistics.median(ratios), *ends)


def _rank(rounds: int, doubt: float) -> int:
    """The largest k with 2 P(B < k) <= ``doubt``; 0 if there is none.

    >>> _rank(5, 0.05), _rank(9, 0.05), _rank(24, 0.05)
    (0, 2, 7)
    """
    k, below = 0, 1
    while 2 * below / 2**rounds <= doubt:
        k += 1
        below += comb(rounds, k)
    return k
