"""The store of tuned schedules: every trial ever made, in one SQLite file.

Comes in: a key (what was tuned, on what), points and their trials, and the winner of
each key, if one was proven faster than the default. Goes out: that winner. Seconds of
trials do not decide over it: they were taken at different times. Several processes may
work on one key: a point is claimed before it is measured, and claims of processes that
died are taken over after a while. A file that is damaged or of another version is set
aside and begun anew, not trusted.
"""

from __future__ import annotations

import json
import os
import sqlite3
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from gpucodegen.tiling.tuning.search import Status, Trial
from gpucodegen.tiling.tuning.space import Point

VERSION = 2
"""Form of the file, and what is meant by its rows."""
STALE_SECONDS = 600.0
_RUNNING = "running"
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SCHEMA = f"""
create table if not exists trial (
    key text not null, point text not null, status text not null,
    seconds real, reason text not null, process integer, since real not null,
    primary key (key, point)
) without rowid;
create table if not exists winner (
    key text primary key, point text not null
) without rowid;
pragma user_version = {VERSION};
"""


def tuning_key(**parts: object) -> str:
    """A stable digest of everything that makes a measurement comparable.

    >>> tuning_key(ir="...", device="cpu") == tuning_key(device="cpu", ir="...")
    True
    """
    text = json.dumps({name: str(part) for name, part in parts.items()}, sort_keys=True)
    return sha256(text.encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class TuningStore:
    """All trials of all keys.

    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = TuningStore(Path(folder.name) / "tuning.sqlite")
    >>> session = store.session("matmul on this machine")
    >>> session.claim({"i": 64}), session.claim({"i": 64})
    (True, False)
    >>> session.remember(Trial({"i": 64}, Status.OK, 0.5))
    >>> session.crown({"i": 64})
    >>> store.winner("matmul on this machine")
    {'i': 64}
    >>> folder.cleanup()
    """

    path: Path

    def session(self, key: str) -> Session:
        """A memory for one search (see `gpucodegen.tiling.tuning.search`)."""
        return Session(self, key)

    def trials(self, key: str) -> tuple[Trial, ...]:
        """All finished trials of a key, the fastest first."""
        query = (
            "select point, status, seconds, reason from trial"
            " where key = ? and status != ? order by seconds is null, seconds, point"
        )
        with self.connection() as database:
            rows = database.execute(query, (key, _RUNNING)).fetchall()
        trials = (_trial(*row) for row in rows)
        return tuple(trial for trial in trials if trial is not None)

    def winner(self, key: str) -> Point | None:
        """The point of a key that is faster than the default; None: none is known."""
        query = "select point from winner where key = ?"
        with self.connection() as database:
            row = database.execute(query, (key,)).fetchone()
        return None if row is None else _point(*row)

    def forget(self, key: str) -> None:
        """Remove all that is known of a key."""
        with self.connection() as database:
            database.execute("delete from trial where key = ?", (key,))
            database.execute("delete from winner where key = ?", (key,))

    @contextmanager
    def connection(self) -> Generator[sqlite3.Connection, None, None]:
        """An open, sound database in autocommit mode."""
        self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _sound(self.path):
            _set_aside(self.path)
        with closing(_open(self.path)) as database:
            yield database


@dataclass(frozen=True, slots=True)
class Session:
    """The trials of one key, as the memory of a search."""

    store: TuningStore
    key: str

    def recall(self, point: Point) -> Trial | None:
        """The finished trial of this point."""
        query = (
            "select point, status, seconds, reason from trial"
            " where key = ? and point = ? and status != ?"
        )
        with self.store.connection() as database:
            row = database.execute(query, (self.key, _text(point), _RUNNING)).fetchone()
        return None if row is None else _trial(*row)

    def claim(self, point: Point) -> bool:
        """Reserve a point for this process, unless another one is measuring it."""
        now = time.time()
        claim = "insert or ignore into trial values (?, ?, ?, null, '', ?, ?)"
        take_over = (
            "update trial set process = ?, since = ?"
            " where key = ? and point = ? and status = ? and since < ?"
        )
        mine = (self.key, _text(point), _RUNNING, os.getpid(), now)
        dead = (os.getpid(), now, *mine[:3], now - STALE_SECONDS)
        with self.store.connection() as database:
            if database.execute(claim, mine).rowcount == 1:
                return True
            return database.execute(take_over, dead).rowcount == 1

    def remember(self, trial: Trial) -> None:
        """Write a finished trial."""
        row = (
            self.key,
            _text(trial.point),
            trial.status.value,
            trial.seconds,
            trial.reason,
            os.getpid(),
            time.time(),
        )
        with self.store.connection() as database:
            database.execute(
                "insert or replace into trial values (?, ?, ?, ?, ?, ?, ?)", row
            )

    def crown(self, point: Point | None) -> None:
        """Make a point the winner of the key; None: nothing beats the default."""
        with self.store.connection() as database:
            if point is None:
                database.execute("delete from winner where key = ?", (self.key,))
                return
            row = self.key, _text(point)
            database.execute("insert or replace into winner values (?, ?)", row)


def _sound(path: Path) -> bool:
    """Whether the file is absent, empty, or an intact store of this version."""
    if not path.exists():
        return True
    try:
        with closing(_connect(path)) as database:
            (version,) = database.execute("pragma user_version").fetchone()
            (verdict,) = database.execute("pragma quick_check(1)").fetchone()
    except sqlite3.DatabaseError as error:
        return error.sqlite_errorcode & 0xFF not in _DAMAGED
    return version in (0, VERSION) and verdict == "ok"


def _open(path: Path) -> sqlite3.Connection:
    database = _connect(path)
    (version,) = database.execute("pragma user_version").fetchone()
    if version == 0:
        with suppress(sqlite3.OperationalError):  # another process is doing it
            database.execute("pragma journal_mode = wal")
        database.executescript(_SCHEMA)
    database.execute("pragma synchronous = normal")
    return database


def _connect(path: Path) -> sqlite3.Connection:
    return sqlite3.connect(path, timeout=30.0, isolation_level=None)


def _set_aside(path: Path) -> None:
    """Move a file that cannot be used out of the way, with its journals."""
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with suppress(FileNotFoundError):  # another process was faster
        path.replace(path.with_name(f"{path.name}.damaged"))


def _text(point: Mapping[str, int]) -> str:
    return json.dumps(dict(point), sort_keys=True, separators=(",", ":"))


def _point(text: str) -> Point | None:
    """A point as this store writes it; None for anything else."""
    try:
        sizes = json.loads(text)
        is_sound = all(type(size) is int and size >= 0 for size in sizes.values())
    except (ValueError, AttributeError):
        return None
    return sizes if is_sound else None


def _trial(text: str, status: str, seconds: float | None, reason: str) -> Trial | None:
    """A row as a trial; None if it is not one that this store wrote."""
    point = _point(text)
    with suppress(ValueError):
        return None if point is None else Trial(point, Status(status), seconds, reason)
    return None
