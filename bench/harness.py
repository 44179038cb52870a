"""How calls are timed: all contenders in one process, call by call in turn.

Comes in: callables that do the same work.  Goes out: best and median time of each.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Clock = Callable[[Callable[[], object]], float]
"""Runs a call once and tells the seconds it takes."""


def wall_clock(call: Callable[[], object]) -> float:
    """Seconds of one call."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def processor_clock(call: Callable[[], object]) -> float:
    """Seconds of the processor in one call: for one thread on a shared machine."""
    start = time.process_time()
    call()
    return time.process_time() - start


CLOCKS = {"wall": wall_clock, "cpu": processor_clock}


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


SETTLE = 0.12
"""Seconds after which the threads of a pool sleep: OpenBLAS's spin for 0.09."""
GROUP = 8
"""Most calls in a row of a contender with threads of its own."""
TURNS = 5
"""Least turns: a virtual machine loses its second core for a turn or two."""


def race(
    *contenders: Callable[[], object],
    clock: Clock = wall_clock,
    budget: float = 2.0,
    least: int = 7,
    most: int = 400,
    settle: float = 0.0,
) -> tuple[Times, ...]:
    """Call each in turn until the budget (seconds) or ``most`` rounds are used up.

    ``settle``: seconds to wait, with one call that does not count, before each turn,
    which then lasts about as long, for at most ``GROUP`` calls; there are at least
    ``TURNS`` of them.  The threads of a pool spin for a while after its call, on the
    others' processors.

    >>> fast, slow = race(lambda: sum(range(9)), lambda: sum(range(9999)), budget=0.01)
    >>> fast.best < slow.best
    True
    """
    for warm_up in contenders * 2:
        warm_up()
    seconds: list[list[float]] = [[] for _ in contenders]
    end, turns = time.perf_counter() + budget, 0
    while (
        (fewest := min(map(len, seconds))) < least
        or (settle and turns < TURNS)
        or (time.perf_counter() < end and fewest < most)
    ):
        turns += 1
        for call, record in zip(contenders, seconds, strict=True):
            turn = settled(call, clock, settle) if settle else [clock(call)]
            record.extend(turn)
    return tuple(map(Times.of, seconds))


def settled(call: Callable[[], object], clock: Clock, settle: float) -> list[float]:
    """The calls of a turn, whose contender's threads are awake when it is timed."""
    time.sleep(settle)
    first = clock(call)
    if first > settle:
        return [first]
    count = int(settle / max(first, settle / GROUP))
    return [clock(call) for _ in range(count)]
