"""A tuning task: a program's call, its tuning space, and the session of its trials."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.api import compile as compile_source
from gpucodegen.compiling.stored_tunings import call_of
from gpucodegen.compiling.targets import registry
from gpucodegen.compiling.tuned_schedules import (
    SHAPES,
    TUNED_OPTIONS,
    Scope,
    machine_identity,
    tuning_store,
)
from gpucodegen.records import dataclass
from gpucodegen.runtime.processor import processors
from gpucodegen.tiling.tuning.calibration import Correction, keep, recorded_tunings
from gpucodegen.tuning.arguments import on_host
from gpucodegen.tuning.compile_pool import CompilePool, Compiling
from gpucodegen.tuning.forecast import is_emulated, predicted_for
from gpucodegen.tuning.isolated_trials import IsolatedTrials
from gpucodegen.tuning.pipeline_templates import Holes
from gpucodegen.tuning.schedules import Schedules, schedules
from gpucodegen.tuning.subject import Subject
from gpucodegen.tuning.work import work_of

if TYPE_CHECKING:
    import os

    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program
    from gpucodegen.tiling.tuning.search import Point, Trial
    from gpucodegen.tiling.tuning.store import Session
    from gpucodegen.tuning.final_comparison import Timing

MANY = 8
"""Trials for which it pays to begin more processes."""
EMULATION = 10.0
"""Factor on the time limit of a trial on the emulated device."""
Values = Mapping[str, Sequence[int]]


@dataclass(frozen=True, slots=True)
class Asked:
    """The caller's wishes besides the options of the compiler, as in `tune`."""

    shapes: str = SHAPES[0]
    arch: str = ""
    pipeline: str = ""
    values: Values | None = None
    where: Callable[[Point], bool] | None = None

    @property
    def holes(self) -> Holes | None:
        """The holes of the tuned pipeline, if there is one.  Raises InvalidOption."""
        if self.pipeline:
            return Holes.of(self.pipeline, self.values)
        if self.values is not None:
            hint = "Pass a pipeline with holes for them too"
            raise errors.InvalidOption(name="values", value=self.values, hint=hint)
        return None

    def scope(self, target: str, arguments: Sequence[Any]) -> Scope:
        """The shapes for which the result holds.  Raises InvalidOption."""
        if self.shapes not in SHAPES:
            hint = f"Pass {errors.one_of(SHAPES)}"
            raise errors.InvalidOption(name="shapes", value=self.shapes, hint=hint)
        predicted = predicted_for(target, self.arch, arguments)
        if predicted and self.pipeline:
            hint = (
                "Tune a pipeline where its kernels run: nothing predicts what it makes"
            )
            raise errors.InvalidOption(name="pipeline", value=self.pipeline, hint=hint)
        return Scope(self.shapes, predicted)


@dataclass(frozen=True, slots=True)
class Task:
    """A function of a program called with ``arguments``, and the state of its tuning.

    ``found``: the tuning space.  ``session``: the memory of its trials.  ``about``: its
    description in the store.  ``machine``: the machine whose model its trials correct;
    "": none.
    """

    program: Program
    arguments: tuple[Any, ...]
    subject: Subject
    holes: Holes | None
    found: Schedules
    session: Session
    about: Mapping[str, Any]
    machine: str = ""

    @staticmethod
    def of(
        source: str | os.PathLike[str] | Module,
        name: str,
        arguments: tuple[Any, ...],
        asked: Asked,
        options: Mapping[str, Any],
    ) -> Task:
        """The task of a call, described in the store.  Raises InvalidOption."""
        _check_options(options)
        chosen: dict[str, Any] = {"target": "cpu", **options, "tuned": False}
        scope, holes = asked.scope(chosen["target"], arguments), asked.holes
        if scope.predicted_for:
            if asked.arch or not is_emulated(chosen["target"], arguments):
                chosen["arch"] = scope.predicted_for
            chosen["target"], arguments = "sim", tuple(map(on_host, arguments))
        program = compile_source(source, **chosen)
        found = (
            holes.schedules(program.module)
            if holes
            else schedules(program, name, arguments)
        )
        subject = Subject.of(program, name, arguments, holes, scope)
        session = tuning_store().session(subject.identity)
        about = _about(program, subject, arguments)
        session.describe(about)
        session.forgive(found.default)  # it may have been arguments, or the machine
        known = session.recall(found.default)
        subject = replace(subject, base=known.seconds or 0.0) if known else subject
        machine = ""
        if not (holes or scope.predicted_for):
            machine = machine_identity(about["target"], subject.options.threads)
            lessons = recorded_tunings(session.store, machine, besides=session.key)
            found = replace(found, correction=Correction.of(lessons))
        found = replace(found, where=asked.where)
        return Task(program, arguments, subject, holes, found, session, about, machine)

    @property
    def default(self) -> Point:
        """The point of the compiler's own choices."""
        return self.found.default

    def pickled(self) -> bytes:
        """The subject for other processes, with the first time of the default."""
        known = self.session.recall(self.default)
        base = (known and known.seconds) or 0.0
        return pickle.dumps(replace(self.subject, base=base))

    def teach(self, trials: Iterable[Trial]) -> None:
        """Stores the model's expectations of trials, to calibrate later tunings."""
        knob = self.found.knob
        expected = [
            (trial.point, knob.features(trial.point), clocks)
            for trial in trials
            if trial.seconds and (clocks := knob.clocks(trial.point))
        ]
        if self.machine and expected:
            keep(self.session, self.machine, expected)

    def patience(self, timeout: float) -> float:
        """The time limit of a trial in seconds, given that of a measured one."""
        return timeout * (EMULATION if self.about["predicted_for"] else 1.0)

    def crew(self, workers: int, trials: int) -> int:
        """Processes that compile or predict schedules, including the one that measures.

        They pay where several points are compiled for the host, or predicted.
        """
        is_timed = self.machine and registry.find(self.about["target"]).repeats_calls
        pays = is_timed or self.about["predicted_for"]
        return min(workers, processors()) if pays and trials >= MANY else 1

    def crewed(self, timing: Timing, crew: int) -> CompilePool | None:
        """The measuring process with its compile pool; None: it has to do alone."""
        if crew < 2 or not isinstance(timing, IsolatedTrials):
            return None
        try:
            helper = replace(self.subject, made=Compiling)
            return CompilePool.of(timing, helper, crew - 1)
        except Exception:  # noqa: BLE001  (then it is slower)
            return None

    def timing(self, patience: float) -> tuple[Timing, str]:
        """The object that times schedules, and why it runs in this process if it must.

        ``patience``: seconds for a trial in a separate process; 0: in this one.
        """
        if not patience:
            return self.subject.timing(self.program, self.arguments), ""
        try:
            return IsolatedTrials.of(self.subject, patience), ""
        except Exception as problem:  # noqa: BLE001  (what is wrong here is raised here)
            why = f"{type(problem).__name__}: {problem}"
        note = (
            f"schedules ran in this process, since another one cannot run them: {why}"
        )
        return self.subject.timing(self.program, self.arguments), note


def _check_options(options: Mapping[str, object]) -> None:
    """Raises InvalidOption for options that tuning itself sets."""
    for name in TUNED_OPTIONS:
        if options.get(name):
            hint = "Tuning chooses it; pass candidates= to try some and no others"
            raise errors.InvalidOption(name=name, value=options[name], hint=hint)


def _about(
    program: Program, subject: Subject, arguments: tuple[Any, ...]
) -> dict[str, Any]:
    """The store's description of a call."""
    call = program[subject.name].key_for(arguments)
    return {
        **subject.about(),
        "target": call[0],
        "call": call_of(call),
        "work": work_of(program, subject.name, arguments),
    }
