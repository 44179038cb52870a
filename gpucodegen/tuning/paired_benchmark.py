"""Paired benchmark: schedules of one function timed in turn on the same arguments.

A `PairedBenchmark` takes a program, a function and the arguments of a call, and returns
trials of points. `difference` compares the results of a schedule with those of the
default one.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Self, cast

import numpy as np

from gpucodegen.checking import PLACES, unit_of
from gpucodegen.compiling.tuned_schedules import Point, with_point
from gpucodegen.interp.values import numbers
from gpucodegen.ir.types import FloatType, Type, element_type
from gpucodegen.program_text import of_module
from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.calibration import gain
from gpucodegen.tiling.tuning.search import Identity, Trial, WrongResult
from gpucodegen.tuning.arguments import copied, on_host
from gpucodegen.tuning.clocks import Clock, Rotation, Watch

if TYPE_CHECKING:
    from gpucodegen.calls.function import Function
    from gpucodegen.program import Program


SAMPLE = 1 << 14
"""Numbers of an array that are decoded one by one."""
MOST, LEAST = 1 / 16, 4
"""Share of the largest number by which narrow floats may differ, but for so many
places."""


def difference(
    found: Sequence[Any], expected: Sequence[Any], types: Sequence[Type]
) -> str:
    """The first differing values; "" where all agree.

    Integers must be equal.  Floats may differ by `PLACES` units in the last place of
    the largest number of their array, as a schedule may reorder sums.  Of floats whose
    codes NumPy takes for integers, `SAMPLE` numbers of an array are compared.

    >>> from gpucodegen.ir.types import F32, I32
    >>> ones = np.ones(3, "f4")
    >>> difference([ones + 1e-6], [ones], [F32])
    ''
    >>> difference([ones, 2], [ones, 3], [F32, I32])
    'value 1 is 2, not 3'
    >>> difference([np.array([1, 7])], [np.array([1, 2])], [I32])
    'value 0 is 7 at [1], not 2'
    """
    values = zip(found, expected, types, strict=True)
    for n, (ours, theirs, ty) in enumerate(values):
        a, b = _numbers(ours, ty), _numbers(theirs, ty)
        apart = np.argwhere(_apart(a, b, ty))
        if len(apart):
            index = tuple(map(int, apart[0]))
            where = f" at {list(index)}" if index else ""
            return f"value {n} is {a[index]}{where}, not {b[index]}"
    return ""


def _numbers(value: Any, ty: Type) -> np.ndarray:
    """An array in a type that NumPy computes with."""
    array, element = np.asarray(on_host(value)), element_type(ty)
    if array.dtype.kind != "u" or not isinstance(element, FloatType):
        return array
    codes = array.reshape(-1)[:: max(1, array.size // SAMPLE)]
    return np.array(numbers(codes, element))


def _apart(a: np.ndarray, b: np.ndarray, ty: Type) -> np.ndarray:
    """A mask of the numbers that differ too much."""
    unit = unit_of(ty)
    if not unit:
        return a != b
    wide = np.complex128 if b.dtype.kind == "c" else np.float64
    x, y = a.astype(wide), b.astype(wide)
    finite = np.abs(y[np.isfinite(y)])
    share = max(min(PLACES * unit, MOST), LEAST * unit)
    bound = share * (finite.max() if finite.size else 0.0)
    with np.errstate(invalid="ignore"):
        near = np.abs(x - y) <= bound
    return ~(near | (x == y) | (np.isnan(x) & np.isnan(y)))


Launch = Callable[..., Any]
REPETITIONS = 3
SECONDS_PER_TRIAL = 0.3
HOPELESS = 1.25
"""Schedules whose least time exceeds the best median by this factor are not timed
further.
"""
ROUNDS = range(11, 25)
"""Rounds of a final: the fewest, and those that fit its time."""
SECONDS_PER_FINAL = 2.0
SECONDS_PER_ROUND = 2e-3
"""Shorter calls are repeated in a round, as the clock is not exact."""
DEFAULT: Point = {}
"""The compiler's own choices."""


@dataclass(slots=True)
class PairedBenchmark:
    """Times schedules of ``program[name]`` on copies of the arguments.

    All schedules get the same copies, as times depend on where arrays lie, with their
    first contents before each timing.  The contents that a schedule leaves in them, and
    its results, are compared with those of the default.  ``base``: seconds of the
    default when it was first timed.  ``best``: the least time so far, relative to the
    default's, that noise does not explain. ``ready``: schedules that are compiled and
    did not run yet.
    """

    program: Program
    name: str
    rotation: Rotation
    clock: Clock
    launches: dict[Identity, Launch] = field(default_factory=dict[Identity, "Launch"])
    ready: dict[Identity, Launch] = field(default_factory=dict[Identity, "Launch"])
    expected: tuple[Any, ...] | None = None
    base: float = 0.0
    best: float = 1.0

    @classmethod
    def of(cls, program: Program, name: str, arguments: Sequence[Any]) -> Self:
        """A benchmark with copies of the arguments."""
        target, _ = program[name].key_for(tuple(arguments))
        watch = Watch.of(arguments, target)
        return cls(program, name, Rotation.of(arguments, watch.cache), watch.clock)

    def trial(self, point: Point) -> Trial:
        """The trial of one point, alone."""
        from gpucodegen.tiling.tuning.search import one_by_one

        return next(iter(one_by_one(self.seconds)([point])))

    def seconds(self, point: Point) -> float:
        """Seconds of a call; raises the error that prevents the point from running.

        It alternates with the default: the median of the ratios, times the first time
        of the default, is free of temporary slowdowns of the machine.  A schedule that
        cannot win is stopped early (`_is_hopeless`).  Raises WrongResult where it
        leaves other numbers than the default schedule.
        """
        own, default = self._launch(point), self._launch(DEFAULT)
        calls = self._calls([own, default])
        mine: list[float] = []
        theirs: list[float] = []
        begun = time.perf_counter()
        while len(mine) < REPETITIONS or _since(begun) < SECONDS_PER_TRIAL:
            mine.append(self._timed(own, calls))
            theirs.append(mine[-1] if own is default else self._timed(default, calls))
            if self._is_hopeless(mine, theirs):
                break
        pairs = zip(mine, theirs, strict=True)
        ratio = statistics.median(one / other for one, other in pairs)
        self.base = self.base or statistics.median(theirs)
        surely = gain(mine, theirs).low
        self.best = min(self.best, 1 / surely) if surely else self.best
        return ratio * self.base

    def prepare(self, point: Point) -> None:
        """Compiles a schedule without running it."""
        key = _key(point)
        if key not in self.launches:
            made = self.ready[key] = self._compiled(point)
            compile_kernels(made, self.rotation.sets[0])

    def check(self, point: Point) -> None:
        """Runs a schedule once.  Raises WrongResult as `seconds` does."""
        self._launch(point)

    def rounds(self, points: Sequence[Point]) -> list[list[float]]:
        """Seconds of calls of each point, all of them in each round.

        Arguments are rotated: no call finds its own in a cache.
        """
        return self._rounds(points, self._timed)

    def repeated(self, points: Sequence[Point]) -> list[list[float]]:
        """As `rounds`, with calls on the same arguments, which stay in caches."""
        return self._rounds(points, self._timed_again)

    def told(self) -> str:
        """Empty: schedules are timed on the arguments of the call."""
        return ""

    def close(self) -> None:
        """Does nothing: it holds no resources."""

    def _rounds(
        self, points: Sequence[Point], timed: Callable[[Launch, int], float]
    ) -> list[list[float]]:
        launches = [self._launch(point) for point in points]
        calls = self._calls(launches)
        seconds: list[list[float]] = [[] for _ in points]
        begun = time.perf_counter()
        for done in range(ROUNDS.stop):
            if _since(begun) > SECONDS_PER_FINAL and done >= ROUNDS.start:
                break
            turn = list(zip(launches, seconds, strict=True))
            for launch, times in turn if done % 2 else reversed(turn):
                times.append(timed(launch, calls))
        return seconds

    def _is_hopeless(self, mine: Sequence[float], theirs: Sequence[float]) -> bool:
        """Whether the least time so far is far above the best schedule's median.

        That is known after a few rounds, and for long calls after the first.
        """
        enough = 1 if mine[0] > SECONDS_PER_TRIAL else REPETITIONS
        best = self.best * statistics.median(theirs)
        return len(mine) >= enough and min(mine) > HOPELESS * best

    def _launch(self, point: Point) -> Launch:
        """The call of a point on a set of arguments; its numbers have been compared."""
        key = _key(point)
        if key in self.launches:
            return self.launches[key]
        if key and self.expected is None:
            self._launch(DEFAULT)
        launch = self.ready.pop(key, None) or self._compiled(point)
        self.rotation.reset(1)
        left = self._left(launch(*self.rotation.sets[0]))
        if self.expected is None:
            self.expected = tuple(map(copied, left))
        elif where := difference(left, self.expected, self._types()):
            raise WrongResult(f"{where} as the default schedule computes")
        self.launches[key] = launch
        return launch

    def _compiled(self, point: Point) -> Any:
        """The function with the schedule of a point."""
        return scheduled(self.program, self.name, point)

    def _left(self, result: Any) -> tuple[Any, ...]:
        """All numbers that a call leaves: in its arguments, and as its results."""
        several = isinstance(result, tuple)
        results = cast("tuple[Any, ...]", result) if several else (result,)
        copies = enumerate(self.rotation.sets[0])
        changed = [copy for n, copy in copies if self.rotation.changed(n)]
        return (*changed, *(x for x in results if x is not None))

    def _types(self) -> list[Type]:
        """The types of the values of `_left`."""
        declared = self.program[self.name].view.type
        inputs = enumerate(declared.inputs)
        changed = [ty for n, ty in inputs if self.rotation.changed(n)]
        return [*changed, *declared.results]

    def _calls(self, launches: Sequence[Launch]) -> int:
        """The number of calls that last as long as a round."""
        first = max(self._timed(launch, 1) for launch in launches)
        return max(1, int(SECONDS_PER_ROUND / max(first, 1e-9)))

    def _timed(self, launch: Launch, calls: int) -> float:
        """Seconds of each of some consecutive calls, on one set after the other."""
        sets = self.rotation.sets
        self.rotation.reset()
        calls = min(calls, len(sets)) if len(sets) > 1 else calls
        return self._run(launch, [sets[n % len(sets)] for n in range(calls)])

    def _timed_again(self, launch: Launch, calls: int) -> float:
        """Seconds of each of some consecutive calls on one set, after one more."""
        self.rotation.reset(1)
        launch(*self.rotation.sets[0])
        return self._run(launch, [self.rotation.sets[0]] * calls)

    def _run(self, launch: Launch, sets: Sequence[tuple[Any, ...]]) -> float:
        def run() -> None:
            for copies in sets:
                launch(*copies)

        return self.clock(run) / len(sets)


def _since(begun: float) -> float:
    return time.perf_counter() - begun


def scheduled(program: Program, name: str, point: Point) -> Function:
    """A function with the schedule of a point.

    Its module is made from text, so that compiled code is cached on disk.
    """
    from gpucodegen.program import Program

    source = of_module(program.module)
    source = replace(source, text=str(program.module), allow_unregistered=True)
    base = replace(program[name].options, tuned=False)
    return Program(source, with_point(base, point))[name]


def compile_kernels(function: Function, arguments: Sequence[Any]) -> None:
    """Compiles everything that a call of a host function runs, without running it."""
    from gpucodegen.compiling.targets.registry import find

    function.bind(*arguments)
    made = function.executable()
    engine = find(made.target).engine()
    for spec in made.kernels:
        engine.launcher(spec)


def _key(point: Point) -> Identity:
    """The nonzero entries of a point."""
    return tuple(sorted((name, size) for name, size in point.items() if size))
