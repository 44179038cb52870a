"""Calls that are one launch of a kernel on the arguments themselves.

Comes in: a host program.  Goes out: its only kernel, and which arguments it takes, or
None.  Later calls then pass addresses and numbers, and make no buffers.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Never


class _Mark:
    """Stands for an argument; nothing can be known of it."""

    def __bool__(self) -> Never:
        raise TypeError

    def __eq__(self, other: object) -> Never:
        raise TypeError

    __hash__ = None  # type: ignore[assignment]


@dataclass(frozen=True, slots=True)
class Launch:
    """A kernel, its grid and block, and which arguments it takes, in order."""

    name: str
    grid: Any
    block: Any
    order: tuple[int, ...]


class _Launches:
    """A runtime that writes one launch down, and can do nothing else."""

    def __init__(self) -> None:
        self.made: list[tuple[str, Any, Any, tuple[Any, ...]]] = []

    def launch(self, name: str, grid: Any, block: Any, args: tuple[Any, ...]) -> None:
        """Once."""
        if self.made:
            raise TypeError
        self.made.append((name, grid, block, args))


def only_launch(host: Callable[..., Any], count: int) -> Launch | None:
    """What a host program of ``count`` arguments does, if it is one launch.

    It runs once, on marks: one that asks for more than a launch, or looks at an
    argument, does not come to its end.

    >>> only_launch(lambda rt, a, b: rt.launch("k", None, None, (b, a)), 2)
    Launch(name='k', grid=None, block=None, order=(1, 0))
    >>> only_launch(lambda rt, a: rt.launch("k", None, None, (a, rt.dim(a, 0))), 1)
    """
    marks, seen = [_Mark() for _ in range(count)], _Launches()
    places = {id(mark): place for place, mark in enumerate(marks)}
    with suppress(Exception):  # whatever a program raises that meets a mark
        result = host(seen, *marks)
        ((name, grid, block, args),) = seen.made
        order = tuple(places[id(mark)] for mark in args)
        return Launch(name, grid, block, order) if result is None else None
    return None
