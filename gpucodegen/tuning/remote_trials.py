"""Trials on the workers of an executor, whose schedules run in a process beside them.

A thread of a worker keeps its subject, and its process, until it gets another subject,
or ends.  So the subject, which holds the arguments of a call, is sent to each thread
once: points are sent without it, and again with it where it was missing.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import cache
from itertools import islice
from typing import TYPE_CHECKING, Protocol, cast

from gpucodegen.records import dataclass
from gpucodegen.tuning.isolated_trials import IsolatedTrials, Tunable

if TYPE_CHECKING:
    from concurrent.futures import Executor, Future

    from gpucodegen.tiling.tuning.search import MeasureAll, Point, Trial


class Timer(Protocol):
    """Times schedules, here or in another process."""

    def trial(self, point: Point) -> Trial:
        """The trial of one point, alone."""
        ...

    def close(self) -> None: ...


@dataclass(frozen=True, slots=True)
class Sent:
    """A subject's name, and the subject itself if it is sent along.

    ``timeout``: seconds that a trial may take in a separate process; 0: it runs in the
    worker.
    """

    name: str
    timeout: float
    pickled: bytes | None = None

    def __dask_tokenize__(self) -> object:
        """A cheap identity for Dask, which would otherwise hash the whole subject."""
        return self.name, self.timeout, self.pickled is None

    def begun(self) -> Timer:
        """The started timer of its schedules."""
        assert self.pickled is not None
        if self.timeout:
            return IsolatedTrials.begun(self.pickled, self.timeout)
        subject: Tunable = pickle.loads(self.pickled)  # noqa: S301 - made by us
        return cast("Timer", subject.contest())


class _Held(threading.local):
    """The timer of the last subject of this thread."""

    given: tuple[str, float] | None = None
    timing: Timer | None = None


_HELD = _Held()


def measured(sent: Sent, point: Point) -> Trial | None:
    """The trial of a point, in the present process; None without its subject.

    Raises the error if the subject cannot be made here.
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
    """A function that runs trials on an executor, ``workers`` at a time.

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
