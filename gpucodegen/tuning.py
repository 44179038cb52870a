"""``gpucodegen.tune``: time legal tile sizes, keep the best for `compile`."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.api import compile as compile_source
from gpucodegen.options import Options
from gpucodegen.schedules import Schedules, point_of, schedules, with_point
from gpucodegen.source import of_module
from gpucodegen.tuned import tuning_identity, tuning_store

if TYPE_CHECKING:
    import os

    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program
    from gpucodegen.tiling.search import Memory, Trial

Point = Mapping[str, int]
REPETITIONS = 5
SECONDS_PER_TRIAL = 0.2


@dataclass(frozen=True, slots=True)
class TuneResult:
    """Every trial of a tuning and the best of them."""

    function: str
    trials: tuple[Trial, ...]

    @property
    def best(self) -> Trial | None:
        """The fastest trial that ran."""
        timed = [trial for trial in self.trials if trial.seconds is not None]
        return min(timed, key=lambda trial: trial.seconds or 0.0, default=None)

    def __str__(self) -> str:
        lines = [f"@{self.function}: {len(self.trials)} trials"]
        order = sorted(self.trials, key=lambda t: (t.seconds is None, t.seconds or 0.0))
        for trial in order:
            point = ", ".join(f"{k}={v}" for k, v in trial.point.items())
            took = (
                trial.reason
                if trial.seconds is None
                else f"{trial.seconds * 1e3:.3f} ms"
            )
            lines.append(f"  {point}: {trial.status.value} {took}")
        return "\n".join(lines)


def tune(
    source: str | os.PathLike[str] | Module,
    name: str,
    *arguments: Any,
    trials: int = 12,
    candidates: Sequence[Sequence[int]] | None = None,
    **options: object,
) -> TuneResult:
    """Search tile sizes for one function called with these arguments.

    ``candidates`` are tile sizes to try instead of searching; an illegal one is
    reported as such, with the reason, and never run.  The arguments are copied, so they
    keep their contents.  The winner is stored for this function, these shapes and this
    machine, and used by `compile` from then on, in other processes too.
    """
    from gpucodegen.tiling.search import search

    chosen: dict[str, Any] = {"target": "cpu", **options, "tuned": False}
    program = compile_source(source, **chosen)
    base = program[name].options
    found = schedules(program, name, arguments)
    session = tuning_store().session(tuning_identity(program, name, arguments))

    def measure(point: Point) -> float:
        return _time(program, name, with_point(base, point), arguments)

    if candidates is not None:
        points = [point_of(sizes, found) for sizes in candidates]
        return TuneResult(name, _try_all(points, found, measure, session))
    outcome = search(
        found.space, measure, budget=trials, seeds=found.seeds, memory=session
    )
    return TuneResult(name, outcome.trials)


def _try_all(
    points: Sequence[Point],
    found: Schedules,
    measure: Callable[[Point], float],
    session: Memory,
) -> tuple[Trial, ...]:
    """One trial per given point; illegal ones are recorded and not run."""
    from gpucodegen.tiling.search import Status, Trial

    trials: list[Trial] = []
    for point in points:
        reason = found.space.objection(point)
        if reason is not None:
            trial = Trial(point, Status.ILLEGAL, reason=str(reason))
        else:
            try:
                trial = Trial(point, Status.OK, measure(point))
            except errors.Error as failure:
                trial = Trial(point, Status.FAILED, reason=failure.message)
        session.claim(point)
        session.remember(trial)
        trials.append(trial)
    return tuple(trials)


def _time(
    program: Program, name: str, options: Options, arguments: Sequence[Any]
) -> float:
    """Median seconds of a bound call on copies of the arguments."""
    from gpucodegen.program import Program

    copies = [a.copy() if hasattr(a, "copy") else a for a in arguments]
    source = of_module(program.module)
    launch = Program(source, replace(options, tuned=False))[name].bind(*copies)
    launch()
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < REPETITIONS or time.perf_counter() - begun < SECONDS_PER_TRIAL:
        start = time.perf_counter()
        launch()
        times.append(time.perf_counter() - start)
    return statistics.median(times)


def require_best(result: TuneResult) -> Trial:
    """The best trial, or an error if nothing ran."""
    if result.best is None:
        reasons = "; ".join(trial.reason for trial in result.trials[:3])
        raise errors.LaunchFailed(
            kernel=result.function,
            reason=reasons or "no candidate",
            hint="Widen the space",
        )
    return result.best
