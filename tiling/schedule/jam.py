"""Unroll and jam: ``factor`` iterations of a loop run side by side inside its loops.

Comes in: a `Model`, its dependences, the loop.  Goes out: None where that is legal, or
a `Refusal` with a witness.  It is strip-mining followed by an interchange of the
strip's point loop with everything below: less than permutability of the whole nest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import Refusal, check_schedule

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
