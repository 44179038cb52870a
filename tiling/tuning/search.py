"""Search for the fastest legal point of a tuning space within a trial budget.

`Search.run` follows a strategy: a generator that yields points which may be measured
together and is sent one `Trial` for each, or None for a point that may not be measured
now.  `Space` holds named dimensions with a few values each and an ``objection`` to
illegal points, which are never measured. A point is a mapping from dimension to value.
A `TrialMemory` recalls the trials of earlier searches; the result is an `Outcome` with
every trial.
"""

from __future__ import annotations

from collections.abc import (
    Callable,
    Generator,
    Hashable,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import field
from enum import Enum
from itertools import islice, product
from math import prod
from random import Random
from typing import Any, Protocol, TypeAlias

from gpucodegen.records import dataclass

Point: TypeAlias = Mapping[str, int]
Objection: TypeAlias = object
Identity: TypeAlias = tuple[tuple[str, int], ...]

REGISTER_TILE = ("rows", "columns", "k_block")
"""Sizes of a contraction on the CPU: of the result in registers, and of the steps."""


def no_objection(point: Point) -> Objection | None:
    """The objection of a space in which every point is legal.

    >>> no_objection({"i": 8}) is None
    True
    """
    del point


def identity(point: Mapping[str, int]) -> Identity:
    """A hashable key of a point.

    >>> identity({"j": 8, "i": 4})
    (('i', 4), ('j', 8))
    """
    return tuple(sorted(point.items()))


def is_tile(name: str) -> bool:
    """Whether the name of a size denotes a tile size of a nest.

    >>> is_tile("tile12"), is_tile("product.tile_rows")
    (True, False)
    """
    return name.startswith("tile") and name[4:].isdigit()


def shown(point: Point) -> str:
    """A point as one line of text.

    >>> shown({"rows": 4, "columns": 0})
    'rows=4, columns=0'
    """
    return ", ".join(f"{name}={size}" for name, size in point.items())


@dataclass(frozen=True, slots=True)
class Space:
    """All combinations of the dimensions' values to which ``objection`` gives None.

    ``objection`` returns why a point is illegal: a text, a `Refusal`, anything
    printable. ``schedule``: a key of the compiled schedule of a point, which several
    points may share.

    >>> space = Space({"i": (8, 16, 32), "j": (16, 32)})
    >>> space.size
    6
    >>> [dict(point) for point in space.neighbours({"i": 8, "j": 16})]
    [{'i': 16, 'j': 16}, {'i': 8, 'j': 32}]
    """

    dimensions: Mapping[str, Sequence[int]]
    objection: Callable[[Point], Objection | None] = no_objection
    schedule: Callable[[Point], Hashable] = identity

    @property
    def size(self) -> int:
        """The number of points, legal or not."""
        return prod(len(values) for values in self.dimensions.values())

    def points(self) -> Iterator[Point]:
        """Every legal point, first dimension slowest."""
        for values in product(*self.dimensions.values()):
            point = dict(zip(self.dimensions, values, strict=True))
            if self.objection(point) is None:
                yield point

    def neighbours(self, point: Point) -> Iterator[Point]:
        """The legal points one step away along one dimension."""
        for name, values in self.dimensions.items():
            at = list(values).index(point[name])
            for step in (at - 1, at + 1):
                if 0 <= step < len(values):
                    moved = {**point, name: values[step]}
                    if self.objection(moved) is None:
                        yield moved

    def sample(self, random: Random, attempts: int = 1000) -> Point | None:
        """A random legal point, None if none turned up."""
        for _ in range(attempts):
            point = {
                name: random.choice(values) for name, values in self.dimensions.items()
            }
            if self.objection(point) is None:
                return point
        return next(self.points(), None) if self.size <= attempts else None


class Status(Enum):
    """How a trial ended: ``OK`` has a time, ``PREDICTED`` the estimate of a model."""

    OK = "ok"
    PREDICTED = "predicted"
    ILLEGAL = "illegal"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Trial:
    """One point with its status, and its time or the reason why it has none."""

    point: Point
    status: Status
    seconds: float | None = None
    reason: str = ""

    def json(self) -> dict[str, object]:
        """The trial as plain values."""
        return {
            "point": dict(self.point),
            "status": self.status.value,
            "seconds": self.seconds,
            "reason": self.reason,
        }


class TrialError(Exception):
    """A failed measurement; the message is the reason."""

    status = Status.FAILED


class Crashed(TrialError):
    """The measuring process died."""

    status = Status.CRASHED


class TimedOut(TrialError):
    """The measurement exceeded its time limit."""

    status = Status.TIMEOUT


class WrongResult(TrialError):
    """The schedule computes other numbers than the default schedule."""

    status = Status.WRONG


def failed(point: Point, error: Exception) -> Trial:
    """The trial of a point whose measurement raised an error.

    >>> failed({"i": 8}, MemoryError("too much")).reason
    'MemoryError: too much'
    >>> failed({"i": 8}, TimedOut("more than 30 s")).status
    <Status.TIMEOUT: 'timeout'>
    """
    if isinstance(error, TrialError):
        return Trial(point, error.status, reason=str(error))
    return Trial(point, Status.FAILED, reason=f"{type(error).__name__}: {error}")


class TrialMemory(Protocol):
    """Trials kept between searches; `store.Session` implements it in a file."""

    def recall(self, point: Point) -> Trial | None:
        """The finished trial of this point."""
        ...

    def claim(self, point: Point) -> bool:
        """Whether this search may measure the point; False while another one does."""
        ...

    def release(self, point: Point) -> None:
        """Releases a claim without a trial."""
        ...

    def remember(self, trial: Trial) -> None:
        """Keep a trial made by this search."""
        ...

    def forgive(self, point: Point) -> None:
        """Forget that a point failed, so that it may be tried again."""
        ...


@dataclass(slots=True)
class Notebook:
    """A trial memory that lasts as long as the search.

    >>> notebook = Notebook()
    >>> notebook.remember(Trial({"i": 8}, Status.OK, 1.0))
    >>> notebook.recall({"i": 8}).seconds
    1.0
    """

    trials: dict[Identity, Trial] = field(default_factory=dict[Identity, Trial])

    def recall(self, point: Point) -> Trial | None:
        return self.trials.get(identity(point))

    def claim(self, point: Point) -> bool:
        del point
        return True

    def release(self, point: Point) -> None:
        del point

    def remember(self, trial: Trial) -> None:
        self.trials[identity(trial.point)] = trial

    def forgive(self, point: Point) -> None:
        trial = self.recall(point)
        if trial is not None and trial.seconds is None:
            del self.trials[identity(point)]


Model: TypeAlias = "Callable[[Point], float | None]"
"""The expected cost of a point, for comparison with other points; None: unknown."""
Strategy: TypeAlias = Generator[Sequence["Point"], Sequence[Trial | None], None]
RESTARTS_WITHOUT_NEWS = 50
"""Known random or suggested points in a row that end a search."""


def after(point: Point, rest: Strategy) -> Strategy:
    """Yields one point first, then the strategy ``rest`` unless the point fails.

    >>> from gpucodegen.tiling.tuning.search import Status
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
    """A strategy that tries exactly these points."""
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
    """Hill climbing: from each start to better neighbours, until none is better.

    The starts are the seeds, then random legal points.  Neighbours are tried in the
    order of the ``model``'s expectations, ties in random order, ``width`` at a time;
    the search moves to the best one that improves.  Of points with the same schedule
    only the first is tried.
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
    """The first point of each schedule that the search has met."""

    space: Space
    points: dict[object, Point] = field(default_factory=dict[object, "Point"])

    def first_of(self, points: Sequence[Point]) -> list[Point]:
        """Maps points to the first points with the same schedules."""
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
    """The seeds, then suggestions of an Optuna sampler, until it repeats itself.

    ``sampler``: an ``optuna.samplers.BaseSampler``.  Optuna is not a dependency of this
    package: a caller with a sampler has it installed.
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


Measure: TypeAlias = Callable[[Point], float]
"""Seconds of a point; an exception for one that cannot run."""
MeasureAll: TypeAlias = Callable[[Iterable[Point]], Iterable[Trial]]
"""The trials of some points, each as soon as it is known, in any order.

A point is taken when its trial is about to begin, and may be taken no more after that.
"""


def one_by_one(measure: Measure) -> MeasureAll:
    """Measures points sequentially.

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
    """An interruptible search, whose trials can be read at any moment.

    ``budget``: the number of measured trials.  Recalled trials count too, so that a
    search that was interrupted and repeated makes the same trials as an uninterrupted
    one.  ``is_late``: whether no further measurement may begin. ``observe`` is called
    with each trial that is new to this search.

    >>> from gpucodegen.tiling.tuning.search import local_search
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
        """Obtains the trials of points, and releases the claims of unfinished ones."""
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
        """Points to measure now, added to ``left``; the rest is recalled or refused."""
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
