"""Orders in which points are tried: generators that ask for trials and are told them.

A strategy yields points that may be measured at the same time and is sent their trials,
one for each; None for a point that nobody may measure now.  It ends when it has no
further idea.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from random import Random
from typing import TYPE_CHECKING, Any, TypeAlias

from gpucodegen.tiling.tuning.trials import Identity, Trial, identity

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.space import Point, Space

Model: TypeAlias = "Callable[[Point], float | None]"
"""What is expected of a point, to be compared with that of others; None: nothing."""
Strategy: TypeAlias = Generator[Sequence["Point"], Sequence[Trial | None], None]
RESTARTS_WITHOUT_NEWS = 50
"""Known random or suggested points in a row that end a search."""


def after(point: Point, rest: Strategy) -> Strategy:
    """A point alone, then the rest, unless the point cannot run.

    >>> from gpucodegen.tiling.tuning.trials import Status
    >>> order = after({"i": 0}, given([{"i": 8}]))
    >>> next(order), order.send([Trial({"i": 0}, Status.OK, 1.0)])
    ([{'i': 0}], [{'i': 8}])
    >>> order = after({"i": 0}, given([{"i": 8}]))
    >>> next(order), list(order)  # what is sent is None: somebody else measures it
    ([{'i': 0}], [[{'i': 8}]])
    """
    told = yield [point]
    if told and told[0] is not None and told[0].seconds is None:
        return
    yield from rest


def given(points: Sequence[Point], *, width: int = 1) -> Strategy:
    """These points and no others."""
    rest = iter(points)
    while group := list(islice(rest, width)):
        yield group


def local_search(
    space: Space,
    seeds: Sequence[Point] = (),
    *,
    seed: int = 0,
    width: int = 1,
    model: Model | None = None,
) -> Strategy:
    """From each start to better neighbours, until there is none.

    The starts are the seeds, then random legal points.  Neighbours are tried in the
    order of what a ``model`` expects of them, those of which it expects the same in
    random order; ``width`` at the same time, and the best that improves is moved to.
    Of points that are one schedule, the first is tried.
    """
    random = Random(seed)  # noqa: S311  (repeatable, not secret)
    seen = _Seen(space)
    for start in _starts(space, seeds, random, seen):
        (here,) = yield seen.first_of([start])
        while here is not None and here.seconds is not None:
            neighbours = list(space.neighbours(here.point))
            random.shuffle(neighbours)
            if model is not None:
                neighbours.sort(key=lambda point: model(point) or 0.0)
            here = yield from _better(here.seconds, neighbours, seen, width)


@dataclass(frozen=True, slots=True)
class _Seen:
    """The first point of each schedule that was asked for."""

    space: Space
    points: dict[object, Point] = field(default_factory=dict[object, "Point"])

    def first_of(self, points: Sequence[Point]) -> list[Point]:
        """These points, or earlier ones that are the same schedules."""
        found = self.points
        return [found.setdefault(self.space.schedule(p), p) for p in points]


def _better(
    seconds: float, neighbours: Sequence[Point], seen: _Seen, width: int
) -> Generator[Sequence[Point], Sequence[Trial | None], Trial | None]:
    rest = iter(neighbours)
    while group := list(islice(rest, width)):
        trials = yield seen.first_of(group)
        timed = [(t.seconds, n) for n, t in enumerate(trials) if t and t.seconds]
        if timed and min(timed)[0] < seconds:
            return trials[min(timed)[1]]
    return None


def _starts(
    space: Space, seeds: Sequence[Point], random: Random, seen: _Seen
) -> Iterator[Point]:
    """All seeds, then random legal points until too many in a row are known."""
    yield from seeds
    repeated = 0
    while repeated < RESTARTS_WITHOUT_NEWS:
        point = space.sample(random)
        if point is None:
            return
        repeated = repeated + 1 if space.schedule(point) in seen.points else 0
        yield point


def _noted(points: list[Point], known: set[Identity]) -> list[Point]:
    known.update(map(identity, points))
    return points


def sampled(
    space: Space, seeds: Sequence[Point], sampler: Any, *, width: int = 1
) -> Strategy:
    """The seeds, then what a sampler of Optuna suggests, until it repeats itself.

    ``sampler``: an ``optuna.samplers.BaseSampler``.  Optuna is not a dependency of this
    package: whoever has a sampler has it installed.
    """
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    study = optuna.create_study(sampler=sampler)
    choices = {
        name: optuna.distributions.CategoricalDistribution(tuple(values))
        for name, values in space.dimensions.items()
    }
    for point in seeds:
        study.enqueue_trial(dict(point))
    known: set[Identity] = set()
    repeated = 0
    while repeated < RESTARTS_WITHOUT_NEWS:
        asked = [study.ask(choices) for _ in range(width)]
        points = [dict(one.params) for one in asked]
        is_new = not known.issuperset(map(identity, points))
        repeated = 0 if is_new else repeated + 1
        trials = yield _noted(points, known)
        for one, trial in zip(asked, trials, strict=True):
            if trial is None or trial.seconds is None:
                study.tell(one, state=optuna.trial.TrialState.FAIL)
            else:
                study.tell(one, trial.seconds)
