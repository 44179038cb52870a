"""The result of a tuning, as a value and as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gpucodegen.debugging.display import folded
from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.search import shown
from gpucodegen.tuning.final_comparison import Finalist, winner

if TYPE_CHECKING:
    import os

    from gpucodegen.tiling.tuning.search import Point, Trial
    from gpucodegen.tuning.pipeline_templates import Holes


@dataclass(frozen=True, slots=True)
class TuneResult:
    """Every trial of a tuning, and its outcome.

    ``default``: the point of the compiler's own choices.  ``finalists``: the fastest
    schedules with their speedups over it.  ``place``: the file of the store. ``note``:
    remarks for the user, such as why schedules ran in this process.  ``holes``: of the
    tuned pipeline, if there is one.  ``about``: the stored description.  ``agreement``:
    the rank correlation of the model's estimates with the times; None without
    estimates. ``corrected``: that of the order in which points were tried, if earlier
    trials on this machine correct the model; else None.
    """

    function: str
    trials: tuple[Trial, ...]
    default: Point
    finalists: tuple[Finalist, ...] = ()
    place: Path = Path()
    note: str = ""
    holes: Holes | None = None
    about: Mapping[str, Any] = field(default_factory=dict[str, Any])
    agreement: float | None = None
    corrected: float | None = None

    @property
    def predicted_for(self) -> str:
        """The architecture whose model estimated all times; "": they were measured."""
        return str(self.about.get("predicted_for", ""))

    @property
    def winner(self) -> Point | None:
        """The stored point that is faster than the default, if there is one."""
        found = winner(self.finalists)
        return None if found is None else found.point

    @property
    def gain(self) -> float:
        """The speedup of the winner over the default; 1 without a winner."""
        found = winner(self.finalists)
        return 1.0 if found is None else found.gain.median

    @property
    def pipeline(self) -> str:
        """The passes of the winner of a pipeline tuning; else ""."""
        point = self.winner
        return "" if point is None or not self.holes else self.holes.filled(point)

    @property
    def best(self) -> Trial | None:
        """The trial of the schedule that `compile` uses from now on, if it ran."""
        used = self.default if self.winner is None else self.winner
        return next((trial for trial in self.trials if trial.point == used), None)

    def __str__(self) -> str:
        lines = [table(self.function, self.trials, self.default)]
        lines += [
            f"  final: {shown(one.point)}: {one.gain} the default's speed"
            f"{f', but {one.objection}' if one.objection else ''}"
            for one in self.finalists
        ]
        return "\n".join([*lines, self._verdict(), *filter(None, [self.note])])

    def __repr__(self) -> str:
        return f"<TuneResult of {self.function}: {self._verdict()}>"

    def _repr_html_(self) -> str:
        """The table of trials, for notebooks."""
        return folded(repr(self), str(self))

    def _verdict(self) -> str:
        found = winner(self.finalists)
        if found is None:
            better = "faster than the default beyond noise"
            if self.predicted_for:
                better = f"expected to be faster for {self.predicted_for}"
            return (
                f"nothing is {better};"
                f" {len(self.trials)} trials are kept in {self.place}"
            )
        if self.predicted_for:
            return (
                f"stored as a prediction for {self.predicted_for}:"
                f" {shown(found.point)}: an estimated {found.gain.median:.2f} times"
                f" the default's speed, in {self.place}"
            )
        used = f" (-p '{self.pipeline}')" if self.holes else ""
        return (
            f"stored: {shown(found.point)}{used}: {found.gain} the default's speed,"
            f" in {self.place}"
        )

    def plot(self, place: str | os.PathLike[str], kind: str = "trials") -> None:
        """Draws the trials into a PNG or SVG file (`gpucodegen.report.plots`).

        ``kind``: "trials" in their order with the best so far, "heatmap" of two knobs,
        "parallel" coordinates of all knobs, or "roofline" of default and winner, for
        which the machine's roof is measured.  Raises InvalidOption; ImportError without
        matplotlib.
        """
        from gpucodegen.report.plots.picture import Tuned, plotted

        tuned = Tuned(self.trials, self.about, self.gain)
        plotted({f"@{self.function}": tuned}, Path(place), kind)

    def json(self) -> dict[str, Any]:
        """All of it as plain values."""
        trials = [trial.json() for trial in self.trials]
        return {
            "function": self.function,
            "default": dict(self.default),
            "winner": None if self.winner is None else dict(self.winner),
            "gain": self.gain,
            "finalists": [one.json() for one in self.finalists],
            "pipeline": self.pipeline,
            "trials": trials,
            "place": str(self.place),
            "note": self.note,
            "predicted_for": self.predicted_for,
            "agreement": self.agreement,
            "corrected": self.corrected,
        }


def table(function: str, trials: Sequence[Trial], default: Point) -> str:
    """Trials as lines, the fastest first."""
    order = sorted(trials, key=lambda t: (t.seconds is None, t.seconds or 0.0))
    lines = [f"@{function}: {len(trials)} trials"]
    return "\n".join([*lines, *(f"  {line(trial, default)}" for trial in order)])


def line(trial: Trial, default: Point) -> str:
    """A trial on one line.

    >>> from gpucodegen.tiling.tuning.search import Status, Trial
    >>> line(Trial({"tile0": 8}, Status.OK, 0.0021), {"tile0": 0})
    'tile0=8: ok 2.100 ms'
    """
    point = "default" if trial.point == default else shown(trial.point)
    took = trial.reason if trial.seconds is None else f"{trial.seconds * 1e3:.3f} ms"
    return f"{point}: {trial.status.value} {took}"
