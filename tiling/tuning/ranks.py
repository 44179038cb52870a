"""How well one order agrees with another: what a model expects, and what was timed."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

FEWEST = 3
"""Fewer values have hardly an order."""


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's coefficient: 1 for the same order, -1 for the opposite, 0 for none.

    It is Pearson's of the ranks, where equal values share the mean of theirs.  None for
    fewer than `FEWEST` values, or where all of one side are equal.

    >>> [rank_correlation([1, 2, 3], other) for other in ([10, 20, 90], [3, 2, 1])]
    [1.0, -1.0]
    >>> round(rank_correlation([1, 1, 2, 3], [1, 2, 3, 4]), 2)
    0.95
    >>> rank_correlation([1, 1, 1], [1, 2, 3]) is None
    True
    """
    if len(one) < FEWEST or min(len(set(one)), len(set(other))) < 2:
        return None
    return statistics.correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    """The place of each among all, in order of size."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [statistics.mean(places[value]) for value in values]
