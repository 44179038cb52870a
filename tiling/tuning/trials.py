"""One point of a space and what became of it, and where such trials are kept."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Protocol

from gpucodegen.tiling.tuning.space import Identity, Point, identity


class Status(Enum):
    """How a trial ended.

    What is ``OK`` has a time, what is ``PREDICTED`` an estimate of it by a model.
    """

    OK = "ok"
    PREDICTED = "predicted"
    ILLEGAL = "illegal"
    FAILED = "failed"
    CRASHED = "crashed"
    TIMEOUT = "timeout"
    WRONG = "wrong"


@dataclass(frozen=True, slots=True)
class Trial:
    """One point and what became of it; ``reason`` for those without a time."""

    point: Point
    status: Status
    seconds: float | None = None
    reason: str = ""


class TrialError(Exception):
    """A measurement that ended badly, and how; the reason is its text."""

    status = Status.FAILED


class Crashed(TrialError):
    """The process that measured came to its end."""

    status = Status.CRASHED


class TimedOut(TrialError):
    """The measurement took too long."""

    status = Status.TIMEOUT


class WrongResult(TrialError):
    """The schedule leaves other numbers than the default one."""

    status = Status.WRONG


def failed(point: Point, error: Exception) -> Trial:
    """The trial of a point whose measurement raised an error.

    >>> failed({"i": 8}, MemoryError("too much")).reason
    'MemoryError: too much'
    >>> failed({"i": 8}, TimedOut("more than 30 s")).status
    <Status.TIMEOUT: 'timeout'>
    """
    if isinstance(error, TrialError):
        return Trial(point, error.status, reason=str(error))
    return Trial(point, Status.FAILED, reason=f"{type(error).__name__}: {error}")


class TrialMemory(Protocol):
    """Where trials are kept between searches; `store.Session` is one in a file."""

    def recall(self, point: Point) -> Trial | None:
        """The finished trial of this point."""
        ...

    def claim(self, point: Point) -> bool:
        """Whether this search may measure the point; False while another one does."""
        ...

    def release(self, point: Point) -> None:
        """Give back a claim whose measurement was given up."""
        ...

    def remember(self, trial: Trial) -> None:
        """Keep a trial made by this search."""
        ...

    def forgive(self, point: Point) -> None:
        """Forget that a point failed, so that it may be tried again."""
        ...


@dataclass(slots=True)
class Notebook:
    """A memory that lasts as long as the search.

    >>> notebook = Notebook()
    >>> notebook.remember(Trial({"i": 8}, Status.OK, 1.0))
    >>> notebook.recall({"i": 8}).seconds
    1.0
    """

    trials: dict[Identity, Trial] = field(default_factory=dict[Identity, Trial])

    def recall(self, point: Point) -> Trial | None:
        """The finished trial of this point."""
        return self.trials.get(identity(point))

    def claim(self, point: Point) -> bool:
        """No other search is running."""
        del point
        return True

    def release(self, point: Point) -> None:
        """Nothing was claimed."""
        del point

    def remember(self, trial: Trial) -> None:
        """Keep a trial."""
        self.trials[identity(trial.point)] = trial

    def forgive(self, point: Point) -> None:
        """Forget that a point failed."""
        trial = self.recall(point)
        if trial is not None and trial.seconds is None:
            del self.trials[identity(point)]
