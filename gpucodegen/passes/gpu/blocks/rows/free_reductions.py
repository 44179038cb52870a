"""Loops that only combine terms, in an order that is free.

    s = for i iter_args(p = v) {
      q = for j iter_args(r = p) { yield r OP x[i, j] }
      yield q }

What each loop carries are totals (`cpu.vectorize.accumulations`), the outer ones pass
them on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.cpu.vectorize.accumulations import (
    Accumulation,
    Order,
    carried_totals,
)
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.rows.team import combines
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect


@dataclass(frozen=True, slots=True)
class Reduction:
    """Perfectly nested loops, outermost first, and the totals of the innermost.

    ``is_free``: the terms of all totals may come in any order.
    """

    loops: tuple[Operation, ...]
    totals: tuple[Accumulation, ...]
    is_free: bool

    @property
    def initial(self) -> tuple[Value, ...]:
        """What the totals are before the outermost loop."""
        return affine.For(self.loops[0]).inits

    @property
    def results(self) -> tuple[Value, ...]:
        """What they are after it."""
        return self.loops[0].results

    @property
    def body(self) -> tuple[Operation, ...]:
        """The operations of the innermost loop."""
        return inner_operations(self.loops[-1])


def reduction_of(op: Operation, order: Order) -> Reduction | None:
    """The reduction that a loop is, if it is no more than that."""
    if op.name != "affine.for" or not op.results:
        return None
    loops = [op]
    while (inner := _passed_on(loops[-1])) is not None:
        loops.append(inner)
    body = inner_operations(loops[-1])
    if not all(map(_is_read, body)):
        return None
    totals = carried_totals(loops[-1])
    if totals is None or not all(combines(a.kind, a.before.type) for a in totals):
        return None
    return Reduction(tuple(loops), tuple(totals), all(map(order.frees, totals)))


def made_for(operations: Sequence[Operation], loop: Operation) -> list[Operation]:
    """The operations that make what the iterations of a reduction use.

    What it only starts from is not among that.
    """
    bounds = (*affine.For(loop).lower_operands, *affine.For(loop).upper_operands)
    wanted = {*bounds, *(v for op in loop.body.operations for v in op.used)}
    wanted.update(v for op in loop.body.operations for o in op.walk() for v in o.used)
    needed: list[Operation] = []
    for op in reversed(operations):
        if not wanted.isdisjoint(op.results):
            wanted.update(op.operands)
            needed.insert(0, op)
    return needed


def _is_read(op: Operation) -> bool:
    return not op.regions and (op.name == "affine.load" or has_no_effect(op))


def _passed_on(op: Operation) -> Operation | None:
    """The one loop in a loop that takes and gives back all that it carries."""
    loop, inner = affine.For(op), inner_operations(op)
    if len(inner) != 1 or inner[0].name != "affine.for":
        return None
    given = affine.For(inner[0]).inits == loop.iter_args
    yielded = op.body.operations[-1].operands == inner[0].results
    return inner[0] if given and yielded else None
