"""Scans, argmin and argmax over a row, distributed over the members of a thread group.

A loop is a scan, inclusive or exclusive, if it stores its running total:

    for j iter_args(t = v) { s = t OP x[j];  y[j] = s (or t);  yield s }

    for each part of the row, ``width`` neighbours to a member:
      own = the member's terms;  left = the terms of the members before it
      t = v OP left:  the member runs its iterations;  v = v OP the part's terms

Terms are loaded and combined once for ``own``, and combined again after ``v OP left``.

Argmin and argmax, as in `gpucodegen.passes.vectorize.argminmax` with members for lanes:

    for the member's j:  taken = v(j) > best;  best = taken ? v : best;
                         place = taken ? j : place        (-1 before)
    e  = the best of all members
    j* = the first place among those whose best is e, the last one of ``>=``
    carried values are recomputed at j*, or keep their initial values
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from gpucodegen.dialects import affine, arith
from gpucodegen.dialects.shared.combiners import COMBINERS, Combiner
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import I32, INDEX
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.row_distribution import (
    Interleaved,
    KeptElements,
    Lane,
    Row,
    RowDistribution,
    Totals,
    combines,
    row_of,
)
from gpucodegen.passes.gpu.blocks.thread_reductions import (
    Prefixes,
    combination,
    neutral,
)
from gpucodegen.passes.vectorize.accumulations import (
    Accumulation,
    Order,
    scanned_totals,
    slice_of,
)
from gpucodegen.passes.vectorize.argminmax import ArgMinMax, argminmax_of, repeat
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class Scan:
    """A loop and its totals, whose intermediate values it uses.

    ``is_free``: terms may be combined in groups.
    """

    loop: Operation
    totals: tuple[Accumulation, ...]
    is_free: bool

    @property
    def body(self) -> tuple[Operation, ...]:
        return inner_operations(self.loop)

    @property
    def makers(self) -> list[Operation]:
        """The operations that define the totals."""
        return slice_of(inner_operations(self.loop), [a.after for a in self.totals])


def scan_of(op: Operation, order: Order, analysis: NestAnalysis) -> Scan | None:
    """The scan that a loop is, if only its totals order its iterations."""
    if op.name != "affine.for" or not op.results:
        return None
    body = inner_operations(op)
    if any(o.regions for o in body) or not all(map(_is_known, body)):
        return None
    totals = scanned_totals(op)
    if totals is None or not all(combines(a.kind, a.before.type) for a in totals):
        return None
    if not any(o.name == "affine.store" for o in body) or len(row_of(op).lowers) != 1:
        return None
    carried = (
        d
        for d in analysis.dependences
        if d.carrier is not None
        and d.carrier.payload is op
        and not d.model.array(d.source.access.array).register
    )
    found = Scan(op, tuple(totals), all(map(order.frees, totals)))
    return None if any(carried) or _reads_back(found, analysis) else found


def _reads_back(found: Scan, analysis: NestAnalysis) -> bool:
    """Whether a total depends on memory that the same iteration has stored."""
    stores: list[Operation] = []
    makers = {id(op) for op in found.makers}
    for op in found.body:
        is_read = op.name == "affine.load" and id(op) in makers
        if is_read and analysis.conflicts(stores, [op]):
            return True
        stores += [op] if op.name == "affine.store" else []
    return False


def _is_known(op: Operation) -> bool:
    return op.name in affine.ACCESSES or has_no_effect(op)


def dependent(operations: Iterable[Operation], values: Iterable[Value]) -> set[int]:
    known, found = {*values}, set[int]()
    for op in operations:
        if not known.isdisjoint(op.used):
            known.update(op.results)
            found.add(id(op))
    return found


def scan(b: Builder, found: Scan, deal: RowDistribution) -> None:
    """Append the members' shares, and the definitions of the results."""
    deal.kept.forget()
    deal = replace(deal, kept=_guarding(found, deal.kept))
    row, width = row_of(found.loop), deal.width
    whole = width * deal.team.size
    is_long = row.trips is None or row.trips > whole
    prefixes = Prefixes.of(b, deal.team, found.totals, again=is_long)
    inner = _Part(found, row, deal, prefixes)
    (lower,) = row.lowers
    b.carried_loop(
        lower,
        row.uppers,
        affine.For(found.loop).inits,
        lambda i, iv, values: inner.build(i, Index.of(iv), values),
        step=row.step * whole,
        hint=row.iv.name,
    )
    b.operations[-1] = b.operations[-1].with_(results=found.loop.results)


def _guarding(found: Scan, kept: KeptElements) -> KeptElements:
    """Elements with guards against iterations that do not exist."""
    loads = (op for op in found.body if op.name == "affine.load")
    return KeptElements(kept.aliases, False, frozenset(op.operands[0] for op in loads))


@dataclass(frozen=True, slots=True)
class _Part:
    """The iterations of all members at one position of the row."""

    found: Scan
    row: Row
    deal: RowDistribution
    prefixes: Prefixes

    def build(self, b: Builder, start: Index, carried: Totals) -> Totals:
        """The totals after this part."""
        row, deal, found = self.row, self.deal, self.found
        at = start + deal.team.number * (deal.width * row.step)
        last = at + (deal.width - 1) * row.step
        whole = deal.width * deal.team.size
        fits = row.trips is not None and row.trips % whole == 0
        limits = () if fits else tuple(upper - 1 - last for upper in row.uppers)
        lanes: list[Lane] = [
            {row.iv: b.index(at + n * row.step, row.iv.name)} for n in range(deal.width)
        ]
        side = Interleaved(row.iv, deal.definitions, deal.kept, limits=limits)
        befores = [a.before for a in found.totals]
        late = dependent(found.body, befores)
        makers = found.makers
        side.emit(b, [op for op in makers if id(op) not in late], lanes)
        chains = [op for op in makers if id(op) in late]
        own = self._own(b, chains, lanes)
        members = self.prefixes.combined(b, self._existing(b, own[-1], limits))
        first = [
            self._joined(b, a, value, left)
            for a, value, (left, _) in zip(found.totals, carried, members, strict=True)
        ]
        lanes[0].update((a.before, v) for a, v in zip(found.totals, first, strict=True))
        for lane, before in zip(lanes[1:], own[:-1], strict=True):
            for a, mine, more in zip(found.totals, first, before, strict=True):
                lane[a.before] = self._joined(b, a, mine, more)
        done = {id(op) for op in makers} - late
        side.emit(b, [op for op in found.body if id(op) not in done], lanes)
        return [
            self._joined(b, a, value, total)
            for a, value, (_, total) in zip(found.totals, carried, members, strict=True)
        ]

    def _own(
        self, b: Builder, chains: Sequence[Operation], lanes: Sequence[Lane]
    ) -> list[list[Value]]:
        """Prefixes of the member's own terms."""
        totals = self.found.totals
        values, found = [neutral(b, a) for a in totals], list[list[Value]]()
        for lane in lanes:
            known = {**lane}
            pairs = zip(totals, values, strict=True)
            known.update((a.before, value) for a, value in pairs)
            b.operations += [clone(op, known) for op in chains]
            values = [known[a.after] for a in totals]
            found.append(values)
        return found

    def _existing(
        self, b: Builder, values: Sequence[Value], limits: Sequence[Index]
    ) -> list[Value]:
        """The values of a member that has iterations here, else neutral ones."""
        if not limits:
            return list(values)
        made: list[Value] = []
        for a, value in zip(self.found.totals, values, strict=True):
            made.append(
                b.choose(limits, lambda _, v=value: v, lambda i, a=a: neutral(i, a))
            )
        return made

    def _joined(self, b: Builder, a: Accumulation, one: Value, other: Value) -> Value:
        result = one.renewed()
        b.operations.append(combination(a, one, other, result))
        return result


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


def reduce_to_best(
    b: Builder, op: Operation, found: ArgMinMax, deal: RowDistribution
) -> None:
    """Append the definitions of the loop's results for each member."""
    _Best(op, found, deal).build(b)


def _kind(found: ArgMinMax) -> Combiner:
    return COMBINERS[found.rule.reduction]


@dataclass(frozen=True, slots=True)
class _Best:
    op: Operation
    found: ArgMinMax
    deal: RowDistribution

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
        """The carried values, recomputed at the best place, if one was taken."""
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
