"""The store of tuning trials and winners: one SQLite file, shared by processes.

A key names what was tuned and on which machine.  The store keeps every trial of its
points, and the winner if one was proven faster than the default. Seconds of stored
trials do not decide over winners: they were taken at different times. A process claims
a point before it measures it; claims of dead processes are taken over.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.database import (
    Winner,
    connection,
    point_text,
    read_trial,
    read_winner,
)
from gpucodegen.tiling.tuning.leases import may_take, owner
from gpucodegen.tiling.tuning.search import Trial

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

    from gpucodegen.tiling.tuning.search import Point

_RUNNING = "running"
_TABLES = "trial", "winner", "subject", "expectation"


@dataclass(frozen=True, slots=True)
class TuningStore:
    """All trials of all keys.

    >>> import pathlib, tempfile
    >>> from gpucodegen.tiling.tuning.search import Status
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = TuningStore(pathlib.Path(folder.name) / "tuning.sqlite")
    >>> session = store.session("matmul on this machine")
    >>> session.claim({"i": 64}), session.claim({"i": 64})
    (True, False)
    >>> session.remember(Trial({"i": 64}, Status.OK, 0.5))
    >>> session.crown({"i": 64}, gain=1.5)
    >>> store.winner("matmul on this machine").point
    {'i': 64}
    >>> folder.cleanup()
    """

    path: Path

    def session(self, key: str) -> Session:
        """A memory for one search (see `gpucodegen.tiling.tuning.search`)."""
        return Session(self, key)

    def trials(self, key: str, *, in_order: bool = False) -> tuple[Trial, ...]:
        """All finished trials of a key, sorted by time or in order of insertion."""
        order = "since, point" if in_order else "seconds is null, seconds, point"
        query = (
            "select point, status, seconds, reason from trial"  # noqa: S608
            f" where key = ? and status != ? order by {order}"
        )
        with self.connection() as database:
            rows = database.execute(query, (key, _RUNNING)).fetchall()
        trials = (read_trial(*row) for row in rows)
        return tuple(trial for trial in trials if trial is not None)

    def winner(self, key: str) -> Winner | None:
        """The point of a key that beats the default; None if none is known."""
        query = "select point, gain, since from winner where key = ?"
        with self.connection() as database:
            row = database.execute(query, (key,)).fetchone()
        return None if row is None else read_winner(*row)

    def subjects(self) -> dict[str, dict[str, Any]]:
        """The descriptions of all keys, the latest last."""
        query = "select key, about from subject order by since"
        with self.connection() as database:
            rows = database.execute(query).fetchall()
        return {key: json.loads(about) for key, about in rows}

    def forget(self, key: str) -> None:
        """Deletes everything stored for a key."""
        with self.connection() as database:
            for table in _TABLES:
                database.execute(f"delete from {table} where key = ?", (key,))  # noqa: S608

    def connection(self) -> AbstractContextManager[sqlite3.Connection]:
        """An open, verified database in autocommit mode."""
        return connection(self.path)


@dataclass(frozen=True, slots=True)
class Session:
    """The trials of one key, as the memory of a search."""

    store: TuningStore
    key: str

    def describe(self, about: Mapping[str, object]) -> None:
        """Stores a readable description of the key; other stored data stays."""
        with self.store.connection() as database:
            find = "select about from subject where key = ?"
            row = database.execute(find, (self.key,)).fetchone()
            known = {} if row is None else json.loads(row[0])
            text = json.dumps({**known, **about}, default=str)
            database.execute(
                "insert or replace into subject values (?, ?, ?)",
                (self.key, text, time.time()),
            )

    def recall(self, point: Point) -> Trial | None:
        query = (
            "select point, status, seconds, reason from trial"
            " where key = ? and point = ? and status != ?"
        )
        with self.store.connection() as database:
            row = database.execute(query, (*self._place(point), _RUNNING)).fetchone()
        return None if row is None else read_trial(*row)

    def claim(self, point: Point) -> bool:
        """Reserves a point for this process, unless another one is measuring it."""
        now = time.time()
        new = "insert or ignore into trial values (?, ?, ?, null, '', ?, ?)"
        find = (
            "select owner, since from trial where key = ? and point = ? and status = ?"
        )
        take = (
            "update trial set owner = ?, since = ?"
            " where key = ? and point = ? and status = ? and owner = ? and since = ?"
        )
        place = (*self._place(point), _RUNNING)
        with self.store.connection() as database:
            if database.execute(new, (*place, owner(), now)).rowcount == 1:
                return True
            found = database.execute(find, place).fetchone()
            if found is None or not may_take(*found, now):
                return False
            return database.execute(take, (owner(), now, *place, *found)).rowcount == 1

    def release(self, point: Point) -> None:
        query = (
            "delete from trial where key = ? and point = ? and status = ? and owner = ?"
        )
        with self.store.connection() as database:
            database.execute(query, (*self._place(point), _RUNNING, owner()))

    def remember(self, trial: Trial) -> None:
        row = (
            *self._place(trial.point),
            trial.status.value,
            trial.seconds,
            trial.reason,
            owner(),
            time.time(),
        )
        with self.store.connection() as database:
            database.execute(
                "insert or replace into trial values (?, ?, ?, ?, ?, ?, ?)", row
            )

    def forgive(self, point: Point) -> None:
        query = (
            "delete from trial where key = ? and point = ? and status != ?"
            " and seconds is null"
        )
        with self.store.connection() as database:
            database.execute(query, (*self._place(point), _RUNNING))

    def crown(
        self, point: Point | None, gain: float = 1.0, since: float | None = None
    ) -> None:
        """Makes a point the winner of the key; None: nothing beats the default.

        ``since``: the time of the decision, in seconds of the epoch; None: now.
        """
        with self.store.connection() as database:
            if point is None:
                database.execute("delete from winner where key = ?", (self.key,))
                return
            row = (*self._place(point), gain, time.time() if since is None else since)
            database.execute("insert or replace into winner values (?, ?, ?, ?)", row)

    def _place(self, point: Point) -> tuple[str, str]:
        return self.key, point_text(point)
