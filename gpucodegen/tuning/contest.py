"""Schedules of one function timed on the same arguments, alone or in turn.

Comes in: a program, a function, the arguments of a call.  Goes out: seconds of points.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

from gpucodegen.compiling.winners import Point, with_point
from gpucodegen.program_text import of_module

if TYPE_CHECKING:
    from gpucodegen.program import Program

Launch = Callable[[], Any]
REPETITIONS = 3
SECONDS_PER_TRIAL = 0.2
ROUNDS = range(9, 25)
"""Rounds of a final: the fewest, and those that fit its time."""
SECONDS_PER_FINAL = 1.5
SECONDS_PER_ROUND = 2e-3
"""Shorter calls are repeated in a round, as the clock is not exact."""


@dataclass(frozen=True, slots=True)
class Contest:
    """Times schedules of ``program[name]`` on copies of the arguments.

    All schedules get the same copies, as times depend on where arrays lie, with their
    first contents before each timing.
    """

    program: Program
    name: str
    arguments: Sequence[Any]
    copies: tuple[Any, ...]
    launches: dict[tuple[tuple[str, int], ...], Launch] = field(
        default_factory=dict[tuple[tuple[str, int], ...], Launch]
    )

    @staticmethod
    def of(program: Program, name: str, arguments: Sequence[Any]) -> Contest:
        """A contest with copies of the arguments."""
        return Contest(program, name, arguments, tuple(map(_copy, arguments)))

    def seconds(self, point: Point) -> float:
        """Median seconds of a call; what keeps the point from running is raised."""
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

    def _launch(self, point: Point) -> Launch:
        """The bound call of a point, which ran once."""
        from gpucodegen.program import Program

        key = tuple(sorted(point.items()))
        if key not in self.launches:
            base = replace(self.program[self.name].options, tuned=False)
            compiled = Program(of_module(self.program.module), with_point(base, point))
            launch = compiled[self.name].bind(*self.copies)
            launch()
            self.launches[key] = launch
        return self.launches[key]

    def _timed(self, launch: Launch, calls: int) -> float:
        """Seconds of each of some calls in a row."""
        for copy, argument in zip(self.copies, self.arguments, strict=True):
            if copy is not argument:
                copy[...] = argument
        start = time.perf_counter()
        for _ in range(calls):
            launch()
        return (time.perf_counter() - start) / calls


def _copy(argument: Any) -> Any:
    """An argument in memory of its own, with the same strides; numbers as they are.

    >>> import numpy as np
    >>> _copy(np.zeros((6, 4), "f4")[::2, ::-1]).strides, _copy(3)
    ((32, -4), 3)
    """
    import numpy as np

    if not isinstance(argument, np.ndarray):
        return argument.copy() if hasattr(argument, "__setitem__") else argument
    array = cast("np.ndarray[Any, np.dtype[Any]]", argument)
    extents = zip(array.shape, array.strides, strict=True)
    steps = [(extent - 1) * stride for extent, stride in extents if extent]
    before = -sum(min(step, 0) for step in steps)
    size = before + sum(max(step, 0) for step in steps) + array.itemsize
    place = np.empty(size, np.uint8)
    copy = np.ndarray(array.shape, array.dtype, place, before, array.strides)
    copy[...] = array
    return copy
