"""Trials in a worker of an executor, whose schedules run in a process beside it.

Comes in: a subject and points.  Goes out: the trials.  A thread of a worker keeps its
process until it is given another subject, or ends.
"""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol, cast

from gpucodegen.tuning.measuring.contained import Contained, Tunable

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from gpucodegen.tiling.tuning.search import MeasureAll
    from gpucodegen.tiling.tuning.space import Point
    from gpucodegen.tiling.tuning.trials import Trial


class Timer(Protocol):
    """What times schedules, here or in another process."""

    def trial(self, point: Point) -> Trial:
        """The trial of one point, alone."""
        ...

    def close(self) -> None:
        """Give back what is held."""
        ...


class _Held(threading.local):
    """What times the subject that this thread was given last."""

    given: tuple[bytes, float] | None = None
    timing: Timer | None = None


_HELD = _Held()


def measured(pickled: bytes, point: Point, timeout: float) -> Trial:
    """The trial of a point, in whatever process this is.

    ``timeout``: seconds that it may take in a process of its own; 0: it runs in this
    one.  Raises what keeps the subject from being made here.
    """
    if _HELD.timing is None or _HELD.given != (pickled, timeout):
        if _HELD.timing is not None:
            _HELD.timing.close()
        _HELD.timing = None
        _HELD.timing = _begun(pickled, timeout)
        _HELD.given = pickled, timeout
    return _HELD.timing.trial(point)


def _begun(pickled: bytes, timeout: float) -> Timer:
    if timeout:
        return Contained.begun(pickled, timeout)
    subject: Tunable = pickle.loads(pickled)  # noqa: S301  (made by this package)
    return cast("Timer", subject.contest())


def by_executor(
    executor: Executor, pickled: Callable[[], bytes], timeout: float
) -> MeasureAll:
    """Trials as an executor has them done, several at a time.

    ``pickled``: the subject, as it is sent with each of some points.
    """

    def measure(points: Sequence[Point]) -> Iterator[Trial]:
        from concurrent.futures import as_completed

        sent = pickled()
        asked = [
            executor.submit(measured, sent, dict(point), timeout) for point in points
        ]
        yield from (future.result() for future in as_completed(asked))

    return measure
