"""Schedules of one function timed on the same arguments, alone or in turn.

Comes in: a program, a function, the arguments of a call.  Goes out: trials of points.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from gpucodegen.compiling.winners import Point, with_point
from gpucodegen.program_text import of_module
from gpucodegen.tiling.tuning.trials import Identity, Trial, WrongResult
from gpucodegen.tuning.agreement import difference
from gpucodegen.tuning.arguments import copied

if TYPE_CHECKING:
    from gpucodegen.ir.types import Type
    from gpucodegen.program import Program

Launch = Callable[[], Any]
REPETITIONS = 3
SECONDS_PER_TRIAL = 0.2
ROUNDS = range(9, 25)
"""Rounds of a final: the fewest, and those that fit its time."""
SECONDS_PER_FINAL = 1.5
SECONDS_PER_ROUND = 2e-3
"""Shorter calls are repeated in a round, as the clock is not exact."""
DEFAULT: Point = {}
"""The compiler's own choices."""


@dataclass(slots=True)
class Contest:
    """Times schedules of ``program[name]`` on copies of the arguments.

    All schedules get the same copies, as times depend on where arrays lie, with their
    first contents before each timing.  What a schedule leaves in them, and returns, is
    compared with what the default leaves.
    """

    program: Program
    name: str
    arguments: Sequence[Any]
    copies: tuple[Any, ...]
    launches: dict[Identity, Launch] = field(default_factory=dict[Identity, "Launch"])
    expected: tuple[Any, ...] | None = None

    @staticmethod
    def of(program: Program, name: str, arguments: Sequence[Any]) -> Contest:
        """A contest with copies of the arguments."""
        return Contest(program, name, arguments, tuple(map(copied, arguments)))

    def trial(self, point: Point) -> Trial:
        """The trial of one point, alone."""
        from gpucodegen.tiling.tuning.search import one_by_one

        return next(iter(one_by_one(self.seconds)([point])))

    def seconds(self, point: Point) -> float:
        """Median seconds of a call; what keeps the point from running is raised.

        Raises WrongResult where it leaves other numbers than the default schedule.
        """
        launch = self._launch(point)
        times: list[float] = []
        begun = time.perf_counter()
        while (
            len(times) < REPETITIONS or time.perf_counter() - begun < SECONDS_PER_TRIAL
        ):
            times.append(self._timed(launch, 1))
        return statistics.median(times)

    def rounds(self, points: Sequence[Point]) -> list[list[float]]:
        """Seconds of calls of each point, all of them in each round."""
        launches = [self._launch(point) for point in points]
        first = [self._timed(launch, 1) for launch in launches]
        calls = max(1, int(SECONDS_PER_ROUND / max(*first, 1e-9)))
        seconds: list[list[float]] = [[] for _ in points]
        begun = time.perf_counter()
        for done in range(ROUNDS.stop):
            is_late = time.perf_counter() - begun > SECONDS_PER_FINAL
            if is_late and done >= ROUNDS.start:
                break
            turn = list(zip(launches, seconds, strict=True))
            for launch, times in turn if done % 2 else reversed(turn):
                times.append(self._timed(launch, calls))
        return seconds

    def close(self) -> None:
        """Nothing is held."""

    def _launch(self, point: Point) -> Launch:
        """The bound call of a point, whose numbers were compared."""
        key = tuple(sorted((name, size) for name, size in point.items() if size))
        if key in self.launches:
            return self.launches[key]
        if key and self.expected is None:
            self._launch(DEFAULT)
        launch = self._bound(point)
        self._reset()
        left = self._left(launch())
        if self.expected is None:
            self.expected = tuple(map(copied, left))
        elif where := difference(left, self.expected, self._types()):
            raise WrongResult(f"{where} as the default schedule computes")
        self.launches[key] = launch
        return launch

    def _bound(self, point: Point) -> Launch:
        """The call of a point on the copies, compiled."""
        from gpucodegen.program import Program

        base = replace(self.program[self.name].options, tuned=False)
        compiled = Program(of_module(self.program.module), with_point(base, point))
        return compiled[self.name].bind(*self.copies)

    def _left(self, result: Any) -> tuple[Any, ...]:
        """All numbers that a call leaves: in its arguments, and as its results."""
        several = isinstance(result, tuple)
        results = cast("tuple[Any, ...]", result) if several else (result,)
        changed = [
            copy
            for copy, argument in zip(self.copies, self.arguments, strict=True)
            if copy is not argument
        ]
        return (*changed, *(x for x in results if x is not None))

    def _types(self) -> list[Type]:
        """Those of what `_left` gives."""
        declared = self.program[self.name].view.type
        pairs = zip(self.copies, self.arguments, declared.inputs, strict=True)
        changed = [ty for copy, argument, ty in pairs if copy is not argument]
        return [*changed, *declared.results]

    def _reset(self) -> None:
        """Give the copies their first contents."""
        for copy, argument in zip(self.copies, self.arguments, strict=True):
            if copy is not argument:
                copy[...] = argument

    def _timed(self, launch: Launch, calls: int) -> float:
        """Seconds of each of some calls in a row."""
        self._reset()
        start = time.perf_counter()
        for _ in range(calls):
            launch()
        return (time.perf_counter() - start) / calls
