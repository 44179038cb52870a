"""How long a tuning may take."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable
from dataclasses import dataclass

from gpucodegen import errors

UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


@dataclass(frozen=True, slots=True)
class Effort:
    """At most so many trials, none of which begins after so many seconds."""

    trials: int
    seconds: float = math.inf

    def clock(self) -> Callable[[], bool]:
        """Whether the time is over, counted from now on."""
        end = time.monotonic() + self.seconds
        return lambda: time.monotonic() >= end


EFFORTS = {"quick": Effort(24, 60.0), "full": Effort(400)}


def effort_of(effort: str, trials: int | None, budget: float | str | None) -> Effort:
    """A named effort, with other limits where they are given.

    Raises InvalidOption.

    >>> effort_of("quick", None, None)
    Effort(trials=24, seconds=60.0)
    >>> effort_of("full", None, "5m"), effort_of("quick", 30, None)
    (Effort(trials=400, seconds=300.0), Effort(trials=30, seconds=inf))
    """
    if effort not in EFFORTS:
        hint = f"Pass {errors.one_of(list(EFFORTS))}"
        raise errors.InvalidOption(name="effort", value=effort, hint=hint)
    if trials is not None and (type(trials) is not int or trials < 1):
        hint = "Pass an integer >= 1"
        raise errors.InvalidOption(name="trials", value=trials, hint=hint)
    named = EFFORTS[effort]
    if budget is not None:
        return Effort(trials or EFFORTS["full"].trials, seconds(budget))
    return named if trials is None else Effort(trials)


def seconds(budget: float | str) -> float:
    """A time in seconds: a number, or a text with its unit.

    >>> seconds("90s"), seconds("1.5m"), seconds(7)
    (90.0, 90.0, 7.0)
    """
    found = re.fullmatch(r"([0-9.]+)\s*([smh]?)", str(budget).strip())
    try:
        value = float(found[1]) * UNITS[found[2] or "s"] if found else -1.0
    except ValueError:
        value = -1.0
    if value <= 0:
        hint = "Pass seconds, or a text such as '60s' or '5m'"
        raise errors.InvalidOption(name="budget", value=budget, hint=hint)
    return value
