"""The SQLite file of the tuning store: opening, verification, row formats.

A file that is damaged or of another version is moved aside and replaced by a new one.
Points, trials and winners are read as the store writes them; anything else reads as
None.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Point, Trial


LARGEST = 2**63 - 1
"""The largest size, and number of seconds, that a database is given."""


@dataclass(frozen=True, slots=True)
class Winner:
    """The point that beats the default.

    ``gain``: its speedup.  ``since``: the time of the decision, in seconds of the
    epoch. ``predicted_for``: the architecture whose model predicts it; "": it was
    measured.
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
    """The point of a line by `point_text`; None for anything else.

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
    from gpucodegen.tiling.tuning.search import Status, Trial

    point = read_point(text)
    with suppress(ValueError):
        return None if point is None else Trial(point, Status(status), seconds, reason)
    return None


def read_winner(text: str, gain: float, since: float) -> Winner | None:
    """A row as a winner; None if it is not one that the store wrote."""
    point = read_point(text)
    return None if point is None else Winner(point, gain, since)


VERSION = 4
"""The version of the file format and of the meaning of its rows."""
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_SCHEMA = f"""
create table if not exists subject (
    key text primary key, about text not null, since real not null
) without rowid;
create table if not exists trial (
    key text not null, point text not null, status text not null,
    seconds real, reason text not null, owner text not null, since real not null,
    primary key (key, point)
) without rowid;
create index if not exists timed on trial (key) where seconds is not null;
create table if not exists winner (
    key text primary key, point text not null, gain real not null, since real not null
) without rowid;
create table if not exists expectation (
    key text not null, point text not null, machine text not null,
    clocks real not null, features text not null,
    primary key (key, point)
) without rowid;
create index if not exists taught on expectation (machine);
pragma user_version = {VERSION};
"""


@contextmanager
def connection(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """An open database in autocommit mode, after a full integrity check."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not _is_sound(path):
        _set_aside(path)
    with closing(_open(path)) as database:
        yield database


@contextmanager
def reading(path: Path) -> Generator[sqlite3.Connection, None, None]:
    """An open database, without a full integrity check.

    Raises DatabaseError where the data read is damaged, or of another version.
    """
    with closing(_connect(path)) as database:
        (version,) = database.execute("pragma user_version").fetchone()
        if version != VERSION:
            raise sqlite3.DatabaseError(f"it is of version {version}")
        yield database


def _is_sound(path: Path) -> bool:
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
    """Moves an unusable file out of the way, with its journals."""
    for suffix in ("-wal", "-shm"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    with suppress(FileNotFoundError):  # another process was faster
        path.replace(path.with_name(f"{path.name}.damaged"))
