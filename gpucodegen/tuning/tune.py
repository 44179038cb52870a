"""``gpucodegen.tune``: times legal schedules and stores the best for `compile`.

The default schedule is timed first.  The fastest others are then compared with it
(`gpucodegen.tuning.final_comparison`); one is stored only if it is faster than the
default by more than the noise.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.compiling.tuned_schedules import SHAPES
from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.calibration import rank_correlation
from gpucodegen.tiling.tuning.search import (
    MeasureAll,
    Search,
    Trial,
    TrialError,
    identity,
)
from gpucodegen.tuning.final_comparison import Finalist, Timing, final, winner
from gpucodegen.tuning.remote_trials import by_executor
from gpucodegen.tuning.result import TuneResult
from gpucodegen.tuning.search_order import Order
from gpucodegen.tuning.task import Asked, Task

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    from gpucodegen.dialects.builtin import Module
    from gpucodegen.tiling.tuning.search import Model, Point
    from gpucodegen.tuning.pipeline_templates import Holes


UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Effort:
    """Limits: the number of trials, and the seconds after which none begins."""

    trials: int
    seconds: float = math.inf

    def clock(self) -> Callable[[], bool]:
        """A function that tells whether the time is over, counted from now on."""
        end = time.monotonic() + self.seconds
        return lambda: time.monotonic() >= end


EFFORTS = {"quick": Effort(24, 60.0), "full": Effort(400)}


def effort_of(effort: str, trials: int | None, budget: float | str | None) -> Effort:
    """A named effort, with other limits where they are given.

    Raises InvalidOption.

    >>> effort_of("quick", None, None)
    Effort(trials=24, seconds=60.0)
    >>> effort_of("full", None, "5m"), effort_of("quick", 30, None)
    (Effort(trials=400, seconds=300.0), Effort(trials=30, seconds=inf))
    """
    if effort not in EFFORTS:
        hint = f"Pass {errors.one_of(list(EFFORTS))}"
        raise errors.InvalidOption(name="effort", value=effort, hint=hint)
    if trials is not None and (type(trials) is not int or trials < 1):
        hint = "Pass an integer >= 1"
        raise errors.InvalidOption(name="trials", value=trials, hint=hint)
    named = EFFORTS[effort]
    if budget is not None:
        return Effort(trials or EFFORTS["full"].trials, seconds(budget))
    return named if trials is None else Effort(trials)


def seconds(budget: float | str) -> float:
    """A time in seconds, from a number or a text with a unit.

    >>> seconds("90s"), seconds("1.5m"), seconds(7)
    (90.0, 90.0, 7.0)
    """
    found = re.fullmatch(r"([0-9.]+)\s*([smh]?)", str(budget).strip())
    try:
        value = float(found[1]) * UNITS[found[2] or "s"] if found else -1.0
    except ValueError:
        value = -1.0
    if value <= 0:
        hint = "Pass seconds, or a text such as '60s' or '5m'"
        raise errors.InvalidOption(name="budget", value=budget, hint=hint)
    return value


HIRED = 2
"""Default number of concurrent trials of an executor, and of concurrent predictions."""


def tune(
    source: str | os.PathLike[str] | Module,
    name: str,
    *arguments: Any,
    effort: str = "quick",
    trials: int | None = None,
    budget: float | str | None = None,
    candidates: Sequence[Sequence[int] | Mapping[str, int]] | None = None,
    where: Callable[[Point], bool] | None = None,
    shapes: str = SHAPES[0],
    arch: str = "",
    pipeline: str = "",
    values: Mapping[str, Sequence[int]] | None = None,
    sampler: Any = None,
    executor: Executor | None = None,
    workers: int | None = None,
    isolate: bool = True,
    timeout: float = 60.0,
    observe: Callable[[Trial], object] | None = None,
    **options: object,
) -> TuneResult:
    """Searches schedules for one function called with these arguments.

    ``effort``: "quick" times 24 schedules in at most a minute, "full" 400.  ``trials``
    and ``budget`` (seconds, or "5m") set other limits; the default schedule is always
    timed, first.  Stored trials of an earlier tuning count, and are not repeated.
    ``candidates`` are tile sizes to try instead of searching, or fields of plans by
    their names; 0 is the compiler's own choice.  ``where``: a predicate of the points
    that may be tried, such as ``lambda point: point["tile0"] <= 64``.  ``shapes``:
    "bucket" stores the result for all shapes whose extents have the same next powers of
    two.

    ``arch``: predict for an architecture of GPU, such as "sm_90a", without such a GPU;
    a target ``cuda`` without a GPU, and ``sim``, predict as well.  Schedules are then
    estimated and the winner is stored as a prediction, which counts until one is
    measured.

    ``pipeline``: passes with holes, "tile{sizes=[$a,$b]}", that run before the
    compiler's; ``values``: integers for each hole, {"a": [8, 16], "b": [32]}.  They are
    timed against the program without them.  ``sampler``: an Optuna sampler, in place of
    the local search.  ``executor``: makes up to ``workers`` trials at the same time
    (default 2), on workers with the processor and packages of this one, such as a Dask
    client's ``get_executor()``.  Without one, ``workers`` processes (default 1) compile
    as many schedules for the CPU at once, before one of them measures these, alone; or
    predict as many at once (default 2).

    ``isolate``: schedules run in a separate process, so that a crash, or a run of more
    than ``timeout`` seconds (ten times as many where it is emulated), only fails its
    trial. ``observe`` is called with each trial.

    Points that `compile` would refuse are reported as illegal, with the reason, and
    never run. A schedule that leaves other numbers than the default is wrong, and never
    used. The arguments are copied, so they keep their contents.  A schedule that is
    faster than the default is stored for this function, these shapes, options and this
    machine, and used by `compile` from then on, in other processes too; if none is
    faster, none is stored.  The winner of a pipeline is `TuneResult.pipeline`;
    ``compile`` does not run it by itself.  Ctrl-C keeps the trials that were made.
    """
    limits = effort_of(effort, trials, budget)
    asked = Asked(shapes, arch, pipeline, values, where)
    _check(workers=1 if workers is None else workers, timeout=timeout)
    task = Task.of(source, name, arguments, asked, options)
    predicts = bool(task.about["predicted_for"])
    if workers is None:
        workers = 1 if executor is None and not predicts else HIRED
    most = max(limits.trials, 1 + len(candidates or ()))
    tried = limits.trials if candidates is None else len(candidates)
    width = workers if executor else task.crew(workers, tried)
    listed = most if executor or predicts else width
    order = Order.of(task.found, task.holes, candidates, sampler, most, width, listed)
    patience = task.patience(timeout) if isolate else 0.0
    timing, note = task.timing(patience)
    crew = None if executor else task.crewed(timing, width)
    try:
        alone = partial(map, timing.trial)
        if crew:
            alone = crew.predictions if predicts else crew.trials
        hired = executor and by_executor(executor, task.pickled, patience, workers)
        measure = hired or alone
        made = _searched(task, order, measure, Effort(most, limits.seconds), observe)
        finalists, trouble = _decided(task, made, timing)
        told = note, trouble, order.note, timing.told()
    finally:
        if crew:
            crew.close()
        timing.close()
    return TuneResult(
        name,
        _with_refused(made, task.holes),
        task.default,
        finalists,
        place=task.session.store.path,
        note="\n".join(filter(None, told)),
        holes=task.holes,
        about=task.about,
        agreement=_agreement(task.found.knob.clocks, made),
        corrected=_agreement(task.found.clocks, made)
        if task.found.correction.weights
        else None,
    )


def _check(**limits: float) -> None:
    """Raises InvalidOption for limits that allow no trial."""
    for name, value in limits.items():
        if not value > 0:
            hint = "Pass a number above 0"
            raise errors.InvalidOption(name=name, value=value, hint=hint)


def _searched(
    task: Task,
    order: Order,
    measure: MeasureAll,
    limits: Effort,
    observe: Callable[[Trial], object] | None,
) -> Sequence[Trial]:
    """The trials, and a trial of the default that another process made meanwhile."""
    session = task.session
    search = Search(
        order.space, measure, limits.trials, session, limits.clock(), observe
    )
    try:
        made = search.run(order.strategy).trials
    finally:
        task.teach(search.trials.values())
    if any(trial.point == task.default for trial in made):
        return made
    found = session.recall(task.default)
    return made if found is None else (found, *made)


def _decided(
    task: Task, made: Sequence[Trial], timing: Timing
) -> tuple[tuple[Finalist, ...], str]:
    """The final comparison, whose winner is stored; or none, with the reason."""
    session = task.session
    try:
        _require_default(made, task.default)
        before = session.store.winner(session.key)
        kept = None if before is None else before.point
        finalists = final(task.default, made, timing, kept)
    except TrialError as problem:
        return (), f"the final was given up, so what was stored stays: {problem}"
    best = winner(finalists)
    if best is None:
        session.crown(None)
    else:
        session.crown(best.point, best.gain.median)
    told = {"final": [one.json() for one in finalists], "finished": time.time()}
    session.describe({**task.about, **told})
    return finalists, ""


def _require_default(made: Sequence[Trial], default: Point) -> None:
    """Raises TrialError without a default to compare with."""
    trial = next((trial for trial in made if trial.point == default), None)
    if trial is None:
        raise TrialError("another process measures the default schedule")
    if trial.seconds is None:
        raise TrialError(f"the default schedule did not run: {trial.reason}")


def _with_refused(made: Sequence[Trial], holes: Holes | None) -> tuple[Trial, ...]:
    """The trials, plus the points of a pipeline that were found illegal."""
    listed = {identity(trial.point) for trial in made}
    illegal = holes.illegal if holes else []
    return (*made, *(one for one in illegal if identity(one.point) not in listed))


def _agreement(model: Model, trials: Sequence[Trial]) -> float | None:
    """The rank correlation of a model's clocks with the seconds of trials."""
    timed = [
        (clocks, trial.seconds)
        for trial in trials
        if trial.seconds and (clocks := model(trial.point))
    ]
    return rank_correlation([c for c, _ in timed], [s for _, s in timed])
