"""Leases on points: the process that measures a point, and whether it still lives."""

from __future__ import annotations

import os
import socket
from functools import cache
from pathlib import Path

STALE_SECONDS = 600.0
"""A claim of a process that cannot be asked after ends after so long."""


@cache
def _host() -> str:
    return socket.gethostname()


def owner() -> str:
    """The identity of this process in a shared store: machine, pid and start time.

    >>> is_dead(owner())
    False
    """
    number = os.getpid()
    return f"{_host()}/{number}/{_start(number)}"


def may_take(name: str, since: float, now: float) -> bool:
    """Whether a claim is free: its process has died, or has been out of reach for long.

    >>> may_take(owner(), 0.0, 1e9), may_take("another machine/1/0", 0.0, 1e9)
    (False, True)
    """
    return is_dead(name) or (not _may_ask(name) and since < now - STALE_SECONDS)


def _may_ask(name: str) -> bool:
    """Whether this process can find out if the other one lives."""
    return name.rsplit("/", 2)[0] == _host() and os.name != "nt"


def is_dead(name: str) -> bool:
    """Whether a process of this machine has ended; False where unknown.

    >>> is_dead("another machine/1/0"), is_dead(f"{_host()}/{2**22 + 1}/0")
    (False, True)
    """
    if not _may_ask(name):
        return False
    _, number, start = name.rsplit("/", 2)
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return True
    except OSError:  # somebody else's
        return False
    return _start(int(number)) != start


def _start(number: int) -> str:
    """The start time of a process, in ticks since boot; "" where unknown.

    Process ids are reused; the start time distinguishes two processes with one id.
    """
    try:
        text = Path(f"/proc/{number}/stat").read_text(
            encoding="ascii", errors="replace"
        )
    except OSError:
        return ""
    return text.rpartition(")")[2].split()[19]
