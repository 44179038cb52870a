"""Local search for the fastest legal point of a space, within a budget of measurements.

Comes in: a `Space`, a ``measure`` callable (seconds, or an exception for a point that
cannot run) and, if wished, a memory of earlier trials. Goes out: every trial made, and
the best. Nothing illegal is ever measured.

From a start, neighbours are tried in random order and an improvement is moved to; where
none improves, the search starts again at the next seed or at a random point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from random import Random
from typing import Protocol

from gpucodegen.tiling.tuning.space import Point, Space


class Status(Enum):
    """How a trial ended."""

    OK = "ok"
    ILLEGAL = "illegal"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Trial:
    """One point and what became of it; ``reason`` for those without a time."""

    point: Point
    status: Status
    seconds: float | None = None
    reason: str = ""


class TrialMemory(Protocol):
    """Where trials are kept between searches; see `gpucodegen.tiling.tuning.store`."""

    def recall(self, point: Point) -> Trial | None:
        """The finished trial of this point."""
        ...

    def claim(self, point: Point) -> bool:
        """Whether this search may measure the point; False while another one does."""
        ...

    def remember(self, trial: Trial) -> None:
        """Keep a trial made by this search."""
        ...


@dataclass(slots=True)
class Notebook:
    """A memory that lasts as long as the search.

    >>> notebook = Notebook()
    >>> notebook.remember(Trial({"i": 8}, Status.OK, 1.0))
    >>> notebook.recall({"i": 8}).seconds
    1.0
    """

    trials: dict[tuple[tuple[str, int], ...], Trial] = field(
        default_factory=dict[tuple[tuple[str, int], ...], Trial]
    )

    def recall(self, point: Point) -> Trial | None:
        """The finished trial of this point."""
        return self.trials.get(_identity(point))

    def claim(self, point: Point) -> bool:
        """No other search is running."""
        del point
        return True

    def remember(self, trial: Trial) -> None:
        """Keep a trial."""
        self.trials[_identity(trial.point)] = trial


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


def search(
    space: Space,
    measure: Callable[[Point], float],
    *,
    budget: int = 40,
    seeds: Sequence[Point] = (),
    memory: TrialMemory | None = None,
    random: Random | None = None,
    observe: Callable[[Trial], None] | None = None,
    moves: bool = True,
) -> Outcome:
    """Search with at most ``budget`` measurements; ``seeds`` are tried first.

    Without ``moves`` nothing else is tried.

    >>> space = Space({"i": (8, 16, 32, 64), "j": (8, 16, 32, 64)})
    >>> found = search(space, lambda p: abs(p["i"] - 32) + abs(p["j"] - 16) + 1.0)
    >>> dict(found.best.point)
    {'i': 32, 'j': 16}
    """
    walk = _Walk(space, measure, memory or Notebook(), budget, observe)
    if not moves:
        for point in seeds:
            walk.trial(point)
        return Outcome(tuple(walk.trials.values()))
    random = random or Random(0)  # noqa: S311  (repeatable, not secret)
    for start in _starts(space, seeds, random, walk):
        walk.descend(start, random)
        if walk.spent >= budget:
            break
    return Outcome(tuple(walk.trials.values()))


def _starts(
    space: Space, seeds: Sequence[Point], random: Random, walk: _Walk
) -> Iterator[Point]:
    """All seeds, then random legal points until too many in a row are known."""
    yield from seeds
    known = 0
    while known < RESTARTS_WITHOUT_NEWS:
        point = space.sample(random)
        if point is None:
            return
        known = known + 1 if _identity(point) in walk.trials else 0
        yield point


RESTARTS_WITHOUT_NEWS = 50


@dataclass(slots=True)
class _Walk:
    space: Space
    measure: Callable[[Point], float]
    memory: TrialMemory
    budget: int
    observe: Callable[[Trial], None] | None
    spent: int = 0
    trials: dict[tuple[tuple[str, int], ...], Trial] = field(
        default_factory=dict[tuple[tuple[str, int], ...], Trial]
    )

    def descend(self, start: Point, random: Random) -> None:
        """Move to better neighbours until there is none or the budget is spent."""
        here = self.trial(start)
        while here is not None and here.seconds is not None:
            neighbours = list(self.space.neighbours(here.point))
            random.shuffle(neighbours)
            here = self._better(here.seconds, neighbours)

    def _better(self, seconds: float, neighbours: Sequence[Point]) -> Trial | None:
        for point in neighbours:
            trial = self.trial(point)
            if trial and trial.seconds is not None and trial.seconds < seconds:
                return trial
        return None

    def trial(self, point: Point) -> Trial | None:
        """The trial of a point: known, recalled, refused or measured now."""
        identity = _identity(point)
        if identity in self.trials:
            return self.trials[identity]
        trial = self._refused(point) or self.memory.recall(point)
        if trial is None:
            if self.spent >= self.budget or not self.memory.claim(point):
                return None
            self.spent += 1
            trial = _measured(self.measure, point)
            self.memory.remember(trial)
        self.trials[identity] = trial
        if self.observe:
            self.observe(trial)
        return trial

    def _refused(self, point: Point) -> Trial | None:
        objection = self.space.objection(point)
        if objection is None:
            return None
        return Trial(point, Status.ILLEGAL, reason=str(objection))


def _measured(measure: Callable[[Point], float], point: Point) -> Trial:
    try:
        return Trial(point, Status.OK, measure(point))
    except Exception as error:  # noqa: BLE001  (whatever fails is not a candidate)
        return Trial(point, Status.FAILED, reason=f"{type(error).__name__}: {error}")


def _identity(point: Mapping[str, int]) -> tuple[tuple[str, int], ...]:
    return tuple(sorted(point.items()))
