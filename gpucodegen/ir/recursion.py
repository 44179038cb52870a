"""Room for the recursion that deeply nested regions need."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager

_ROOM = 6000


@contextmanager
def deep_recursion() -> Generator[None]:
    """Raise the interpreter's recursion limit for a while; never lower it."""
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, _ROOM))
    try:
        yield
    finally:
        sys.setrecursionlimit(limit)
