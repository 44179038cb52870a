"""Looks up the winner of a key during a first call, with minimal imports.

It reads a row or two, however many trials are stored, and does not verify the rest of
the file.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from typing import TYPE_CHECKING

from gpucodegen.tiling.tuning.database import Winner, connection, read_winner, reading

if TYPE_CHECKING:
    import sqlite3
    from pathlib import Path

_WINNER = "select point, gain, since from winner where key = ?"
_TIMED = """
select 1 from trial indexed by timed where key = ? and seconds is not null limit 1
"""


def tuning_key(**parts: object) -> str:
    """A stable digest of everything that makes a measurement comparable.

    >>> tuning_key(ir="...", device="cpu") == tuning_key(device="cpu", ir="...")
    True
    """
    text = json.dumps({name: str(part) for name, part in parts.items()}, sort_keys=True)
    return sha256(text.encode()).hexdigest()


def first_known(path: Path, keys: Sequence[str]) -> tuple[str, Winner | None] | None:
    """The first key that the store knows, and its winner.

    A file that is damaged where it is read is moved aside, as by every other use of it;
    one that is damaged elsewhere stays.
    """
    import sqlite3

    try:
        with reading(path) as database:
            return _first_known(database, keys)
    except sqlite3.DatabaseError:
        with connection(path) as database:
            return _first_known(database, keys)


def _first_known(
    database: sqlite3.Connection, keys: Sequence[str]
) -> tuple[str, Winner | None] | None:
    for key in keys:
        row = database.execute(_WINNER, (key,)).fetchone()
        if row is not None:
            return key, read_winner(*row)
        if database.execute(_TIMED, (key,)).fetchone() is not None:
            return key, None
    return None
