"""Legality of unroll-and-jam, and loop distribution.

`check_jam` tells whether ``factor`` iterations of a loop may run side by side inside
its inner loops, or returns a `Refusal` with a witness.  It is strip-mining followed by
an interchange of the strip's point loop with all loops below, which requires less than
permutability of the whole nest.  `distribution` cuts the body of a loop into the
strongly connected components of the dependence graph (Kennedy and Allen): as many loops
as are possible, in an order that keeps every dependence.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

from gpucodegen.tiling.model.relations import Model
from gpucodegen.tiling.model.scop import (
    If,
    Loop,
    Node,
    Statement,
    loops,
    statements,
    walk,
)
from gpucodegen.tiling.proof.dependences import Dependence, Reference
from gpucodegen.tiling.proof.legality import Refusal, check_schedule

Piece = Collection[tuple[str, int]]
"""Accesses: name of the statement, position in it."""


def distribution(
    found: Sequence[Dependence], loop: Loop, pieces: Sequence[Piece]
) -> tuple[tuple[int, ...], ...]:
    """Groups of positions in ``pieces``, in the order in which their loops may run.

    Piece p must precede q if, with o the loops around ``loop``,

        { x -> y in dependences : x in p, y in q, x_o = y_o } != {}

    Pieces that must precede each other share a loop; all others are separated.
    """
    home = {access: number for number, piece in enumerate(pieces) for access in piece}
    before: dict[int, set[int]] = {number: set() for number in range(len(pieces))}
    for dependence in found:
        source, sink = (home.get(_key(r)) for r in (dependence.source, dependence.sink))
        if source is not None and sink is not None and _is_inside(dependence, loop):
            before[source].add(sink)
    return tuple(_ordered(before))


def _key(reference: Reference) -> tuple[str, int]:
    return reference.instances.name, reference.position


def _is_inside(dependence: Dependence, loop: Loop) -> bool:
    """Whether the iterations of the loops around ``loop`` are the same."""
    names = [outer.name for outer in dependence.loops]
    level = dependence.level
    return loop.name in names and (level is None or level >= names.index(loop.name))


def _ordered(before: Mapping[int, set[int]]) -> Iterator[tuple[int, ...]]:
    """Strongly connected components in topological order.

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
    """The nodes that ``start`` reaches and that reach it."""
    return tuple(n for n in waiting if n in reached[start] and start in reached[n])


def _is_ready(
    reached: Mapping[int, set[int]], group: Sequence[int], waiting: Sequence[int]
) -> bool:
    """Whether no other waiting node must precede the group."""
    return all(n in group or group[0] not in reached[n] for n in waiting)


def _reached(before: Mapping[int, set[int]], start: int) -> set[int]:
    """All nodes reachable from ``start``, itself included."""
    seen, work = {start}, [start]
    while work:
        for number in before[work.pop()] - seen:
            seen.add(number)
            work.append(number)
    return seen


Times = tuple[str, ...]


def check_jam(
    model: Model,
    found: Sequence[Dependence],
    loop: Loop,
    factor: int,
    *,
    relaxed: bool = False,
) -> Refusal | None:
    """Whether ``factor`` iterations of ``loop`` may be jammed.

    With i the loop, z = factor * step, c the iteration of i counted from its lower
    bound, and s the order of the text and loops below i, in which runs of statements
    without a loop between them are single points:

        T = (floor(c / z), s, i, place in the run)
        { x -> y in dependences, x_o = y_o : T(x) lex after or equal T(y) } = {}

    So a distance (d, e) on i and an inner loop forbids it only if 0 < d < z and e < 0.
    The iterations after the last whole group of ``factor`` run in the original order.
    """
    names = {statement.name for statement in statements(loop.body)}
    within = [
        _in_whole_groups(model, dependence, loop, factor)
        for dependence in found
        if {dependence.source.instances.name, dependence.sink.instances.name} <= names
    ]
    if not within:
        return None
    outer = _around(model.scop.body, loop)
    times = dict(_times(loop.body, (*outer, _group(loop, factor)), loop.name))
    refusal = check_schedule(model, within, times, relaxed=relaxed)
    if refusal is None:
        return None
    reason = f"jamming {factor} iterations of loop {loop.name} reverses a dependence"
    return Refusal(reason, refusal.dependence, refusal.witness)


def _group(loop: Loop, factor: int) -> str:
    return f"floor(({loop.name} - ({_lower(loop)}))/{factor * loop.step})"


def _in_whole_groups(
    model: Model, dependence: Dependence, loop: Loop, factor: int
) -> Dependence:
    """{ x -> y in dependence : the group of x ends before i does }.

    The last iteration of a whole group is one of the loop.
    """
    source = dependence.source.instances
    last = f"({_lower(loop)}) + {factor * loop.step}*{_group(loop, factor)}"
    last = f"{last} + {(factor - 1) * loop.step}"
    whole = " and ".join(f"{last} < {upper}" for upper in loop.uppers) or "1 = 1"
    names = [outer.name for outer in source.loops]
    pairs = model.solver.ask(
        lambda: dependence.pairs.intersect_domain(
            source.values.intersect_range(model.where(names, whole)).domain()
        ),
        dependence.pairs,
    )
    return replace(dependence, pairs=pairs)


def _lower(loop: Loop) -> str:
    if len(loop.lowers) == 1:
        return loop.lowers[0]
    return f"max({', '.join(loop.lowers)})" if loop.lowers else "0"


def _around(body: tuple[Node, ...], loop: Loop) -> tuple[str, ...]:
    """Names of the loops around ``loop``."""
    return tuple(
        node.name
        for node in walk(body)
        if isinstance(node, Loop)
        and any(inner.name == loop.name for inner in loops(node.body))
    )


def _times(
    body: Sequence[Node], outer: Times, jammed: str
) -> Iterator[tuple[str, Times]]:
    """Schedule of every statement below; a run without loops is one point."""
    place = 0
    for is_loop, run in groupby(body, key=lambda node: isinstance(node, Loop)):
        if not is_loop:
            place += 1
            yield from _inside(tuple(run), (*outer, str(place), jammed))
            continue
        for node in run:
            assert isinstance(node, Loop)
            place += 1
            yield from _times(node.body, (*outer, str(place), node.name), jammed)


def _inside(run: Sequence[Node], outer: Times) -> Iterator[tuple[str, Times]]:
    """The original order below ``outer``, by place in the text and by loop."""
    for place, node in enumerate(run):
        here = (*outer, str(place))
        match node:
            case Statement():
                yield node.name, here
            case Loop():
                yield from _inside(node.body, (*here, node.name))
            case If():
                yield from _inside((*node.body, *node.orelse), here)
            case _:
                pass
