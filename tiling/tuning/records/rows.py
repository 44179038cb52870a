"""Points, trials and winners as the store writes them; all else reads as None."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.space import Point
    from gpucodegen.tiling.tuning.trials import Trial

LARGEST = 2**63 - 1
"""The largest size, and number of seconds, that a database is given."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The point that was faster than the default.

    ``gain``: how many times as fast it was.  ``since``: when, in seconds of the epoch.
    ``predicted_for``: the architecture for which a model says so; "": it was measured.
    """

    point: Point
    gain: float
    since: float
    predicted_for: str = ""


def point_text(point: Mapping[str, int]) -> str:
    """A point as one line.

    >>> point_text({"j": 8, "i": 4})
    '{"i":4,"j":8}'
    """
    return json.dumps(dict(point), sort_keys=True, separators=(",", ":"))


def read_point(text: str) -> Point | None:
    """A point as `point_text` writes it; None for anything else.

    >>> read_point('{"i":4}'), read_point('{"i":"; drop"}'), read_point("4")
    ({'i': 4}, None, None)
    """
    try:
        sizes = json.loads(text)
        is_sound = all(
            type(size) is int and 0 <= size <= LARGEST for size in sizes.values()
        )
    except (ValueError, TypeError, AttributeError):
        return None
    return sizes if is_sound else None


def read_trial(
    text: str, status: str, seconds: float | None, reason: str
) -> Trial | None:
    """A row as a trial; None if it is not one that the store wrote."""
    from gpucodegen.tiling.tuning.trials import Status, Trial

    point = read_point(text)
    with suppress(ValueError):
        return None if point is None else Trial(point, Status(status), seconds, reason)
    return None


def read_winner(text: str, gain: float, since: float) -> Winner | None:
    """A row as a winner; None if it is not one that the store wrote."""
    point = read_point(text)
    return None if point is None else Winner(point, gain, since)
