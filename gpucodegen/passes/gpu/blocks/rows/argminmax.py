"""Argmin and argmax dealt out to the members of a team.

    for the member's j:  taken = v(j) > best;  best = taken ? v : best;
                         place = taken ? j : place        (-1 before)
    e  = the best of all members
    j* = the first place among those whose best is e, the last one of ``>=``
    what the loop keeps is made again at j*, or is what it was before

The same as on the vectors of a CPU, where lanes are members.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.shared.combiners import COMBINERS, Combiner
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32, INDEX
from gpucodegen.passes.cpu.vectorize.reductions.argminmax import ArgMinMax, argminmax_of
from gpucodegen.passes.cpu.vectorize.reductions.argminmax_lanes import repeat
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.rows.deal import Deal, Row, row_of
from gpucodegen.passes.gpu.blocks.rows.team import combines


def best_of_row(op: Operation) -> ArgMinMax | None:
    """The argmin or argmax of a loop that certainly runs."""
    if op.name != "affine.for" or not op.results:
        return None
    if any(inner.regions for inner in inner_operations(op)):
        return None
    found = argminmax_of(op)
    if found is None or not 0 < (row_of(op).trips or 0) < 1 << 31:
        return None
    return found if combines(_kind(found), found.value.type) else None


def reduce_to_best(b: Builder, op: Operation, found: ArgMinMax, deal: Deal) -> None:
    """Append what defines the results of the loop for each member."""
    _Best(op, found, deal).build(b)


def _kind(found: ArgMinMax) -> Combiner:
    return COMBINERS[found.rule.reduction]


@dataclass(frozen=True, slots=True)
class _Best:
    op: Operation
    found: ArgMinMax
    deal: Deal

    def build(self, b: Builder) -> None:
        found = self.found
        start = [found.kept[0].initial, b.constant(-1, I32)] * self.deal.lanes
        ends = self.deal.run(b, self._row(), start, {})
        bests, places = ends[::2], ends[1::2]
        best = _joined(b, bests, _kind(found))
        extreme = self.deal.team.combined(b, best, _kind(found))
        none = b.constant(-1, I32)
        near = [
            b.add("arith.select", (self._same(b, one, extreme), place, none), [I32])[0]
            for one, place in zip(bests, places, strict=True)
        ]
        order = COMBINERS["minui" if found.rule.is_first else "maxsi"]
        place = self.deal.team.combined(b, _joined(b, near, order), order)
        self._finish(b, place)

    def _row(self) -> Row:
        """The loop with the place of the best value beside it."""
        found, lower = self.found, self._lower
        before = Value(I32, "place", self.op.location)
        inner = Builder(self.op.location)
        distance = inner.index(Index.of(found.body.iv) - lower, "place")
        (number,) = inner.add("arith.index_cast", (distance,), [I32], hint="place")
        taken = found.compare.results[0]
        operands = (taken, number, before)
        (place,) = inner.add("arith.select", operands, [I32], hint="place")
        row = row_of(self.op)
        last = (taken, found.value, found.best)
        (best,) = inner.add("arith.select", last, [found.value.type], hint="best")
        body = (*found.body.operations, found.compare, *inner.operations)
        ends = (found.best, before), (best, place)
        return Row(row.iv, row.lowers, row.uppers, row.step, body, *ends)

    @property
    def _lower(self) -> Index:
        loop = affine.For(self.op)
        (lower,) = from_map(loop.lower_map, loop.lower_operands)
        return lower

    def _finish(self, b: Builder, place: Value) -> None:
        """What is kept, made again where the best value was, if one was taken."""
        zero = b.constant(0, I32)
        found = _compared(b, "arith.cmpi", "sge", place, zero)
        (inside,) = b.add("arith.maxsi", (place, zero), [I32], hint="place")
        (trip,) = b.add("arith.index_cast", (inside,), [INDEX], hint="place")
        (at,) = b.add("arith.addi", (b.index(self._lower), trip), [INDEX], hint="place")
        known = {self.found.body.iv: at}
        for op in self.found.sources:
            repeat(b, op, known)
        for one in self.found.kept:
            operands = (found, known.get(one.offered, one.offered), one.initial)
            b.operations.append(
                Operation("arith.select", operands, (one.result,), location=b.location)
            )

    def _same(self, b: Builder, one: Value, other: Value) -> Value:
        name = self.found.compare.name
        return _compared(b, name, self.found.rule.same, one, other)


def _compared(b: Builder, name: str, predicate: str, one: Value, other: Value) -> Value:
    made = arith.compare(name, predicate, one, other)
    b.operations.append(made)
    return made.result


def _joined(b: Builder, values: Sequence[Value], kind: Combiner) -> Value:
    first, *others = values
    for value in others:
        (first,) = b.add(kind.name, (first, value), [value.type])
    return first
