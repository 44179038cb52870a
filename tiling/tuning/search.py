"""A search for the fastest legal point of a space, within a budget of measurements.

Comes in: a `Space`, a strategy (`gpucodegen.tiling.tuning.strategies`), a ``measure``
callable and, if wished, a memory of earlier trials.  Goes out: every trial made, and
the best.  Nothing illegal is ever measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from gpucodegen.tiling.tuning.space import Point, Space
from gpucodegen.tiling.tuning.strategies import Strategy
from gpucodegen.tiling.tuning.trials import (
    Identity,
    Notebook,
    Status,
    Trial,
    TrialMemory,
    failed,
    identity,
)

Measure: TypeAlias = Callable[[Point], float]
"""Seconds of a point; an exception for one that cannot run."""
MeasureAll: TypeAlias = Callable[[Iterable[Point]], Iterable[Trial]]
"""The trials of some points, each as soon as it is known, in any order.

A point is taken when its trial is about to begin, and may be taken no more after that.
"""


def one_by_one(measure: Measure) -> MeasureAll:
    """Measurements that follow one another.

    >>> [trial.seconds for trial in one_by_one(lambda p: p["i"] / 8)([{"i": 4}])]
    [0.5]
    """

    def all_of(points: Iterable[Point]) -> Iterator[Trial]:
        for point in points:
            try:
                yield Trial(point, Status.OK, measure(point))
            except Exception as error:  # noqa: BLE001  (what fails is no candidate)
                yield failed(point, error)

    return all_of


@dataclass(frozen=True, slots=True)
class Outcome:
    """The trials of a search, in order, recalled ones included."""

    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial | None:
        """The fastest trial, if any ran."""
        return min(
            (trial for trial in self.trials if trial.seconds is not None),
            key=lambda trial: trial.seconds or 0.0,
            default=None,
        )


@dataclass(slots=True)
class Search:
    """A search that may be interrupted: its trials are there at any moment.

    ``budget``: trials with a measurement, those that the memory recalls included, so
    that a search that was interrupted and begun again makes the trials of one that was
    not.  ``is_late``: whether no further measurement may begin.  ``observe``: told each
    trial that is new to this search.

    >>> from gpucodegen.tiling.tuning.strategies import local_search
    >>> space = Space({"i": (8, 16, 32, 64), "j": (8, 16, 32, 64)})
    >>> clock = one_by_one(lambda p: abs(p["i"] - 32) + abs(p["j"] - 16) + 1.0)
    >>> found = Search(space, clock).run(local_search(space))
    >>> dict(found.best.point)
    {'i': 32, 'j': 16}
    """

    space: Space
    measure: MeasureAll
    budget: int = 40
    memory: TrialMemory = field(default_factory=Notebook)
    is_late: Callable[[], bool] = bool
    observe: Callable[[Trial], object] | None = None
    trials: dict[Identity, Trial] = field(default_factory=dict[Identity, Trial])
    spent: int = 0

    def run(self, strategy: Strategy) -> Outcome:
        """Follow a strategy until it ends or the budget is spent."""
        points = next(strategy, None)
        while points is not None:
            self._try(points)
            if self.spent >= self.budget or self.is_late():
                break
            told = [self.trials.get(identity(point)) for point in points]
            try:
                points = strategy.send(told)
            except StopIteration:
                break
        return Outcome(tuple(self.trials.values()))

    def _try(self, points: Sequence[Point]) -> None:
        """Find out about points; the claims of those left undone are given back."""
        left: dict[Identity, Point] = {}
        try:
            for trial in self.measure(self._claimed(points, left)):
                self.memory.remember(trial)
                del left[identity(trial.point)]
                self._note(trial)
        finally:
            for point in left.values():
                self.memory.release(point)

    def _claimed(
        self, points: Sequence[Point], left: dict[Identity, Point]
    ) -> Iterator[Point]:
        """Those to be measured now, added to ``left``; others are known or refused."""
        for point in points:
            name = identity(point)
            if name in self.trials or name in left:
                continue
            known = self._refused(point) or self.memory.recall(point)
            if known is not None:
                self.spent += known.status is not Status.ILLEGAL
                self._note(known)
            elif self._may_measure() and self.memory.claim(point):
                self.spent += 1
                left[name] = point
                yield point

    def _may_measure(self) -> bool:
        return self.spent < self.budget and not self.is_late()

    def _note(self, trial: Trial) -> None:
        self.trials[identity(trial.point)] = trial
        if self.observe:
            self.observe(trial)

    def _refused(self, point: Point) -> Trial | None:
        objection = self.space.objection(point)
        if objection is None:
            return None
        return Trial(point, Status.ILLEGAL, reason=str(objection))
