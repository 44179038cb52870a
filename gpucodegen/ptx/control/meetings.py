"""Where ways through a kernel meet again: post-dominators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass


def meeting(after: Sequence[Sequence[int]]) -> list[int]:
    """The block that all ways from each block come through next.

    >>> meeting([(1, 2), (3,), (3,)])
    [3, 3, 3, 3]
    """
    end = len(after)
    every = set(range(end + 1))
    through = [every.copy() for _ in range(end)] + [{end}]
    changed = True
    while changed:
        changed = False
        for number in reversed(range(end)):
            common = set[int].intersection(*(through[t] for t in after[number]))
            if through[number] != common | {number}:
                through[number], changed = common | {number}, True
    nearest = [max(through[n] - {n}, key=lambda b: len(through[b])) for n in range(end)]
    return [*nearest, end]


@dataclass(frozen=True, slots=True)
class Apart:
    """Where threads meet that a branch has sent different ways.

    ``joins``: blocks whose registers may differ by the way; ``meets``: where all are
    together again; ``inside``: what some threads may run more often than others.
    """

    joins: frozenset[int]
    meets: int
    inside: frozenset[int]


def apart(after: Sequence[Sequence[int]], meets: int, branch: int) -> Apart:
    """The consequences of a branch on which threads differ."""
    ways = [frozenset(_reached(after, target, meets)) for target in after[branch]]
    both = frozenset[int].intersection(*ways)
    inside = frozenset[int]().union(*ways)
    repeated = inside if branch in inside else frozenset[int]()
    return Apart(both | {meets}, meets, repeated)


def _reached(edges: Sequence[Sequence[int]], start: int, stop: int) -> Iterator[int]:
    """What is reached from a block without going through another one."""
    seen, left = set[int](), [start]
    while left:
        number = left.pop()
        if number in seen or number == stop or number >= len(edges):
            continue
        seen.add(number)
        yield number
        left += edges[number]
