"""Orders of a nest by the cache lines that their innermost loop touches."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.nests import axis_of
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.order import interchange
from gpucodegen.passes.loops.order.asked import Order, number_of, orders
from gpucodegen.tiling.machine.locality import (
    LINE_ELEMENTS,
    continues,
    innermost_cost,
    turned_against,
)
from gpucodegen.tiling.machine.plan_space import PlanSpace

SHORTEST = 8
"""Loops of fewer iterations do not fill a vector; they do not go innermost."""
SERIAL = 1.5
"""Cache lines per iteration that a loop may cost more if it becomes vectors."""


def best_order(analysis: NestAnalysis, chain: Sequence[Operation]) -> Order | None:
    """The best legal order that is better than that of the text."""
    return next(
        (
            order
            for order in _better_orders(analysis, chain)
            if interchange.refusal_of(analysis, chain, order) is None
        ),
        None,
    )


def order_menu(
    name: str, analysis: NestAnalysis, chain: Sequence[Operation], default: Order | None
) -> PlanSpace | None:
    """The legal orders of a nest but the ``default``, which an empty point stands for.

    They cost the cache lines of their innermost loop in all iterations.  The default,
    None where it is no order, is expected to be the best.
    """
    loops = legality.lifted_loops(analysis, chain)
    costs = [innermost_cost(analysis.model, loop) for loop in loops]
    least = min(costs) if default is None else costs[default[-1]]
    legal = [
        order
        for order in orders(len(chain))
        if order != default and interchange.refusal_of(analysis, chain, order) is None
    ]
    if not legal:
        return None
    lines = [least, *(max(least, costs[order[-1]]) for order in legal)]
    every = prod(axis.extent for axis in map(axis_of, chain) if axis)
    clocks = tuple(every * max(each, 1 / LINE_ELEMENTS) for each in lines)
    return PlanSpace(({}, *({name: number_of(order)} for order in legal)), clocks)


def _better_orders(
    analysis: NestAnalysis, chain: Sequence[Operation]
) -> list[tuple[int, ...]]:
    """Orders with a cheaper loop innermost, the cheapest first.

    A loop that is not parallel must gain more to take the place of one that is.
    """
    last = len(chain) - 1
    loops = legality.lifted_loops(analysis, chain)
    costs = [innermost_cost(analysis.model, loop) for loop in loops]
    if analysis.is_parallel(chain[last]):
        serial = [not analysis.is_parallel(op) for op in chain]
        costs = [c + SERIAL * s for c, s in zip(costs, serial, strict=True)]
    cheaper = [
        at for at in range(last) if costs[at] < costs[last] and not _is_short(chain[at])
    ]
    cheaper.sort(key=costs.__getitem__)
    moved = [(*(n for n in range(last + 1) if n != at), at) for at in cheaper]
    found = [
        _transposing(analysis, chain, order) for order in (*moved, range(last + 1))
    ]
    return [order for order in found if order != tuple(range(last + 1))]


def _transposing(
    analysis: NestAnalysis, chain: Sequence[Operation], order: Sequence[int]
) -> tuple[int, ...]:
    """The order with a loop that transposes with the innermost one directly around it.

    Only parallel loops change places: each remains as parallel as it is.
    """
    loops = legality.lifted_loops(analysis, chain)
    ordered, built = [loops[at] for at in order], analysis.model
    turned = turned_against(built, ordered, ordered[-1])
    if turned is None:
        return tuple(order)
    first = ordered.index(turned)
    if not all(analysis.is_parallel(chain[at]) for at in order[first:]):
        return tuple(order)
    between = range(first + 1, len(order) - 1)
    out = [at for at in between if not continues(built, ordered[at], ordered[-1])]
    rest = [at for at in range(first, len(order)) if at not in out]
    return tuple(order[at] for at in (*range(first), *out, *rest))


def _is_short(op: Operation) -> bool:
    axis = axis_of(op)
    return axis is not None and axis.extent < SHORTEST
