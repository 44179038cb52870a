"""A line of a table, measured: the times of all contenders, and what bounds them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Protocol

from bench.harness import Clock, Times, wall_clock

OURS = "gpucodegen"


class Limit(Enum):
    """What bounds a program at best; the value is the unit of its rate."""

    FMA = "GFLOP/s"
    COPY = "GB/s"
    NONE = ""


@dataclass(frozen=True, slots=True)
class Work:
    """Arithmetic operations and compulsory memory traffic of one call."""

    flops: int = 0
    bytes: int = 0

    @property
    def intensity(self) -> float:
        """Operations per byte.

        >>> Work(flops=100, bytes=50).intensity
        2.0
        """
        return self.flops / max(1, self.bytes)

    def rate(self, limit: Limit, seconds: float) -> float:
        """Work per second in the unit of what bounds it.

        >>> Work(flops=6 * 10**9, bytes=10**9).rate(Limit.FMA, seconds=2.0)
        3.0
        """
        amount = {Limit.FMA: self.flops, Limit.COPY: self.bytes, Limit.NONE: 0}
        return amount[limit] / seconds / 1e9


@dataclass(frozen=True, slots=True)
class Row:
    """One measured line: the times of all contenders, ours among them.

    ``ceiling``: the most that this machine was measured to do, in the unit of
    ``limit``; 0 where nothing bounds the program but its overhead.  ``note``: what else
    was found.
    """

    name: str
    times: dict[str, Times]
    work: Work = Work()
    limit: Limit = Limit.NONE
    dtype: str = ""
    ceiling: float = 0.0
    note: str = ""

    @property
    def ours(self) -> Times:
        """Our times."""
        return self.times[OURS]

    @property
    def rate(self) -> float:
        """Work per second at our best, in the unit of ``limit``."""
        return self.work.rate(self.limit, self.ours.best)

    @property
    def share(self) -> float:
        """The part of the ceiling that we reach."""
        return self.rate / self.ceiling if self.ceiling else 0.0

    @property
    def ratios(self) -> dict[str, tuple[float, float]]:
        """Best and median time of every peer over ours: above 1 we are faster.

        >>> slow, fast = Times(2.0, 3.0), Times(1.0, 2.0)
        >>> Row("matmul", {"gpucodegen": fast, "NumPy": slow}).ratios
        {'NumPy': (2.0, 1.5)}
        """
        return {
            peer: (times.best / self.ours.best, times.median / self.ours.median)
            for peer, times in self.times.items()
            if peer != OURS
        }


@dataclass(frozen=True, slots=True)
class Failure:
    """A line that could not be measured, and why."""

    name: str
    reason: str


@dataclass(frozen=True, slots=True)
class Settings:
    """How a table is measured: threads of every contender, seconds for each row."""

    threads: int = 1
    budget: float = 2.0
    clock: Clock = wall_clock


class Line(Protocol):
    """What a table is a tuple of."""

    @property
    def name(self) -> str:
        """What the line is about, with its sizes."""
        ...

    def measure(self, settings: Settings) -> Row:
        """The measured line; raises whatever goes wrong."""
        ...


def attempt(name: str, measure: Callable[[], Row]) -> Row | Failure:
    """Measure a line; whatever goes wrong becomes a line of the table.

    >>> attempt("broken", lambda: 1 // 0)
    Failure(name='broken', reason='integer division or modulo by zero')
    """
    try:
        return measure()
    except Exception as error:
        lines = str(error).strip().splitlines() or [type(error).__name__]
        return Failure(name, lines[0])
