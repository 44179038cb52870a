"""A loop that accumulates, on vectors: partial results in every lane, added up behind.

for i by lanes * chains:   each chain combines a vector of its own
the chains are combined
for i by lanes:            full vectors that are left
the rest, masked
the lanes are combined with what the total was before the loop
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.attributes import OpaqueAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.cpu.vectorize.loops import Range
from gpucodegen.passes.cpu.vectorize.rows.accumulations import (
    Accumulating,
    Accumulation,
    Carried,
    Cell,
)
from gpucodegen.passes.cpu.vectorize.widen import Widened
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, from_map
from gpucodegen.passes.prepare.linalg.linalg_to_affine import REASSOCIABLE
from gpucodegen.tiling.machine.loops.row_plan import partial_results
from gpucodegen.tiling.machine.loops.vector_plan import InnerLoop, plan_lanes
from gpucodegen.tiling.machine.products.register_tile import VectorUnit


@dataclass(frozen=True, slots=True)
class Row:
    """A range of iterations, cut in vectors of ``lanes``, ``chains`` at a time."""

    first: Index
    end: Index
    lanes: int
    chains: int

    def until(self, step: int) -> Index:
        """The end of the whole steps of so many iterations."""
        return compact(self.first + compact(self.end - self.first) // step * step)

    @property
    def is_some(self) -> Index:
        """Not negative if there are iterations."""
        return compact(self.end - self.first) - 1

    @property
    def may_be_empty(self) -> bool:
        """Whether the end may lie before the beginning."""
        trips = compact(self.end - self.first).constant
        return trips is None or trips < 0

    @property
    def rest(self) -> Index:
        """Iterations behind the last full vector, of a row that has any."""
        return compact(self.end - self.until(self.lanes))

    def left(self, b: Builder) -> Value:
        """The same as a value, which is negative if the end lies before."""
        trips = [self.end - self.first] if self.may_be_empty else []
        return b.smallest([self.rest, *trips], "left")


def row_of(loop: Accumulating, range_: Range, unit: VectorUnit) -> Row | None:
    """How the iterations of a loop are cut; None if vectors do not pay."""
    if len(range_.lowers) != 1 or len(range_.uppers) != 1:
        return None
    trips = range_.trips
    lanes = plan_lanes(InnerLoop(trips, frozenset(loop.body.bits)), unit)
    if not lanes:
        return None
    chains = partial_results(trips and trips // lanes, loop.cost, unit)
    return Row(range_.lowers[0], range_.uppers[0], lanes, chains)


def accumulate(b: Builder, loop: Accumulating, row: Row) -> None:
    """Run the loop over the row; of an empty row, cells are not touched."""
    if loop.carried:
        _Reduced(loop, row).build(b)
    else:
        b.guard([row.is_some], lambda inner: _Reduced(loop, row).build(inner))


@dataclass(frozen=True, slots=True)
class _Reduced:
    loop: Accumulating
    row: Row

    def build(self, b: Builder) -> None:
        row = self.row
        wide, full = row.until(row.lanes * row.chains), row.until(row.lanes)
        neutral = [self._neutral(b, a) for a in self.loop.accumulations]
        chains = self._loop(b, row.first, wide, neutral * row.chains)
        totals = self._joined(b, chains)
        if row.chains > 1:
            totals = self._loop(b, wide, full, totals)
        if row.rest.constant != 0:
            totals = self._iterations(b, full, totals, row.left(b))
        for accumulation, total in zip(self.loop.accumulations, totals, strict=True):
            match accumulation.home:
                case Carried() as carried:
                    _lanes_combined(b, accumulation, total, carried)
                case Cell() as cell:
                    self._to_cell(b, accumulation, total, cell)

    def _to_cell(
        self, b: Builder, accumulation: Accumulation, total: Value, cell: Cell
    ) -> None:
        """Combine the lanes and the cell."""
        load = affine.Load(cell.load)
        place = from_map(load.map, load.map_operands)

        def combined(inner: Builder) -> None:
            before = inner.load(load.memref, place, accumulation.before.name)
            after = accumulation.after.renewed()
            _lanes_combined(inner, accumulation, total, Carried(before, after))
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
        chains = len(totals) // count
        trips = compact(end - first).constant
        if trips == 0:
            return totals

        def body(inner: Builder, at: Index, values: Sequence[Value]) -> list[Value]:
            made: list[Value] = []
            for chain in range(chains):
                own = values[chain * count : (chain + 1) * count]
                made += self._iterations(inner, at + chain * lanes, own)
            return made

        if trips == chains * lanes:
            return body(b, first, totals)
        return b.carried_loop(
            [first, self.row.first] if self.row.may_be_empty else first,
            end,
            totals,
            lambda inner, iv, values: body(inner, Index.of(iv), values),
            step=chains * lanes,
            hint=self.loop.body.iv.name,
        )

    def _iterations(
        self,
        b: Builder,
        first: Index,
        totals: Sequence[Value],
        left: Value | None = None,
    ) -> list[Value]:
        """One vector of iterations, the first ``left`` of them if that is given."""
        widened = Widened(self.loop.body, b, first, self.row.lanes, left)
        pairs = list(zip(self.loop.accumulations, totals, strict=True))
        widened.vectors.update((a.before, total) for a, total in pairs)
        widened.build()
        made = [widened.vector(a.after) for a, _ in pairs]
        if widened.mask is None:
            return made
        return [
            b.add("arith.select", (widened.mask, new, old), [old.type], hint=old.name)[
                0
            ]
            for new, old in zip(made, totals, strict=True)
        ]

    def _joined(self, b: Builder, chains: Sequence[Value]) -> list[Value]:
        """The chains of each accumulation combined, neighbours first."""
        count = len(self.loop.accumulations)
        joined: list[Value] = []
        for position, accumulation in enumerate(self.loop.accumulations):
            values = list(chains[position::count])
            while len(values) > 1:
                pairs = zip(values[::2], values[1::2], strict=False)
                odd = values[len(values) & ~1 :]
                values = [*(_combined(b, accumulation, *p) for p in pairs), *odd]
            joined += values
        return joined


def _combined(b: Builder, accumulation: Accumulation, x: Value, y: Value) -> Value:
    kind = accumulation.kind
    attributes = {"fastmath": REASSOCIABLE} if kind.is_ordered else None
    (value,) = b.add(kind.name, (x, y), [x.type], attributes, hint=x.name)
    return value


def _lanes_combined(
    b: Builder, accumulation: Accumulation, total: Value, ends: Carried
) -> None:
    """Define the result: the lanes of ``total``, and what was before."""
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
