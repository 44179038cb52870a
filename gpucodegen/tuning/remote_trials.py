"""Trials in a worker of an executor, whose schedules run in a process beside it.

Comes in: a subject and points.  Goes out: the trials.  A thread of a worker keeps its
subject, and its process, until it is given another subject, or ends.  So the subject,
which holds the arguments of a call, is sent to each of them once: a point is sent
without it, and anew with it where it was missing.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Protocol, cast

from gpucodegen.tuning.isolated_trials import IsolatedTrials, Tunable

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from gpucodegen.tiling.tuning.search import MeasureAll, Point, Trial


class Timer(Protocol):
    """What times schedules, here or in another process."""

    def trial(self, point: Point) -> Trial:
        """The trial of one point, alone."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


@dataclass(frozen=True, slots=True)
class Sent:
    """A subject on its way: its name, and itself where it is sent along.

    ``timeout``: seconds that a trial may take in a process of its own; 0: it runs in
    the worker.
    """

    name: str
    timeout: float
    pickled: bytes | None = None

    def __dask_tokenize__(self) -> object:
        """What Dask tells tasks apart by; else it reads all of the subject."""
        return self.name, self.timeout, self.pickled is None

    def begun(self) -> Timer:
        """What times its schedules."""
        assert self.pickled is not None
        if self.timeout:
            return IsolatedTrials.begun(self.pickled, self.timeout)
        subject: Tunable = pickle.loads(self.pickled)  # noqa: S301 - made by us
        return cast("Timer", subject.contest())


class _Held(threading.local):
    """What times the subject that this thread was given last."""

    given: tuple[str, float] | None = None
    timing: Timer | None = None


_HELD = _Held()


def measured(sent: Sent, point: Point) -> Trial | None:
    """The trial of a point, in whatever process this is; None without its subject.

    Raises what keeps the subject from being made here.
    """
    given = sent.name, sent.timeout
    if _HELD.timing is None or _HELD.given != given:
        if sent.pickled is None:
            return None
        if _HELD.timing is not None:
            _HELD.timing.close()
        _HELD.timing = None
        _HELD.timing = sent.begun()
        _HELD.given = given
    return _HELD.timing.trial(point)


def by_executor(
    executor: Executor, pickled: Callable[[], bytes], timeout: float, workers: int
) -> MeasureAll:
    """Trials as an executor has them done, so many at a time.

    ``pickled``: the subject, as it is sent to each worker.
    """

    def measure(points: Iterable[Point]) -> Iterator[Trial]:
        from concurrent.futures import FIRST_COMPLETED, wait

        rest, subject = iter(points), cache(lambda: _whole(pickled(), timeout))
        asked: dict[Future[Trial | None], Point] = {}

        def ask(point: Point, *, whole: bool) -> None:
            sent = subject() if whole else replace(subject(), pickled=None)
            asked[executor.submit(measured, sent, dict(point))] = point

        while True:
            for point in islice(rest, workers - len(asked)):
                ask(point, whole=False)
            if not asked:
                return
            for future in wait(asked, return_when=FIRST_COMPLETED).done:
                point, trial = asked.pop(future), future.result()
                if trial is None:
                    ask(point, whole=True)
                else:
                    yield trial

    return measure


def _whole(pickled: bytes, timeout: float) -> Sent:
    from hashlib import sha256

    return Sent(sha256(pickled).hexdigest(), timeout, pickled)
