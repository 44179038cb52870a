"""``gpucodegen.tune``: time legal tile sizes, keep the best for `compile`.

The default schedule is timed first.  The fastest others meet it in a final
(`gpucodegen.tuning.final`), and one is stored only if it is faster there beyond noise.
"""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.api import compile as compile_source
from gpucodegen.compiling.stored import call_of
from gpucodegen.compiling.winners import SHAPES, TUNED_OPTIONS, Scope, tuning_store
from gpucodegen.tiling.tuning import strategies
from gpucodegen.tiling.tuning.ranks import rank_correlation
from gpucodegen.tiling.tuning.search import MeasureAll, Search
from gpucodegen.tiling.tuning.space import Space
from gpucodegen.tiling.tuning.trials import Trial, TrialError, identity
from gpucodegen.tuning.effort import effort_of
from gpucodegen.tuning.final import Finalist, Timing, final, winner
from gpucodegen.tuning.forecasts.basis import is_emulated, on_host, predicted_for
from gpucodegen.tuning.forecasts.forecast import Forecast
from gpucodegen.tuning.holes import Holes
from gpucodegen.tuning.measuring.contained import Contained
from gpucodegen.tuning.measuring.hired import measured
from gpucodegen.tuning.result import TuneResult
from gpucodegen.tuning.schedules import PRUNED, Schedules, schedules
from gpucodegen.tuning.subject import Subject
from gpucodegen.tuning.work import work_of

if TYPE_CHECKING:
    import os
    from concurrent.futures import Executor

    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program
    from gpucodegen.tiling.tuning.knobs import Knob
    from gpucodegen.tiling.tuning.records.store import Session
    from gpucodegen.tiling.tuning.space import Point


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
    ``candidates`` are tile sizes to try instead of searching, or fields of plans by
    their names; a 0 is the compiler's own choice.  ``where``: which points may be tried
    at all, such as ``lambda point: point["tile0"] <= 64``.  ``shapes``: "bucket" stores
    the result for all shapes whose extents have the same powers of two above them.
    ``arch``: predict for an architecture of GPU, such as "sm_90a", without one; so does
    a target ``cuda`` where there is no GPU, and ``sim``.  Schedules are then estimated
    and the winner is stored as a prediction, which counts until one is measured.
    ``pipeline``: passes with holes, "tile{sizes=[$a,$b]}", that run before the
    compiler's; ``values``: integers for each hole, {"a": [8, 16], "b": [32]}.  They are
    timed against the program without them.  ``sampler``: one of Optuna's, in the place
    of the local search.  ``executor``: makes up to ``workers`` trials at the same time,
    on workers with the processor and packages of this one, such as a Dask client's
    ``get_executor()``.
    ``isolate``: schedules run in a process of their own, so that one that crashes, or
    takes more than ``timeout`` seconds, is no more than a trial with that reason.
    ``observe`` is told each trial.

    What `compile` would refuse is reported as illegal, with the reason, and never run.
    One that leaves other numbers than the default schedule is wrong, and never used.
    The arguments are copied, so they keep their contents.  A schedule that is faster
    than the default is stored for this function, these shapes, options and this
    machine, and used by `compile` from then on, in other processes too; where none is,
    none is stored.  The winner of a pipeline is `TuneResult.pipeline`; ``compile`` does
    not run it by itself.  Ctrl-C keeps the trials that were made.
    """
    limits = effort_of(effort, trials, budget)
    _check(options, workers, timeout)
    chosen: dict[str, Any] = {"target": "cpu", **options, "tuned": False}
    scope = _scope(shapes, predicted_for(chosen["target"], arch, arguments))
    if scope.predicted_for:
        if arch or not is_emulated(chosen["target"], arguments):
            chosen["arch"] = scope.predicted_for
        chosen["target"], arguments = "sim", tuple(map(on_host, arguments))
    program = compile_source(source, **chosen)
    holes = _holes(pipeline, values)
    found = (
        holes.schedules(program.module)
        if holes
        else schedules(program, name, arguments)
    )
    if holes and scope.predicted_for:
        hint = "Tune a pipeline where its kernels run: nothing predicts what it makes"
        raise errors.InvalidOption(name="pipeline", value=pipeline, hint=hint)
    found = replace(found, where=where)
    ranked, left_out = found.ranked
    points = _points(found, candidates, holes, limits.trials)
    subject = Subject.of(program, name, arguments, holes, scope)
    session = tuning_store().session(subject.identity)
    session.forgive(found.default)  # it may have been the arguments, or the machine
    known = session.recall(found.default)
    subject = replace(subject, base=known.seconds or 0.0) if known else subject
    call = program[name].key_for(arguments)
    about = {
        **subject.about(),
        "target": call[0],
        "call": call_of(call),
        "work": work_of(program, name, arguments),
    }
    session.describe(about)
    isolate = isolate and not scope.predicted_for
    timing, note = _timing(
        program, subject, arguments, isolate=isolate, timeout=timeout
    )
    try:
        search = Search(
            _space(found, points),
            _measure(
                *(timing, subject, executor, session, found.default),
                timeout if isolate else 0.0,
            ),
            max(limits.trials, 1 + len(candidates or ())),
            session,
            limits.clock(),
            observe,
        )
        width = 1 if executor is None else workers
        if points is None and sampler is None and found.knob.option == "plan":
            points = ranked
        strategy = _strategy(found, points, ranked, sampler, width)
        made = search.run(strategies.after(found.default, strategy)).trials
        made = _with_default(made, session, found.default)
        finalists: tuple[Finalist, ...] = ()
        try:
            _require_default(made, found.default)
            before = session.store.winner(session.key)
            kept = None if before is None else before.point
            finalists = final(found.default, made, timing, kept)
            _keep(session, about, finalists)
        except TrialError as problem:
            note = f"the final was given up, so what was stored stays: {problem}"
    finally:
        timing.close()
    place, every = session.store.path, _with_refused(made, holes)
    told = note, _left_out(left_out, candidates), _compared(timing)
    note = "\n".join(filter(None, told))
    agreement = _agreement(found.knob, made)
    more = place, note, holes, about, agreement
    return TuneResult(name, every, found.default, finalists, *more)


def _agreement(knob: Knob, trials: Sequence[Trial]) -> float | None:
    """The rank correlation of the model's clocks with the seconds of trials."""
    timed = [
        (clocks, trial.seconds)
        for trial in trials
        if trial.seconds and (clocks := knob.clocks(trial.point))
    ]
    return rank_correlation([c for c, _ in timed], [s for _, s in timed])


def _check(options: Mapping[str, object], workers: int, timeout: float) -> None:
    """Raise InvalidOption for what tuning itself chooses, and for other limits."""
    for name in TUNED_OPTIONS:
        if options.get(name):
            hint = "Tuning chooses it; pass candidates= to try some and no others"
            raise errors.InvalidOption(name=name, value=options[name], hint=hint)
    for name, value in (("workers", workers), ("timeout", timeout)):
        if not value > 0:
            hint = "Pass a number above 0"
            raise errors.InvalidOption(name=name, value=value, hint=hint)


def _scope(shapes: str, predicted: str) -> Scope:
    """For what the result holds."""
    if shapes not in SHAPES:
        hint = f"Pass {errors.one_of(SHAPES)}"
        raise errors.InvalidOption(name="shapes", value=shapes, hint=hint)
    return Scope(shapes, predicted)


def _compared(timing: Timing) -> str:
    """On what a forecast compared numbers."""
    if not isinstance(timing, Forecast) or not timing.checked:
        return ""
    return f"numbers were compared on the emulated device, with {timing.checked}"


def _left_out(count: int, candidates: object) -> str:
    """What the model keeps from being tried."""
    if not count or candidates is not None:
        return ""
    return (
        f"left out: {count} schedules that the model of the machine expects to take"
        f" more than {PRUNED:.0f} times as long as the default"
    )


def _holes(pipeline: str, values: Mapping[str, Sequence[int]] | None) -> Holes | None:
    """Those of the pipeline that is tuned, if one is."""
    if pipeline:
        return Holes.of(pipeline, values)
    if values is not None:
        hint = "Pass a pipeline with holes for them too"
        raise errors.InvalidOption(name="values", value=values, hint=hint)
    return None


def _keep(
    session: Session, about: Mapping[str, object], finalists: Sequence[Finalist]
) -> None:
    """Store the winner, how the final went, and that there was one."""
    best = winner(finalists)
    if best is None:
        session.crown(None)
    else:
        session.crown(best.point, best.gain.median)
    told = {"final": [one.json() for one in finalists], "finished": time.time()}
    session.describe({**about, **told})


def _with_default(
    made: Sequence[Trial], session: Session, default: Point
) -> Sequence[Trial]:
    """The trials, and that of the default which another process made meanwhile."""
    if any(trial.point == default for trial in made):
        return made
    found = session.recall(default)
    return made if found is None else (found, *made)


def _require_default(made: Sequence[Trial], default: Point) -> None:
    """Raise TrialError where nothing can be compared with the default."""
    trial = next((trial for trial in made if trial.point == default), None)
    if trial is None:
        raise TrialError("another process measures the default schedule")
    if trial.seconds is None:
        raise TrialError(f"the default schedule did not run: {trial.reason}")


def _with_refused(made: Sequence[Trial], holes: Holes | None) -> tuple[Trial, ...]:
    """The trials, and the points of a pipeline that were found illegal besides."""
    listed = {identity(trial.point) for trial in made}
    illegal = holes.illegal if holes else []
    return (*made, *(one for one in illegal if identity(one.point) not in listed))


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
        return subject.timing(program, arguments), ""
    try:
        return Contained.of(subject, timeout), ""
    except Exception as problem:  # noqa: BLE001  (what is wrong here too is raised here)
        reason = f"{type(problem).__name__}: {problem}"
    note = f"schedules ran in this process, since another one cannot run them: {reason}"
    return subject.timing(program, arguments), note


def _space(found: Schedules, points: Sequence[Point] | None) -> Space:
    """What may be tried; of given points, what the compiler refuses may not."""
    if points is None:
        return found.space
    return Space(found.knob.values, found.objection)


def _points(
    found: Schedules,
    candidates: Sequence[Sequence[int] | Mapping[str, int]] | None,
    holes: Holes | None,
    trials: int,
) -> Sequence[Point] | None:
    """Points to try instead of searching: given ones, or all of a pipeline if few."""
    if candidates is not None:
        return [found.default, *map(found.point_of, candidates)]
    if holes and holes.count < trials:
        return [found.default, *holes.points()]
    return None


def _strategy(
    found: Schedules,
    points: Sequence[Point] | None,
    ranked: Sequence[Point],
    sampler: Any,
    width: int,
) -> strategies.Strategy:
    """The order of the trials, the default before all others."""
    if points is not None:
        return strategies.given(points, width=width)
    if sampler is not None:
        return strategies.sampled(found.space, ranked[:1], sampler, width=width)
    model = found.knob.clocks
    return strategies.local_search(found.space, ranked, width=width, model=model)


def _measure(
    timing: Timing,
    subject: Subject,
    executor: Executor | None,
    session: Session,
    default: Point,
    timeout: float,
) -> MeasureAll:
    """Trials one after another, or as an executor has them done.

    Its workers take what the default took in the first of them as the measure.
    """
    if executor is None:
        return lambda points: map(timing.trial, points)

    def measure(points: Sequence[Point]) -> Iterator[Trial]:
        from concurrent.futures import as_completed

        known = session.recall(default)
        pickled = pickle.dumps(replace(subject, base=(known and known.seconds) or 0.0))
        asked = [
            executor.submit(measured, pickled, dict(point), timeout) for point in points
        ]
        yield from (future.result() for future in as_completed(asked))

    return measure
