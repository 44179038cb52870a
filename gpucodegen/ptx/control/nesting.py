"""Loops within loops, whatever the order of the text and whatever branches there are.

A loop is a set of basic blocks that all reach each other.  It has one header, a block
that is entered from outside: without that block, what is left of the loop falls into
its inner loops and single blocks.  Where all branches are those of nested loops, these
are the natural loops, and a header dominates its loop.  The scheme, and the order of
`Nesting.order`, are F. Bourdoncle's weak topological ordering (1993).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass

Edges = Sequence[Sequence[int]]


@dataclass(frozen=True, slots=True)
class Loop:
    """Basic blocks by number; the header is where their branches back go."""

    header: int
    blocks: frozenset[int]


@dataclass(frozen=True, slots=True)
class Nesting:
    """The loops, an outer one before its inner ones, and the blocks in an order.

    A block comes before those that only follow it, a header before its loop, and all
    of a loop before what follows the loop.
    """

    order: tuple[int, ...]
    loops: tuple[Loop, ...]


def nesting(after: Edges) -> Nesting:
    """The loops of a graph, and its order.

    In this text, the latch of the outer loop (1) stands before the inner loop (2):

    >>> found = nesting([(2,), (0, 3), (2, 1)])
    >>> found.order, found.loops[1]
    ((0, 2, 1), Loop(header=2, blocks=frozenset({2})))
    """
    order: list[int] = []
    loops: list[Loop] = []
    left = [_parts(after, range(len(after)))]
    while left:
        part = next(left[-1], None)
        if part is None:
            left.pop()
            continue
        header = min(part if len(part) == 1 else _entered(after, part) or part)
        order.append(header)
        if len(part) > 1 or header in after[header]:
            loops.append(Loop(header, frozenset(part)))
            left.append(_parts(after, part - {header}))
    return Nesting(tuple(order), tuple(loops))


def _entered(after: Edges, part: Collection[int]) -> list[int]:
    """The blocks of a part that are reached from outside of it."""
    outside = (targets for number, targets in enumerate(after) if number not in part)
    reached = {target for targets in outside for target in targets}
    return [number for number in part if number in reached]


def _parts(after: Edges, among: Collection[int]) -> Iterator[set[int]]:
    """Sets of blocks that all reach each other, each before those that it leads to.

    R. E. Tarjan's algorithm (1972), with a stack of its own.
    """
    found: list[set[int]] = []
    place: dict[int, int] = {}
    lowest: dict[int, int] = {}
    here: list[int] = []
    done: set[int] = set()
    for root in sorted(among, reverse=True):
        path = [] if root in place else [(root, _targets(after, among, root))]
        while path:
            number, targets = path[-1]
            if number not in place:
                place[number] = lowest[number] = len(place)
                here.append(number)
            target = next((t for t in targets if t not in done), None)
            if target is None:
                path.pop()
                if path:
                    outer = path[-1][0]
                    lowest[outer] = min(lowest[outer], lowest[number])
                if lowest[number] == place[number]:
                    at = here.index(number)
                    found.append(set(here[at:]))
                    done.update(here[at:])
                    del here[at:]
            elif target in place:
                lowest[number] = min(lowest[number], place[target])
            else:
                path.append((target, _targets(after, among, target)))
    return reversed(found)


def _targets(after: Edges, among: Collection[int], number: int) -> Iterator[int]:
    """Where a block may go, the last one of the text first."""
    return iter(sorted((t for t in after[number] if t in among), reverse=True))
