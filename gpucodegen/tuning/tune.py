"""``gpucodegen.tune``: time legal tile sizes, keep the best for `compile`.

The default schedule is timed first.  The fastest others meet it in a final, all in
turn on the same arrays, and one is stored only if it is faster there beyond noise.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from gpucodegen.api import compile as compile_source
from gpucodegen.compiling.winners import tuning_store
from gpucodegen.tiling.tuning import strategies
from gpucodegen.tiling.tuning.search import MeasureAll, Search
from gpucodegen.tiling.tuning.space import Space
from gpucodegen.tiling.tuning.trials import Trial, TrialError
from gpucodegen.tuning.contained import Contained
from gpucodegen.tuning.contest import Contest
from gpucodegen.tuning.effort import effort_of
from gpucodegen.tuning.result import TuneResult
from gpucodegen.tuning.schedules import Schedules, schedules
from gpucodegen.tuning.subject import Subject, identity_of, measured

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program
    from gpucodegen.tiling.tuning.space import Point

FINALISTS = 3
"""Schedules that meet the default in the final."""


class Timing(Protocol):
    """What times schedules: `Contest` in this process, `Contained` in another."""

    def trial(self, point: Point) -> Trial:
        """The trial of one point, alone."""
        ...

    def rounds(self, points: Sequence[Point]) -> list[list[float]]:
        """Seconds of calls of each point, all of them in each round."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


def tune(
    source: str | os.PathLike[str] | Module,
    name: str,
    *arguments: Any,
    effort: str = "quick",
    trials: int | None = None,
    budget: float | str | None = None,
    candidates: Sequence[Sequence[int]] | None = None,
    sampler: Any = None,
    executor: Executor | None = None,
    workers: int = 2,
    isolate: bool = True,
    timeout: float = 60.0,
    observe: Callable[[Trial], object] | None = None,
    **options: object,
) -> TuneResult:
    """Search tile sizes for one function called with these arguments.

    ``effort``: "quick" times 12 schedules in at most a minute, "full" 400.  ``trials``
    and ``budget`` (seconds, or "5m") set other limits; the default schedule is always
    timed, first.  Trials that an earlier tuning stored count, and are not made again.
    ``candidates`` are tile sizes to try instead of searching; a 0 is the compiler's own
    choice.  ``sampler``: one of Optuna's, in the place of the local search.
    ``executor``: makes up to ``workers`` trials at the same time, on workers with the
    processor and packages of this one, such as a Dask client's ``get_executor()``.
    ``isolate``: schedules run in a process of their own, so that one that crashes, or
    takes more than ``timeout`` seconds, is no more than a trial with that reason.
    ``observe`` is told each trial.

    What `compile` would refuse is reported as illegal, with the reason, and never run.
    One that leaves other numbers than the default schedule is wrong, and never used.
    The arguments are copied, so they keep their contents.  A schedule that is faster
    than the default is stored for this function, these shapes, options and this
    machine, and used by `compile` from then on, in other processes too; where none is,
    none is stored.  Ctrl-C keeps the trials that were made.
    """
    limits = effort_of(effort, trials, budget)
    chosen: dict[str, Any] = {"target": "cpu", **options, "tuned": False}
    program = compile_source(source, **chosen)
    found = schedules(program, name, arguments)
    subject = Subject.of(
        program, name, arguments, identity_of(program, name, arguments)
    )
    session = tuning_store().session(subject.identity)
    session.describe(subject.about())
    timing, note = _timing(
        program, subject, arguments, isolate=isolate, timeout=timeout
    )
    try:
        search = Search(
            _space(found, candidates),
            _measure(timing, subject, executor),
            max(limits.trials, 1 + len(candidates or ())),
            session,
            limits.clock(),
            observe,
        )
        width = 1 if executor is None else workers
        made = search.run(_strategy(found, candidates, sampler, width)).trials
        winner, gain = None, 1.0
        try:
            winner, gain = _final(found.default, made, timing)
            session.crown(winner, gain)
        except TrialError as problem:
            note = f"the final was given up, so what was stored stays: {problem}"
    finally:
        timing.close()
    place = session.store.path
    return TuneResult(name, made, found.default, winner, gain, place, note)


def _timing(
    program: Program,
    subject: Subject,
    arguments: tuple[Any, ...],
    *,
    isolate: bool,
    timeout: float,
) -> tuple[Timing, str]:
    """What times schedules, and why it does so in this process if it does."""
    if not isolate:
        return Contest.of(program, subject.name, arguments), ""
    try:
        return Contained.of(subject, timeout), ""
    except Exception as problem:  # noqa: BLE001  (what is wrong here too is raised here)
        reason = f"{type(problem).__name__}: {problem}"
    note = f"schedules ran in this process, since another one cannot run them: {reason}"
    return Contest.of(program, subject.name, arguments), note


def _space(found: Schedules, candidates: Sequence[Sequence[int]] | None) -> Space:
    """What may be tried; of given points, what the compiler refuses may not."""
    if candidates is None:
        return found.space
    return Space(found.knob.values, found.refusal)


def _strategy(
    found: Schedules,
    candidates: Sequence[Sequence[int]] | None,
    sampler: Any,
    width: int,
) -> strategies.Strategy:
    """The order of the trials, the default before all others."""
    if candidates is not None:
        points = [found.default, *map(found.point_of, candidates)]
        return strategies.given(points, width=width)
    if sampler is not None:
        return strategies.sampled(found.space, found.seeds, sampler, width=width)
    return strategies.local_search(found.space, found.seeds, width=width)


def _measure(timing: Timing, subject: Subject, executor: Executor | None) -> MeasureAll:
    """Trials one after another, or as an executor has them done."""
    if executor is None:
        return lambda points: map(timing.trial, points)
    pickled = pickle.dumps(subject)

    def measure(points: Sequence[Point]) -> Iterator[Trial]:
        from concurrent.futures import as_completed

        asked = [executor.submit(measured, pickled, dict(point)) for point in points]
        yield from (future.result() for future in as_completed(asked))

    return measure


def _final(
    default: Point, trials: Sequence[Trial], timing: Timing
) -> tuple[Point | None, float]:
    """The point that is faster than the default, and how many times as fast it is.

    None where the default did not run: nothing is known to be faster.  Raises
    TrialError.
    """
    from gpucodegen.tiling.tuning.verdict import is_faster, ratio

    timed = sorted((t.seconds, n) for n, t in enumerate(trials) if t.seconds)
    fastest = [trials[n].point for _, n in timed]
    finalists = [point for point in fastest if point != default][:FINALISTS]
    if not finalists or default not in fastest:
        return None, 1.0
    theirs, *others = timing.rounds([default, *finalists])
    proven = [
        (1 / ratio(own, theirs), -n)
        for n, own in enumerate(others)
        if is_faster(own, theirs)
    ]
    if not proven:
        return None, 1.0
    gain, n = max(proven)
    return finalists[-n], gain
