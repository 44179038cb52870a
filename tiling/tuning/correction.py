"""What trials teach the model of a machine: factors for what it is wrong about.

Comes in: trials of earlier tunings, each with what the model expected of it.  Goes out:
a factor for the clocks of any point.

A point chooses features, such as six rows of a register tile, and each has a weight:

    log(seconds / clocks) = a constant of the tuning + w . f

with ``f`` the features of the point.  The weights are those of least squares with a
penalty on their own squares (ridge regression; Hastie, Tibshirani and Friedman, The
Elements of Statistical Learning, 3.4.1), so a feature that was seen seldom has a weight
near 0, and a factor near 1.
"""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, log
from typing import Any, TypeAlias

import numpy as np

from gpucodegen.tiling.tuning.ranks import rank_correlation

PENALTIES = (30.0, 10.0, 3.0, 1.0)
"""Those that are tried: so many trials of a feature move its weight half the way."""
FEWEST = 3
"""Tunings from which anything is learnt."""
MOST = 1.0
"""Logarithm of the largest error that one trial tells of, as times have outliers."""
GAIN = 0.05
"""How much better a correction has to rank than none, in rank correlation."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A trial: what it chose, what the model expected, and what it took."""

    features: Mapping[str, float]
    clocks: float
    seconds: float


Matrix: TypeAlias = "np.ndarray[Any, Any]"
Tuning: TypeAlias = Sequence[Tried]
"""Trials of one call, which compare."""


@dataclass(frozen=True, slots=True)
class Correction:
    """A factor for the clocks of each point, from the features that it chooses.

    >>> Correction().factor({"rows=4": 1.0})
    1.0
    """

    weights: Mapping[str, float] = field(default_factory=dict[str, float])

    @staticmethod
    def of(tunings: Sequence[Tuning]) -> Correction:
        """What some tunings teach; nothing, where that would not have helped them.

        Each tuning is ranked by what all the others teach.  The penalty that ranks them
        best is taken, if on average it does so better than the model alone.

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
        """What the clocks of a point are multiplied by."""
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
    """What least squares needs of some tunings: A' A and A' errors.

    A has a row for each trial; those of several tunings add up.
    """

    square: Matrix
    right: Matrix

    @staticmethod
    def none(names: int) -> _Sums:
        """Those of no tuning."""
        return _Sums(np.zeros((names, names)), np.zeros(names))

    @staticmethod
    def of(tuning: Tuning, names: Sequence[str]) -> _Sums:
        """Those of one tuning, whose constant is the mean of features and of errors.

        An error is what the model left out of a trial, next to the median, in bounds.
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

        That is where (A' A + penalty) w = A' errors.
        """
        square = self.square + penalty * np.eye(len(names))
        weights = np.linalg.solve(square, self.right)
        return Correction(dict(zip(names, map(float, weights), strict=True)))
