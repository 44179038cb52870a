"""How a ratio is measured: both contenders in one process, call by call in turn.

Comes in: two callables that do the same work.  Goes out: a row with best and median of
both, whose ratio says how much faster than the peer we are (above 1: faster).
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence


class Clock(Protocol):
    """Seconds that one call takes."""

    def __call__(self, call: Callable[[], object]) -> float:
        """Run the call once."""
        ...


def wall_clock(call: Callable[[], object]) -> float:
    """Seconds of one call on the CPU."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


@dataclass(frozen=True, slots=True)
class Times:
    """Seconds of many calls."""

    best: float
    median: float

    @classmethod
    def of(cls, seconds: Sequence[float]) -> Times:
        """Condense the seconds of single calls.

        >>> Times.of([3.0, 1.0, 2.0])
        Times(best=1.0, median=2.0)
        """
        return cls(min(seconds), statistics.median(seconds))


@dataclass(frozen=True, slots=True)
class Row:
    """One line of the table; ``unit`` is that of ``work`` per nanosecond."""

    name: str
    peer: str
    ours: Times
    theirs: Times
    work: int
    unit: str = "GFLOP/s"

    @property
    def best_ratio(self) -> float:
        """Best time of the peer over our best time."""
        return self.theirs.best / self.ours.best

    @property
    def median_ratio(self) -> float:
        """Median time of the peer over our median time."""
        return self.theirs.median / self.ours.median

    @property
    def rate(self) -> float:
        """Work per second at our best, in units of 10**9."""
        return self.work / self.ours.best / 1e9


GROUP = 8
"""Calls in a row of a contender with threads of its own."""


def race(
    ours: Callable[[], object],
    theirs: Callable[[], object],
    *,
    clock: Clock = wall_clock,
    budget: float = 2.0,
    least: int = 7,
    most: int = 400,
    settle: float = 0.0,
) -> tuple[Times, Times]:
    """Alternate two calls until the budget (seconds) or ``most`` rounds are used up.

    ``settle``: seconds to wait, with one call that does not count, before each turn,
    which then has ``GROUP`` calls.  The threads of a pool spin for a while after its
    call, on the other's processors.
    """
    for warm_up in (ours, theirs, ours, theirs):
        warm_up()
    seconds: tuple[list[float], list[float]] = ([], [])
    end = time.perf_counter() + budget
    while len(seconds[0]) < least or (
        time.perf_counter() < end and len(seconds[0]) < most
    ):
        for call, record in zip((ours, theirs), seconds, strict=True):
            if settle:
                time.sleep(settle)
                call()
            record += [clock(call) for _ in range(GROUP if settle else 1)]
    return Times.of(seconds[0]), Times.of(seconds[1])


@dataclass(frozen=True, slots=True)
class Failure:
    """A row that could not be measured, and why."""

    name: str
    reason: str


def attempt(name: str, measure: Callable[[], Row]) -> Row | Failure:
    """Measure a row; whatever goes wrong becomes a line of the table.

    >>> attempt("broken", lambda: 1 // 0)
    Failure(name='broken', reason='integer division or modulo by zero')
    """
    try:
        return measure()
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Failure(name, lines[0])


HEADER = f"{'program':<34}{'peer':<22}{'best':>7}{'median':>8}{'ours':>12}"


def line(row: Row | Failure) -> str:
    """One row as text.

    >>> fast, slow = Times(0.5, 1.0), Times(1.0, 1.0)
    >>> line(Row("matmul", "NumPy", fast, slow, 10**9)).split()
    ['matmul', 'NumPy', '2.00', '1.00', '2.0', 'GFLOP/s']
    """
    if isinstance(row, Failure):
        return f"{row.name:<34}FAILED: {row.reason}"
    return (
        f"{row.name:<34}{row.peer:<22}{row.best_ratio:>7.2f}{row.median_ratio:>8.2f}"
        f"{row.rate:>12.1f} {row.unit}"
    )


def show(rows: Iterable[Row | Failure]) -> list[Row | Failure]:
    """Print rows as they come, and keep them."""
    print(HEADER)
    kept: list[Row | Failure] = []
    for row in rows:
        print(line(row), flush=True)
        kept.append(row)
    return kept
