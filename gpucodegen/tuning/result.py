"""What came of a tuning, as a value and as a table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpucodegen.debugging.notebook import folded

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.space import Point
    from gpucodegen.tiling.tuning.trials import Trial


@dataclass(frozen=True, slots=True)
class TuneResult:
    """Every trial of a tuning, and what came of it.

    ``default``: the point of the compiler's own choices.  ``winner``: the point that is
    faster and now stored, if there is one.  ``gain``: how many times as fast it is.
    ``place``: the file that keeps all this.  ``note``: what a user should know besides,
    such as why schedules ran in this process.
    """

    function: str
    trials: tuple[Trial, ...]
    default: Point
    winner: Point | None = None
    gain: float = 1.0
    place: Path = Path()
    note: str = ""

    @property
    def best(self) -> Trial | None:
        """The trial of the schedule that `compile` uses from now on, if it ran."""
        used = self.default if self.winner is None else self.winner
        return next((trial for trial in self.trials if trial.point == used), None)

    def __str__(self) -> str:
        lines = [f"@{self.function}: {len(self.trials)} trials"]
        order = sorted(self.trials, key=lambda t: (t.seconds is None, t.seconds or 0.0))
        lines += [f"  {line(trial, self.default)}" for trial in order]
        return "\n".join([*lines, self._verdict(), *filter(None, [self.note])])

    def __repr__(self) -> str:
        return f"<TuneResult of {self.function}: {self._verdict()}>"

    def _repr_html_(self) -> str:
        """The table of trials, for notebooks."""
        return folded(repr(self), str(self))

    def _verdict(self) -> str:
        if self.winner is None:
            return "nothing is faster than the default beyond noise"
        return (
            f"stored: {shown(self.winner)}, {self.gain:.2f} times the default's speed,"
            f" in {self.place}"
        )

    def json(self) -> dict[str, Any]:
        """All of it as plain values."""
        trials = [
            {
                "point": dict(trial.point),
                "status": trial.status.value,
                "seconds": trial.seconds,
                "reason": trial.reason,
            }
            for trial in self.trials
        ]
        return {
            "function": self.function,
            "default": dict(self.default),
            "winner": None if self.winner is None else dict(self.winner),
            "gain": self.gain,
            "trials": trials,
            "note": self.note,
        }


def line(trial: Trial, default: Point) -> str:
    """A trial on one line.

    >>> from gpucodegen.tiling.tuning.trials import Status, Trial
    >>> line(Trial({"tile0": 8}, Status.OK, 0.0021), {"tile0": 0})
    'tile0=8: ok 2.100 ms'
    """
    point = "default" if trial.point == default else shown(trial.point)
    took = trial.reason if trial.seconds is None else f"{trial.seconds * 1e3:.3f} ms"
    return f"{point}: {trial.status.value} {took}"


def shown(point: Mapping[str, int]) -> str:
    """A point as a line shows it.

    >>> shown({"rows": 4, "columns": 0})
    'rows=4, columns=0'
    """
    return ", ".join(f"{name}={size}" for name, size in point.items())
