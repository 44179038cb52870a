"""Model calibration and statistics of tuning: corrections, ranks, proven gains.

`Correction.of` learns from the trials of earlier tunings a factor for the estimated
clocks of any point.  A point chooses features, such as six rows of a register tile, and
each has a weight w:

    log(seconds / clocks) = a constant of the tuning + w . f

with ``f`` the features of the point, fitted by ridge regression (Hastie, Tibshirani and
Friedman, The Elements of Statistical Learning, 3.4.1), so a rarely seen feature has a
weight near 0 and a factor near 1. `keep` and `recorded_tunings` store the expectations
beside the trials.  `rank_correlation` compares two orders.  `gain` compares two
schedules timed alternately in the same rounds, so that disturbances slow both, and
gives a confidence interval.
"""

from __future__ import annotations

import json
import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from itertools import groupby
from math import comb, exp, inf, isfinite, log
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.database import point_text
from gpucodegen.tiling.tuning.search import Status

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Point
    from gpucodegen.tiling.tuning.store import Session, TuningStore


LEAST_GAIN = 0.03
"""Share of the time that a faster schedule saves, at least."""
CONFIDENCE = 0.95
"""Probability that all intervals of a final comparison hold together."""


@dataclass(frozen=True, slots=True)
class Gain:
    """A speedup: the median over the rounds, and the ends of its confidence interval.

    >>> print(Gain(1.2345, 1.19, 1.271))
    1.23 times (95 %: 1.19 to 1.27)
    """

    median: float
    low: float = 0.0
    high: float = inf

    @property
    def is_proven(self) -> bool:
        """Whether the speedup exceeds noise, and the least gain worth having."""
        return self.low > 1 and 1 / self.median <= 1 - LEAST_GAIN

    @property
    def is_loss(self) -> bool:
        """Whether it is slower, beyond noise or by as much as a gain must be."""
        return self.high < 1 or self.median < 1 - LEAST_GAIN

    def __str__(self) -> str:
        share = f"{CONFIDENCE:.0%}".replace("%", " %")
        return f"{self.median:.2f} times ({share}: {self.low:.2f} to {self.high:.2f})"


def gain(one: Sequence[float], other: Sequence[float], comparisons: int = 1) -> Gain:
    """The speedup of ``one`` over ``other``, from their seconds in the same rounds.

    The interval of the median is that of the sign test: with n ratios in order, it goes
    from the k-th least to the k-th greatest, k the largest with 2 P(B < k) <= 1 - c for
    B binomial of n and 1/2 (Conover, Practical Nonparametric Statistics, 3.2).  It
    assumes nothing about the distribution of times.  With several ``comparisons``, c is
    raised such that all intervals hold together (Bonferroni).  With too few rounds the
    interval is unbounded.

    >>> noise = [1.0, 1.3, 1.1, 1.0, 1.2, 2.0, 1.0, 1.1, 1.0]
    >>> gain([0.9 * t for t in noise], noise).is_proven, gain(noise, noise).is_proven
    (True, False)

    A mean that is lower only because of a few slow rounds of the other proves nothing:

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


FEWEST_RANKED = 3
"""The fewest values whose order is meaningful."""


def rank_correlation(one: Sequence[float], other: Sequence[float]) -> float | None:
    """Spearman's coefficient: 1 for the same order, -1 for the opposite, 0 for none.

    It is Pearson's coefficient of the ranks, where equal values share their mean rank.
    None for fewer than `FEWEST_RANKED` values, or where all of one side are equal.

    >>> [rank_correlation([1, 2, 3], other) for other in ([10, 20, 90], [3, 2, 1])]
    [1.0, -1.0]
    >>> round(rank_correlation([1, 1, 2, 3], [1, 2, 3, 4]), 2)
    0.95
    >>> rank_correlation([1, 1, 1], [1, 2, 3]) is None
    True
    """
    if len(one) < FEWEST_RANKED or min(len(set(one)), len(set(other))) < 2:
        return None
    return statistics.correlation(_ranks(one), _ranks(other))


def _ranks(values: Sequence[float]) -> list[float]:
    """The rank of each value among all, by size."""
    places: dict[float, list[int]] = {}
    for place, value in enumerate(sorted(values)):
        places.setdefault(value, []).append(place)
    return [statistics.mean(places[value]) for value in values]


PENALTIES = (30.0, 10.0, 3.0, 1.0)
"""Candidate penalties: after so many trials a feature's weight is half of its estimate.
"""
FEWEST = 3
"""The fewest tunings to learn from."""
MOST = 1.0
"""The largest logarithmic error that a trial contributes, since times have outliers."""
GAIN = 0.05
"""The least improvement of rank correlation by a correction."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial: the features of its point, the expected clocks, the measured seconds."""

    features: Mapping[str, float]
    clocks: float
    seconds: float


Matrix: TypeAlias = "np.ndarray[Any, Any]"
Tuning: TypeAlias = Sequence[Tried]
"""Trials of one call, which compare."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A factor for the clocks of each point, a function of its features.

    >>> Correction().factor({"rows=4": 1.0})
    1.0
    """

    weights: Mapping[str, float] = field(default_factory=dict[str, float])

    @staticmethod
    def of(tunings: Sequence[Tuning]) -> Correction:
        """The correction learned from tunings; empty where it would not have helped.

        Cross-validation: each tuning is ranked by the weights of all others.  The
        penalty with the best mean rank is taken, if it beats the model alone.

        >>> four = [Tried({"rows=4": 1.0}, 8.0 - n, 16.0 - n) for n in (1, 2)]
        >>> six = [Tried({"rows=6": 1.0}, 9.0 + n, 9.0 + n) for n in (1, 2)]
        >>> found = Correction.of([[*four, *six]] * 3)
        >>> found.factor({"rows=4": 1.0}) > 1.2, found.factor({"rows=6": 1.0}) < 0.9
        (True, True)
        >>> Correction.of([[*four, *six]] * 2)
        Correction(weights={})
        """
        if len(tunings) < FEWEST:
            return Correction()
        names = sorted({n for each in tunings for one in each for n in one.features})
        sums = [_Sums.of(each, names) for each in tunings]
        every = sum(sums, _Sums.none(len(names)))

        def agreement(penalty: float) -> float:
            return _agreement(
                (each, (every - own).correction(names, penalty))
                for each, own in zip(tunings, sums, strict=True)
            )

        best, penalty = max((agreement(penalty), penalty) for penalty in PENALTIES)
        alone = _agreement((each, Correction()) for each in tunings)
        if best < alone + GAIN:
            return Correction()
        return every.correction(names, penalty)

    def factor(self, features: Mapping[str, float]) -> float:
        """The factor for the clocks of a point."""
        known = self.weights
        return exp(
            sum(n * known[name] for name, n in features.items() if name in known)
        )


def _agreement(corrected: Iterable[tuple[Tuning, Correction]]) -> float:
    """The mean rank correlation of corrected clocks with seconds."""
    found = [
        rank_correlation(
            [one.clocks * correction.factor(one.features) for one in tuning],
            [one.seconds for one in tuning],
        )
        for tuning, correction in corrected
    ]
    return statistics.mean(one or 0.0 for one in found)


@dataclass(frozen=True, slots=True)
class _Sums:
    """The normal equations of some tunings: A' A and A' errors.

    A has a row for each trial; sums of several tunings add up.
    """

    square: Matrix
    right: Matrix

    @staticmethod
    def none(names: int) -> _Sums:
        return _Sums(np.zeros((names, names)), np.zeros(names))

    @staticmethod
    def of(tuning: Tuning, names: Sequence[str]) -> _Sums:
        """The sums of one tuning, whose constant is the mean of features and of errors.

        An error is log(seconds / clocks) of a trial relative to the median, clipped.
        """
        rows = np.array([[one.features.get(n, 0.0) for n in names] for one in tuning])
        ratios = np.array([log(one.seconds / one.clocks) for one in tuning])
        errors = np.clip(ratios - np.median(ratios), -MOST, MOST)
        rows, errors = rows - rows.mean(axis=0), errors - errors.mean()
        return _Sums(rows.T @ rows, rows.T @ errors)

    def __add__(self, other: _Sums) -> _Sums:
        return _Sums(self.square + other.square, self.right + other.right)

    def __sub__(self, other: _Sums) -> _Sums:
        return _Sums(self.square - other.square, self.right - other.right)

    def correction(self, names: Sequence[str], penalty: float) -> Correction:
        """The weights w of least |A w - errors|^2 + penalty |w|^2.

        They solve (A' A + penalty) w = A' errors.
        """
        square = self.square + penalty * np.eye(len(names))
        weights = np.linalg.solve(square, self.right)
        return Correction(dict(zip(names, map(float, weights), strict=True)))


Expected: TypeAlias = "tuple[Point, Mapping[str, float], float]"
"""A point, its features and its clocks by the model."""
MOST_TUNINGS = 64
"""The most tunings to learn from, the latest ones."""
_KEEP = "insert or replace into expectation values (?, ?, ?, ?, ?)"
_TAUGHT = """
select key, features, clocks, seconds from expectation join trial using (key, point)
where machine = ? and status = ? and seconds > 0 and clocks > 0 and key != ?
    and key in (select key from trial group by key order by max(since) desc limit ?)
order by key, point
"""


def keep(session: Session, machine: str, expected: Iterable[Expected]) -> None:
    """Stores the model's expectations for the points of a key."""
    rows = [
        (session.key, point_text(point), machine, clocks, json.dumps(dict(features)))
        for point, features, clocks in expected
    ]
    with session.store.connection() as database:
        database.execute("begin")
        database.executemany(_KEEP, rows)
        database.execute("commit")


def recorded_tunings(
    store: TuningStore, machine: str, besides: str
) -> list[list[Tried]]:
    """The timed trials of each of the latest tunings of a machine.

    ``besides``: the key of a tuning to leave out, so that it continues as it began.
    """
    latest = machine, Status.OK.value, besides, MOST_TUNINGS
    with store.connection() as database:
        rows = database.execute(_TAUGHT, latest).fetchall()
    tunings = groupby(rows, key=itemgetter(0))
    found = [[_tried(*row) for _, *row in tuning] for _, tuning in tunings]
    return [[one for one in tuning if one is not None] for tuning in found]


def _tried(features: str, clocks: float, seconds: float) -> Tried | None:
    """A row as a trial; None if `keep` did not write it."""
    try:
        shares = {str(name): float(n) for name, n in json.loads(features).items()}
    except (ValueError, TypeError, AttributeError):
        return None
    numbers = (*shares.values(), clocks, seconds)
    return Tried(shares, clocks, seconds) if all(map(isfinite, numbers)) else None
