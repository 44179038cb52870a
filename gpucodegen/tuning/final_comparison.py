"""The final comparison: the fastest schedules against the default, timed in turn.

`final` takes the trials of a search and the object that times schedules, and returns
each finalist with its speedup over the default and a confidence interval; `winner`
selects one, if any.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.calibration import CONFIDENCE, Gain, gain

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Point, Trial

FINALISTS = 3
"""Schedules that are compared with the default."""
NEAR = 1.05
"""Schedules within this factor of the default's time may have been timed in a bad
moment.
"""


class Timing(Protocol):
    """Times schedules: `PairedBenchmark` in this process, `IsolatedTrials` in another.

    Or estimates them: `gpucodegen.tuning.forecast`.
    """

    def trial(self, point: Point) -> Trial:
        """The trial of one point, alone."""
        ...

    def rounds(self, points: Sequence[Point]) -> list[list[float]]:
        """Seconds of calls of each point, all of them in each round."""
        ...

    def repeated(self, points: Sequence[Point]) -> list[list[float]]:
        """As `rounds`, with calls on the same arguments."""
        ...

    def told(self) -> str:
        """Notes for the user about the measurement; mostly empty."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Finalist:
    """A schedule of the final comparison, with its speedup over the default.

    ``objection``: why it is not stored although it is faster.  ``is_stored``: an
    earlier comparison proved it, so it stays unless it is slower now.
    """

    point: Point
    gain: Gain
    objection: str = ""
    is_stored: bool = False

    @property
    def is_worthy(self) -> bool:
        """Whether it may replace the default."""
        stays = self.is_stored and self.gain.median >= 1 and not self.gain.is_loss
        return (self.gain.is_proven or stays) and not self.objection

    def json(self) -> dict[str, Any]:
        """All of it as plain values."""
        return {
            "point": dict(self.point),
            "gain": self.gain.median,
            "low": self.gain.low,
            "high": self.gain.high,
            "confidence": CONFIDENCE,
            "objection": self.objection,
        }


def final(
    default: Point,
    trials: Sequence[Trial],
    timing: Timing,
    stored: Point | None = None,
) -> tuple[Finalist, ...]:
    """The finalists, the fastest first; the ``stored`` winner is always among them.

    The default is one of the trials that ran.  The fastest one that is proven faster
    must not be slower where calls find their arguments in caches; else it gets an
    objection.  Raises TrialError.
    """
    timed = sorted((t.seconds, n) for n, t in enumerate(trials) if t.seconds)
    fastest = [trials[n].point for _, n in timed]
    enough = NEAR * timed[fastest.index(default)][0]
    near = [trials[n].point for seconds, n in timed if seconds <= enough]
    points = [point for point in near if point != default][:FINALISTS]
    if stored is not None and stored not in points:
        points.append(stored)
    if not points:
        return ()
    theirs, *others = timing.rounds([default, *points])
    found = [
        Finalist(point, gain(own, theirs, len(points)), is_stored=point == stored)
        for point, own in zip(points, others, strict=True)
    ]
    found.sort(key=lambda one: -one.gain.median)
    for n, one in enumerate(found):
        if one.is_worthy:
            found[n] = _in_caches(one, default, timing)
        if found[n].is_worthy:
            break
    return tuple(found)


def winner(finalists: Sequence[Finalist]) -> Finalist | None:
    """The fastest finalist that may replace the default."""
    return next((one for one in finalists if one.is_worthy), None)


def _in_caches(one: Finalist, default: Point, timing: Timing) -> Finalist:
    """The finalist, with an objection if it is slower on cached arguments."""
    theirs, own = timing.repeated([default, one.point])
    warm = gain(own, theirs)
    if not warm.is_loss:
        return one
    why = f"{warm} that on arguments which caches hold"
    return replace(one, objection=why)
