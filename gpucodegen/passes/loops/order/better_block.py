"""The nests of a block, each in its best order or the one asked for, and fused."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.nests import axis_of
from gpucodegen.passes.loops.cells.scalar_expansion import expanded, runs_along_columns
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.chains import chain_of, sunk
from gpucodegen.passes.loops.framework.naming import FOR
from gpucodegen.passes.loops.order import interchange
from gpucodegen.passes.loops.order.asked import APART, TOGETHER, Asked, Order
from gpucodegen.passes.loops.order.best_order import best_order, order_menu
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.passes.loops.order.locality_fusion import LocalityFuser, Predicate, Span
from gpucodegen.passes.loops.tiling.tiled_nest import tiled
from gpucodegen.tiling.machine.plan_space import PlanSpace
from gpucodegen.tiling.proof.legality import Refusal

MAX_DEPTH = 6
"""Longer chains are left as they are."""
BLOCK = 128
"""Least columns a thread takes: whole cache lines, and prefetching pays."""


@dataclass(frozen=True, slots=True)
class Block:
    """Nests that are counted by ``numbers``, and improved or as ``asked``.

    ``shared``: buffers that several nests use.  ``left_alone`` tells which nests stay
    as they are.  ``keeps``: what else they could be is added to ``found``.
    """

    threads: int
    left_alone: Predicate
    surroundings: Surroundings
    shared: frozenset[Value]
    asked: Asked
    numbers: Iterator[int]
    keeps: bool
    found: list[PlanSpace]

    def improved(self, operations: Sequence[Operation]) -> list[Operation]:
        """The block with each nest in its order, and neighbours fused."""
        current: list[Operation] = []
        spans: dict[Operation, Span] = {}
        for at, op in enumerate(operations):
            if op.name != FOR:
                current.append(op)
                continue
            number = next(self.numbers)
            made = self._ordered(op, operations[:at], number)
            spans |= {part: (number, number) for part in made if part.name == FOR}
            current += made
        given = self.surroundings, self.threads, self.left_alone
        fuser = LocalityFuser(*given, self.asked.fusions)
        fused, joined = fuser.spanned(current, spans)
        if self.keeps:
            wishes = dict.fromkeys(fuser.joinable(fused, joined), TOGETHER)
            wishes |= {n: APART for a, b in joined.values() for n in range(a, b)}
            # no model tells which is better
            names = {f"fusion{n}": wish for n, wish in sorted(wishes.items())}
            self.found.extend(
                PlanSpace(({}, {n: w}), (1.0, 1.0)) for n, w in names.items()
            )
        return fused

    def _ordered(
        self, op: Operation, before: Sequence[Operation], number: int
    ) -> list[Operation]:
        """The nest in the order that is asked for, or in the best one."""
        order = self.asked.orders.get(number)
        if order is not None:
            return [self._as_asked(op, before, order)]
        made = self._by_rows(op, before) or self._nest(op, before)
        if self.keeps:
            self.found.extend(self._orders(op, before, number, made))
        return made

    def _as_asked(
        self, op: Operation, before: Sequence[Operation], order: Order
    ) -> Operation:
        nest = sunk(op)
        chain, analysis = chain_of(nest), analyse([nest], before, self.surroundings)
        shown = ", ".join(str(position + 1) for position in order)
        refusal = None
        if self.left_alone(op, analysis):
            refusal = Refusal("they become a product in register tiles")
        elif len(chain) != len(order):
            refusal = Refusal(f"{len(chain)} loops are perfectly nested")
        else:
            refusal = interchange.refusal_of(analysis, chain, order)
        legality.demand(refusal, op, f"order ({shown}) of the loops")
        if order == tuple(range(len(chain))):
            return op
        return self._in_order(analysis, chain, order)

    def _orders(
        self,
        op: Operation,
        before: Sequence[Operation],
        number: int,
        made: Sequence[Operation],
    ) -> Iterator[PlanSpace]:
        """What else the order of a nest could be, next to what was made of it."""
        nest = sunk(op)
        chain = chain_of(nest)
        if not 2 <= len(chain) <= MAX_DEPTH:
            return
        analysis = analyse([nest], before, self.surroundings)
        if self.left_alone(op, analysis):
            return
        default = None
        if sum(part.name == FOR for part in made) == 1:
            default = best_order(analysis, chain) or tuple(range(len(chain)))
        menu = order_menu(f"order{number}", analysis, chain, default)
        if menu is not None:
            yield menu

    def _by_rows(self, op: Operation, before: Sequence[Operation]) -> list[Operation]:
        """A nest that ran along columns in parts that run along rows; else nothing."""
        if not any(o.name == FOR and o.results for o in op.walk()):
            return []
        analysis = analyse([op], before, self.surroundings)
        if self.left_alone(op, analysis) or not runs_along_columns(op, analysis):
            return []
        found = expanded(op, self.shared)
        if found is None:
            return []
        before = (*before, *found.allocations)
        parts = distribute(found.nest, analyse([found.nest], before, self.surroundings))
        better = [self._reordered(part, before) for part in parts]
        if not any(better):
            return []
        made = [new or old for new, old in zip(better, parts, strict=True)]
        return [*found.allocations, *made, *found.deallocations]

    def _nest(self, op: Operation, before: Sequence[Operation]) -> list[Operation]:
        """The nest in a better order, or in parts of which one is, or as it is."""
        analysis = analyse([op], before, self.surroundings)
        if self.left_alone(op, analysis):
            return [op]
        parts = distribute(op, analysis)
        better = [self._reordered(part, before) for part in parts]
        if not any(better):
            return [op]
        return [new or old for new, old in zip(better, parts, strict=True)]

    def _reordered(
        self, op: Operation, before: Sequence[Operation]
    ) -> Operation | None:
        nest = sunk(op)
        chain = chain_of(nest)
        if not 2 <= len(chain) <= MAX_DEPTH:
            return None
        analysis = analyse([nest], before, self.surroundings)
        order = best_order(analysis, chain)
        return None if order is None else self._in_order(analysis, chain, order)

    def _in_order(
        self, analysis: NestAnalysis, chain: Sequence[Operation], order: Sequence[int]
    ) -> Operation:
        first, outermost = chain[0], chain[order[0]]
        was_parallel = analysis.is_parallel(first)
        axis = axis_of(first)
        if (
            self.threads == 1
            or axis is None
            or not was_parallel
            or analysis.is_parallel(outermost)
        ):
            return interchange.interchanged(chain, order)
        size = max(BLOCK, -(-axis.extent // self.threads))
        if axis.extent < 2 * BLOCK:
            return interchange.interchanged(chain, order)
        blocks = chain_of(tiled([first], [size], first.body.operations))
        return interchange.interchanged(blocks, [0, *(at + 1 for at in order)])
