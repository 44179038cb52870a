"""Loop distribution: which parts of a loop's body must share a loop, and in what order.

Comes in: the dependences of a nest and the body of one of its loops, cut into pieces.
Goes out: groups of pieces, each a loop of its own, in an order that keeps every
dependence.  They are the strongly connected components of the dependence graph
(Kennedy and Allen): as many loops as are possible.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from gpucodegen.tiling.model.scop import Loop
from gpucodegen.tiling.proof.dependences import Dependence, Reference

Piece = Collection[tuple[str, int]]
"""Accesses: name of the statement, position in it."""


def distribution(
    found: Sequence[Dependence], loop: Loop, pieces: Sequence[Piece]
) -> tuple[tuple[int, ...], ...]:
    """Groups of positions in ``pieces``, in the order in which their loops may run.

    Piece p must not come after q, where with o the loops around ``loop``

        { x -> y in dependences : x in p, y in q, x_o = y_o } != {}

    Pieces that must not come after each other stay in one loop, all others are parted.
    """
    home = {access: number for number, piece in enumerate(pieces) for access in piece}
    before: dict[int, set[int]] = {number: set() for number in range(len(pieces))}
    for dependence in found:
        source, sink = (home.get(_key(r)) for r in (dependence.source, dependence.sink))
        if source is not None and sink is not None and _inside(dependence, loop):
            before[source].add(sink)
    return tuple(_ordered(before))


def _key(reference: Reference) -> tuple[str, int]:
    return reference.instances.name, reference.position


def _inside(dependence: Dependence, loop: Loop) -> bool:
    """Whether the iterations of the loops around ``loop`` are the same."""
    names = [outer.name for outer in dependence.loops]
    level = dependence.level
    return loop.name in names and (level is None or level >= names.index(loop.name))


def _ordered(before: Mapping[int, set[int]]) -> Iterator[tuple[int, ...]]:
    """Components, each as soon as those that must come before it are out.

    >>> list(_ordered({0: {1}, 1: {0, 3}, 2: {3}, 3: set()}))
    [(0, 1), (2,), (3,)]
    """
    reached = {number: _reached(before, number) for number in before}
    waiting: list[int] = sorted(before)
    while waiting:
        group = next(
            component
            for component in (_component(reached, n, waiting) for n in waiting)
            if _is_ready(reached, component, waiting)
        )
        yield group
        waiting = [number for number in waiting if number not in group]


def _component(
    reached: Mapping[int, set[int]], start: int, waiting: Sequence[int]
) -> tuple[int, ...]:
    """What follows ``start`` and is followed by it."""
    return tuple(n for n in waiting if n in reached[start] and start in reached[n])


def _is_ready(
    reached: Mapping[int, set[int]], group: Sequence[int], waiting: Sequence[int]
) -> bool:
    """Whether nothing else that waits must come before the group."""
    return all(n in group or group[0] not in reached[n] for n in waiting)


def _reached(before: Mapping[int, set[int]], start: int) -> set[int]:
    """What follows ``start``, itself included."""
    seen, work = {start}, [start]
    while work:
        for number in before[work.pop()] - seen:
            seen.add(number)
            work.append(number)
    return seen
