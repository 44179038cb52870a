"""Compile pool: processes compile schedules, then one measures them, alone.

Predictions are made by all of them, as nothing is timed.
While anything is measured, nothing is compiled: each group of points is compiled first,
by all processes.  The disk cache passes compiled code to the process that measures.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.search import Trial, TrialError, failed
from gpucodegen.tuning.isolated_trials import IsolatedTrials
from gpucodegen.tuning.paired_benchmark import compile_kernels, scheduled

if TYPE_CHECKING:
    from gpucodegen.program import Program
    from gpucodegen.tiling.tuning.search import Point


@dataclass(frozen=True, slots=True)
class Compiling:
    """Compiles schedules of ``program[name]`` and runs none."""

    program: Program
    name: str
    arguments: Sequence[Any]

    def prepare(self, point: Point) -> None:
        """Compile the schedule of a point for the arguments."""
        function = scheduled(self.program, self.name, point)
        compile_kernels(function, self.arguments)


@dataclass(slots=True)
class CompilePool:
    """The process that measures, and ``helpers`` that compile for it; to be closed."""

    timer: IsolatedTrials
    helpers: list[IsolatedTrials]

    @staticmethod
    def of(timer: IsolatedTrials, subject: object, helpers: int) -> CompilePool:
        """A pool whose processes have started; raises the error if one cannot."""
        pickled, crew = pickle.dumps(subject), CompilePool(timer, [])
        try:
            crew.helpers = [timer.beside(pickled) for _ in range(helpers)]
            with ThreadPoolExecutor(helpers) as threads:
                list(threads.map(IsolatedTrials.start, crew.helpers))
        except BaseException:
            crew.close()
            raise
        return crew

    def predictions(self, points: Iterable[Point]) -> Iterator[Trial]:
        """The trials of some points by all processes side by side, in their order.

        Nothing is timed, so they do not disturb each other.
        """
        workers: SimpleQueue[IsolatedTrials] = SimpleQueue()
        for worker in (self.timer, *self.helpers):
            workers.put(worker)

        def trial(point: Point) -> Trial:
            worker = workers.get()
            try:
                return worker.trial(point)
            finally:
                workers.put(worker)

        size = 1 + len(self.helpers)
        with ThreadPoolExecutor(size) as threads:
            asked: deque[Future[Trial]] = deque()
            for point in points:
                asked.append(threads.submit(trial, point))
                if len(asked) == size:
                    yield asked.popleft().result()
            while asked:
                yield asked.popleft().result()

    def trials(self, asked: Iterable[Point]) -> Iterator[Trial]:
        """The trials of some points, all compiled before any is measured."""
        points = list(asked)
        problems = self._prepared(points) if len(points) > 1 else [None] * len(points)
        for point, problem in zip(points, problems, strict=True):
            yield self.timer.trial(point) if problem is None else failed(point, problem)

    def close(self) -> None:
        """End the helpers."""
        for helper in self.helpers:
            helper.close()

    def _prepared(self, points: Sequence[Point]) -> list[TrialError | None]:
        """For each point, the error that ended the process that compiled it."""
        workers = [self.timer, *self.helpers]
        found: list[TrialError | None] = [None] * len(points)

        def prepare(number: int) -> None:
            for n in range(number, len(points), len(workers)):
                found[n] = _problem(workers[number], points[n])

        with ThreadPoolExecutor(len(workers)) as threads:
            list(threads.map(prepare, range(len(workers))))
        return found


def _problem(worker: IsolatedTrials, point: Point) -> TrialError | None:
    """The error that ended a compiling process; other errors show up in the trial."""
    try:
        worker.prepare(point)
    except TrialError as problem:
        return problem
    except Exception:  # noqa: BLE001
        return None
    return None
