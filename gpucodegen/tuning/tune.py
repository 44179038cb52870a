"""``gpucodegen.tune``: time legal tile sizes, keep the best for `compile`.

The default schedule is timed first.  The fastest others meet it in a final, all in
turn on the same arrays, and one is stored only if it is faster there beyond noise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gpucodegen.api import compile as compile_source
from gpucodegen.compiling.winners import Point, tuning_identity, tuning_store
from gpucodegen.tuning.contest import Contest
from gpucodegen.tuning.schedules import Schedules, schedules

if TYPE_CHECKING:
    import os

    from gpucodegen.dialects.builtin import Module
    from gpucodegen.tiling.tuning.search import Trial
    from gpucodegen.tiling.tuning.store import Session

FINALISTS = 3
"""Schedules that meet the default in the final."""


@dataclass(frozen=True, slots=True)
class TuneResult:
    """Every trial of a tuning, and what came of it.

    ``default``: the point of the compiler's own choices.  ``winner``: the point that is
    faster and now stored, if there is one.  ``gain``: how many times as fast it is.
    """

    function: str
    trials: tuple[Trial, ...]
    default: Point
    winner: Point | None = None
    gain: float = 1.0

    @property
    def best(self) -> Trial | None:
        """The trial of the schedule that `compile` uses from now on, if it ran."""
        used = self.default if self.winner is None else self.winner
        return next((trial for trial in self.trials if trial.point == used), None)

    def __str__(self) -> str:
        lines = [f"@{self.function}: {len(self.trials)} trials"]
        order = sorted(self.trials, key=lambda t: (t.seconds is None, t.seconds or 0.0))
        for trial in order:
            is_default = trial.point == self.default
            point = "default" if is_default else shown(trial.point)
            took = (
                trial.reason
                if trial.seconds is None
                else f"{trial.seconds * 1e3:.3f} ms"
            )
            lines.append(f"  {point}: {trial.status.value} {took}")
        return "\n".join([*lines, self._verdict()])

    def _verdict(self) -> str:
        if self.winner is None:
            return "nothing is faster than the default beyond noise"
        return (
            f"stored: {shown(self.winner)}, {self.gain:.2f} times the default's speed"
        )


def shown(point: Point) -> str:
    """A point as a line shows it.

    >>> shown({"rows": 4, "columns": 0})
    'rows=4, columns=0'
    """
    return ", ".join(f"{name}={size}" for name, size in point.items())


def tune(
    source: str | os.PathLike[str] | Module,
    name: str,
    *arguments: Any,
    trials: int = 12,
    candidates: Sequence[Sequence[int]] | None = None,
    **options: object,
) -> TuneResult:
    """Search tile sizes for one function called with these arguments.

    ``trials``: schedules to time, the default one first.  ``candidates`` are tile sizes
    to try instead of searching; a 0 is the compiler's own choice.  What `compile` would
    refuse is reported as illegal, with the reason, and never run.  The arguments are
    copied, so they keep their contents.  A schedule that is faster than the default is
    stored for this function, these shapes, options and this machine, and used by
    `compile` from then on, in other processes too; where none is, none is stored.
    """
    chosen: dict[str, Any] = {"target": "cpu", **options, "tuned": False}
    program = compile_source(source, **chosen)
    function = program[name]
    found = schedules(program, name, arguments)
    key = function.key_for(arguments)
    identity = tuning_identity(function.source, name, key, function.options)
    session = tuning_store().session(identity)
    contest = Contest.of(program, name, arguments)
    if candidates is None:
        made = _searched(found, contest, session, trials)
    else:
        points = [found.default, *map(found.point_of, candidates)]
        made = _tried(points, found, contest, session)
    winner, gain = _final(found.default, made, contest)
    session.crown(winner)
    return TuneResult(name, made, found.default, winner, gain)


def _searched(
    found: Schedules, contest: Contest, session: Session, trials: int
) -> tuple[Trial, ...]:
    """The trials of a search, the default first."""
    from gpucodegen.tiling.tuning.search import search

    outcome = search(
        found.space,
        contest.seconds,
        budget=max(1, trials),
        seeds=found.seeds,
        memory=session,
    )
    return outcome.trials


def _tried(
    points: Sequence[Point], found: Schedules, contest: Contest, session: Session
) -> tuple[Trial, ...]:
    """The trials of given points; what the compiler refuses is not run."""
    from gpucodegen.tiling.tuning.search import search
    from gpucodegen.tiling.tuning.space import Space

    given = Space(found.knob.values, found.refusal)
    outcome = search(
        given,
        contest.seconds,
        budget=len(points),
        seeds=points,
        memory=session,
        moves=False,
    )
    return outcome.trials


def _final(
    default: Point, trials: Sequence[Trial], contest: Contest
) -> tuple[Point | None, float]:
    """The point that is faster than the default, and how many times as fast it is."""
    from gpucodegen.tiling.tuning.verdict import is_faster, ratio

    timed = sorted((t.seconds, n) for n, t in enumerate(trials) if t.seconds)
    fastest = [trials[n].point for _, n in timed]
    finalists = [point for point in fastest if point != default][:FINALISTS]
    if not finalists:
        return None, 1.0
    theirs, *others = contest.rounds([default, *finalists])
    proven = [
        (1 / ratio(own, theirs), -n)
        for n, own in enumerate(others)
        if is_faster(own, theirs)
    ]
    if not proven:
        return None, 1.0
    gain, n = max(proven)
    return finalists[-n], gain
