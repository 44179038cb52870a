"""Vectorization of reduction loops: partial results in lanes and several accumulators.

    for i by lanes * accumulators:   each accumulator combines a separate vector
    the accumulators are combined
    for i by lanes:                  remaining full vectors
    the remaining iterations, masked
    horizontal reduction of the lanes, combined with the initial value

Accumulator splitting hides the latency of the combining operation: each of n
accumulators takes every n-th vector and does not wait for the others.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map
from gpucodegen.passes.nests.loop_ranges import LoopRange
from gpucodegen.passes.prepare.linalg_to_affine import REASSOCIABLE
from gpucodegen.passes.vectorize.accumulations import (
    Accumulating,
    Accumulation,
    CarriedTotal,
    LoopSite,
    StoredTotal,
    accumulating,
)
from gpucodegen.passes.vectorize.loops import Widened
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import VectorUnit
from gpucodegen.tiling.machine.vectorization import (
    InnerLoop,
    plan_lanes,
    split_accumulators,
)


@dataclass(frozen=True, slots=True)
class VectorRange:
    """Iterations from ``first`` to ``end``, in vectors of ``lanes``.

    ``accumulators`` of them are combined with different partial results.
    """

    first: Index
    end: Index
    lanes: int
    accumulators: int

    def until(self, step: int) -> Index:
        """The end of the whole groups of ``step`` iterations."""
        return compact(self.first + compact(self.end - self.first) // step * step)

    @property
    def is_some(self) -> Index:
        """Non-negative if there are iterations."""
        return compact(self.end - self.first) - 1

    @property
    def may_be_empty(self) -> bool:
        """Whether the end may lie before the beginning."""
        trips = compact(self.end - self.first).constant
        return trips is None or trips < 0

    @property
    def rest(self) -> Index:
        """Iterations after the last full vector of a non-empty range."""
        return compact(self.end - self.until(self.lanes))

    def left(self, b: Builder) -> Value:
        """`rest` as a value, which is negative if the range is empty."""
        trips = [self.end - self.first] if self.may_be_empty else []
        return b.smallest([self.rest, *trips], "left")


def vector_range(
    range_: LoopRange, bits: frozenset[int], operations: int, unit: VectorUnit
) -> VectorRange | None:
    """The split of a reduction's iterations; None if vectors do not pay.

    ``bits``: widths of its elements; ``operations``: per iteration, including the
    combination.
    """
    if not range_.is_single:
        return None
    trips = range_.constant_trips
    lanes = plan_lanes(InnerLoop(trips, bits), unit)
    if not lanes:
        return None
    vectors = trips and trips // lanes
    accumulators = split_accumulators(vectors, operations, unit)
    return VectorRange(range_.lowers[0], range_.uppers[0], lanes, accumulators)


def reduction(site: LoopSite) -> list[Operation]:
    """The replacement of a loop that accumulates in a free order."""
    op, range_ = site.op, site.range
    if range_ is None or op.name != "affine.for":
        return []
    loop = accumulating(op)
    if loop is None:
        return []
    bits = frozenset(loop.body.bits)
    row = vector_range(range_, bits, loop.cost, site.machine.unit)
    verdict = site.analysis().verdict(op) if row else None
    if row is None or verdict is None or not site.order.is_free(verdict):
        return []
    b, lanes = Builder(op.location), _ReductionLanes(loop, row)
    if loop.carried:
        lanes.build(b)
    else:  # an empty row must not write totals to memory
        b.guard([row.is_some], lanes.build)
    return b.operations


@dataclass(frozen=True, slots=True)
class _ReductionLanes:
    loop: Accumulating
    row: VectorRange

    def build(self, b: Builder) -> None:
        row = self.row
        wide, full = row.until(row.lanes * row.accumulators), row.until(row.lanes)
        neutral = [self._neutral(b, a) for a in self.loop.accumulations]
        accumulators = self._loop(b, row.first, wide, neutral * row.accumulators)
        totals = self._joined(b, accumulators)
        if row.accumulators > 1:
            totals = self._loop(b, wide, full, totals)
        if row.rest.constant != 0:
            totals = self._iterations(b, full, totals, row.left(b))
        for accumulation, total in zip(self.loop.accumulations, totals, strict=True):
            match accumulation.home:
                case CarriedTotal() as carried:
                    _lanes_combined(b, accumulation, total, carried)
                case StoredTotal() as stored:
                    self._to_memory(b, accumulation, total, stored)

    def _to_memory(
        self, b: Builder, accumulation: Accumulation, total: Value, home: StoredTotal
    ) -> None:
        load = affine.Load(home.load)
        place = from_map(load.map, load.map_operands)

        def combined(inner: Builder) -> None:
            before = inner.load(load.memref, place, accumulation.before.name)
            after = accumulation.after.renewed()
            _lanes_combined(inner, accumulation, total, CarriedTotal(before, after))
            inner.store(after, load.memref, place)

        b.guard([self.row.is_some] if self.loop.carried else [], combined)

    def _neutral(self, b: Builder, accumulation: Accumulation) -> Value:
        ty = accumulation.before.type
        lanes = VectorType((self.row.lanes,), ty)
        return b.constant(accumulation.kind.neutral_of(ty), lanes)

    def _loop(
        self, b: Builder, first: Index, end: Index, totals: Sequence[Value]
    ) -> Sequence[Value]:
        """Steps of one vector for each set of accumulators."""
        count, lanes = len(self.loop.accumulations), self.row.lanes
        accumulators = len(totals) // count
        trips = compact(end - first).constant
        if trips == 0:
            return totals

        def body(inner: Builder, at: Index, values: Sequence[Value]) -> list[Value]:
            made: list[Value] = []
            for number in range(accumulators):
                own = values[number * count : (number + 1) * count]
                made += self._iterations(inner, at + number * lanes, own)
            return made

        if trips == accumulators * lanes:
            return body(b, first, totals)
        return b.carried_loop(
            [first, self.row.first] if self.row.may_be_empty else first,
            end,
            totals,
            lambda inner, iv, values: body(inner, Index.of(iv), values),
            step=accumulators * lanes,
            hint=self.loop.body.iv.name,
        )

    def _iterations(
        self,
        b: Builder,
        first: Index,
        totals: Sequence[Value],
        left: Value | None = None,
    ) -> list[Value]:
        """One vector of iterations, the first ``left`` of them if given."""
        widened = Widened(self.loop.body, b, first, self.row.lanes, left)
        pairs = list(zip(self.loop.accumulations, totals, strict=True))
        widened.vectors.update((a.before, total) for a, total in pairs)
        widened.build()
        made = [widened.vector(a.after) for a, _ in pairs]
        if widened.mask is None:
            return made
        return [
            b.value("arith.select", (widened.mask, new, old), old.type, hint=old.name)
            for new, old in zip(made, totals, strict=True)
        ]

    def _joined(self, b: Builder, accumulators: Sequence[Value]) -> list[Value]:
        """The accumulators of each accumulation combined, neighbours first."""
        count = len(self.loop.accumulations)
        joined: list[Value] = []
        for position, accumulation in enumerate(self.loop.accumulations):
            values = list(accumulators[position::count])
            while len(values) > 1:
                pairs = zip(values[::2], values[1::2], strict=False)
                odd = values[len(values) & ~1 :]
                values = [*(_combined(b, accumulation, *p) for p in pairs), *odd]
            joined += values
        return joined


def _combined(b: Builder, accumulation: Accumulation, x: Value, y: Value) -> Value:
    kind = accumulation.kind
    attributes = {"fastmath": REASSOCIABLE} if kind.is_ordered else None
    return b.value(kind.name, (x, y), x.type, attributes, hint=x.name)


def _lanes_combined(
    b: Builder, accumulation: Accumulation, total: Value, ends: CarriedTotal
) -> None:
    """Define the result: the lanes of ``total`` combined with the initial value."""
    kind = accumulation.kind
    flags = {"fastmath": REASSOCIABLE} if kind.is_ordered else {}
    b.operations.append(
        Operation(
            "vector.reduction",
            (total, ends.initial),
            (ends.result,),
            {"kind": OpaqueAttr(f"#vector.kind<{kind.kind}>"), **flags},
            location=b.location,
        )
    )
