"""Room for the recursion that deeply nested regions need.

The limit is one number of the whole interpreter, and several threads may parse at once:
the first to come raises it, the last to leave puts it back.
"""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from threading import Lock

_ROOM = 6000


@dataclass(slots=True)
class _Raised:
    """Who needs the room now, and the limit that was there before."""

    users: int = 0
    before: int = 0


_RAISED = _Raised()
_LOCK = Lock()


@contextmanager
def deep_recursion() -> Generator[None]:
    """Raise the interpreter's recursion limit for a while; never lower it."""
    with _LOCK:
        _enter()
    try:
        yield
    finally:
        with _LOCK:
            _leave()


def _enter() -> None:
    if _RAISED.users == 0:
        _RAISED.before = sys.getrecursionlimit()
        sys.setrecursionlimit(max(_RAISED.before, _ROOM))
    _RAISED.users += 1


def _leave() -> None:
    """A limit that was set otherwise since is left alone."""
    _RAISED.users -= 1
    raised = max(_RAISED.before, _ROOM)
    if _RAISED.users == 0 and sys.getrecursionlimit() == raised:
        sys.setrecursionlimit(_RAISED.before)
