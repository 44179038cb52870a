"""What trials teach the model of a machine, kept beside them.

Comes in: what the model expected of the points of a tuning.  Goes out: that and what
was measured of them, for `gpucodegen.tiling.tuning.correction`.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from itertools import groupby
from math import isfinite
from operator import itemgetter
from typing import TYPE_CHECKING, TypeAlias

from gpucodegen.tiling.tuning.correction import Tried
from gpucodegen.tiling.tuning.records.rows import point_text
from gpucodegen.tiling.tuning.trials import Status

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.records.store import Session, TuningStore
    from gpucodegen.tiling.tuning.space import Point

Expected: TypeAlias = "tuple[Point, Mapping[str, float], float]"
"""A point, its features and its clocks by the model."""
MOST_TUNINGS = 64
"""Tunings that teach, the latest ones."""
_KEEP = "insert or replace into expectation values (?, ?, ?, ?, ?)"
_TAUGHT = """
select key, features, clocks, seconds from expectation join trial using (key, point)
where machine = ? and status = ? and seconds > 0 and clocks > 0 and key != ?
    and key in (select key from trial group by key order by max(since) desc limit ?)
order by key, point
"""


def keep(session: Session, machine: str, expected: Iterable[Expected]) -> None:
    """Keep what the model of a machine expects of points of a key."""
    rows = [
        (session.key, point_text(point), machine, clocks, json.dumps(dict(features)))
        for point, features, clocks in expected
    ]
    with session.store.connection() as database:
        database.execute("begin")
        database.executemany(_KEEP, rows)
        database.execute("commit")


def taught(store: TuningStore, machine: str, besides: str) -> list[list[Tried]]:
    """The trials of each of the latest tunings of a machine that were timed.

    ``besides``: the key of one that is left out, so that it goes on as it began.
    """
    latest = machine, Status.OK.value, besides, MOST_TUNINGS
    with store.connection() as database:
        rows = database.execute(_TAUGHT, latest).fetchall()
    tunings = groupby(rows, key=itemgetter(0))
    found = [[_tried(*row) for _, *row in tuning] for _, tuning in tunings]
    return [[one for one in tuning if one is not None] for tuning in found]


def _tried(features: str, clocks: float, seconds: float) -> Tried | None:
    """A row as a trial; None if it is not one that `keep` wrote."""
    try:
        shares = {str(name): float(n) for name, n in json.loads(features).items()}
    except (ValueError, TypeError, AttributeError):
        return None
    numbers = (*shares.values(), clocks, seconds)
    return Tried(shares, clocks, seconds) if all(map(isfinite, numbers)) else None
