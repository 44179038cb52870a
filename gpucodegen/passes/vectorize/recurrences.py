"""Recurrences: loops split into a parallel part and a chain with a row per lane.

    for j iter_args(t) {            for j { e = f(load x[i, j]); store e }      ahead
      e = f(load x[i, j])
      store e                 =>    for j iter_args(t) { t' = g(t, e) }         chain
      t' = g(t, e)
    }

The chain runs with a row in each lane, so each row keeps its order.  The part ahead
runs along a row: operations that do not depend on carried values and read the row
itself. Values that *cross* from there to the chain are transposed from rows to columns,
as are the values that the chain *writes* along a row.  A cell that an iteration loads
and stores is carried, too.  `Strip` is as many rows as vectors have lanes; values
computed for one row and used elsewhere in the body are saved, an element per row.

Legal iff no part of the chain must come before an operation of the part ahead:

    { x -> y in dependences : x in chain, y in ahead } = {}
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import (
    Operation,
    Value,
    clone,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.analysis.lifting.reductions import same_cell
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, rewrite_maps
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.outlining.kernel_operations import lane_bits
from gpucodegen.passes.vectorize.loops import range_of
from gpucodegen.passes.vectorize.recognize import LoopBody
from gpucodegen.passes.vectorize.transposes import TileAccess, tile_access
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class OuterLoop:
    """A loop over rows: its variable, and other values that differ between rows."""

    iv: Value
    values: frozenset[Value] = frozenset()


@dataclass(frozen=True, slots=True)
class CarriedValue:
    """A loop-carried value, in an iteration and around the loop."""

    before: Value
    after: Value
    initial: Value
    result: Value


@dataclass(frozen=True, slots=True)
class Recurrence:
    """The parts of a loop from ``first`` to ``end``.

    ``chain`` has the rows in its lanes.  ``written``: the targets of its stores along
    rows, ``direct``: the crossing values that are elements of rows.
    """

    iv: Value
    first: Index
    end: Index
    carries: tuple[CarriedValue, ...]
    ahead: tuple[Operation, ...]
    chain: LoopBody
    crossing: tuple[Value, ...]
    direct: dict[Value, TileAccess]
    written: dict[Operation, TileAccess]

    @property
    def used(self) -> set[Value]:
        """The values from outside that the loop uses."""
        operations = (*self.ahead, *self.chain.operations)
        used = {v for op in operations for v in op.used}
        used.update(carry.initial for carry in self.carries)
        return used | {carry.after for carry in self.carries}

    @property
    def is_tiled(self) -> bool:
        """Whether rows are read or written along them, in tiles."""
        return bool(self.ahead or self.written)


@dataclass(frozen=True, slots=True)
class PlacedRecurrence:
    """A recurrence, the loads of its cells before it and the stores after it."""

    before: tuple[Operation, ...]
    recurrence: Recurrence
    after: tuple[Operation, ...]


def recurrence_of(
    loop: Operation, rows: OuterLoop, analysis: NestAnalysis
) -> PlacedRecurrence | None:
    """The parts of an ``affine.for`` in a loop over rows, if its chain has lanes."""
    range_ = range_of(loop)
    if range_ is None or len(range_.lowers) != 1 or len(range_.uppers) != 1:
        return None
    (first,), (end,) = range_.lowers, range_.uppers
    if rows.values.union([rows.iv]).intersection((*first.values, *end.values)):
        return None
    cells = _cells(loop, analysis) if range_.constant_trips else []
    carries = [*_carried(loop), *(cell.carry for cell in cells)]
    ends = {id(op) for cell in cells for op in (cell.load, cell.store)}
    inside = [op for op in inner_operations(loop) if id(op) not in ends]
    if not carries or not all(map(_is_simple, inside)):
        return None
    parts = _Parts(rows, loop.body.arguments[0], tuple(carries), inside)
    chain = parts.chain_body() if parts.are_complete() else None
    if chain is None or _conflict(parts, analysis):
        return None
    before = tuple(cell.load.with_(results=(cell.carry.initial,)) for cell in cells)
    after = tuple(cell.stores_back for cell in cells)
    made = Recurrence(
        parts.iv,
        first,
        end,
        parts.carries,
        tuple(parts.ahead),
        chain,
        parts.crossing,
        parts.direct(),
        parts.written,
    )
    return PlacedRecurrence(before, made, after)


def _conflict(parts: _Parts, analysis: NestAnalysis) -> bool:
    """Whether dependences forbid moving parts ahead of the chain, or after its loop."""
    is_early = analysis.conflicts(parts.chain, parts.ahead)
    is_late = analysis.conflicts(parts.written, parts.chain)
    return bool(is_early or is_late)


def _is_simple(op: Operation) -> bool:
    return not op.regions and (op.name in affine.ACCESSES or has_no_effect(op))


def _carried(loop: Operation) -> list[CarriedValue]:
    view, yielded = affine.For(loop), loop.body.operations[-1].operands
    ends = zip(view.iter_args, yielded, view.inits, loop.results, strict=True)
    return [CarriedValue(*values) for values in ends]


@dataclass(frozen=True, slots=True)
class _Cell:
    """An invariant cell that each iteration loads and stores."""

    load: Operation
    store: Operation
    carry: CarriedValue

    @property
    def stores_back(self) -> Operation:
        """The store of the last value."""
        operands = (self.carry.result, *self.store.operands[1:])
        return self.store.with_(operands=operands)


def _cells(loop: Operation, analysis: NestAnalysis) -> list[_Cell]:
    """The cells that only their own load and store touch, in this order."""
    operations = inner_operations(loop)
    moved = {*loop.body.arguments, *(v for op in operations for v in op.results)}
    found: list[_Cell] = []
    for at, store in enumerate(operations):
        if store.name != "affine.store" or moved.intersection(store.operands[1:]):
            continue
        earlier = [op for op in operations[:at] if op.name == "affine.load"]
        loads = [op for op in earlier if same_cell(op, store)]
        if len(loads) != 1:
            continue
        own = (loads[0], store)
        others = [op for op in operations if op not in own]
        if analysis.conflicts(own, others) or analysis.conflicts(others, own):
            continue
        before, after = loads[0].result, store.operands[0]
        carry = CarriedValue(before, after, before.renewed(), after.renewed())
        found.append(_Cell(*own, carry))
    return found


@dataclass(slots=True)
class _Parts:
    """Divides the operations of a loop over ``iv``; the first pass is in order."""

    rows: OuterLoop
    iv: Value
    carries: tuple[CarriedValue, ...]
    operations: Sequence[Operation]
    carried: set[Value] = field(default_factory=set[Value])
    along: set[Value] = field(default_factory=set[Value])
    ahead: list[Operation] = field(default_factory=list[Operation])
    chain: list[Operation] = field(default_factory=list[Operation])
    written: dict[Operation, TileAccess] = field(
        default_factory=dict[Operation, TileAccess]
    )

    def are_complete(self) -> bool:
        """Divide; False if an operation has no place."""
        self.carried = {carry.before for carry in self.carries}
        ahead: set[Operation] = set()
        chain: set[Operation] = set()
        for op in self.operations:
            if self.carried.intersection(op.operands):
                self.carried.update(op.results)
                chain.add(op)
                if op.name in affine.ACCESSES and not self._has_lanes(op):
                    access = op.name == "affine.store" and self._tile_access(op)
                    if not access or access.transposed:
                        return False
                    self.written[op] = access
            elif self.along.intersection(op.operands) or self._needs_row(op):
                self.along.update(op.results)
                ahead.add(op)
            elif op.name == "affine.store":
                chain.add(op)
        self.ahead = self._with_sources(ahead, stop=set())
        yielded = {carry.after for carry in self.carries}
        self.chain = self._with_sources(chain, stop=self.along, wanted=yielded)
        return all(_fits_memory(v) for v in self.crossing)

    def _has_lanes(self, op: Operation) -> bool:
        """Whether an access is one vector of rows, or uniform over them."""
        varying = {self.rows.iv, *self.rows.values, *self.carried}
        body = LoopBody(self.rows.iv, (), varying=varying)
        return body.admit(op) and body.takes_masks

    def _needs_row(self, op: Operation) -> bool:
        return op.name in affine.ACCESSES and not self._has_lanes(op)

    def _tile_access(self, op: Operation) -> TileAccess | None:
        return tile_access(op, self.rows.iv, self.iv)

    def _with_sources(
        self,
        chosen: Collection[Operation],
        stop: AbstractSet[Value],
        wanted: Collection[Value] = (),
    ) -> list[Operation]:
        """The chosen operations with their backward slice, in order."""
        needed = set(wanted)
        found: list[Operation] = []
        for op in reversed(self.operations):
            is_source = not needed.isdisjoint(op.results)
            if op in chosen or (is_source and stop.isdisjoint(op.results)):
                found.append(op)
                needed.update(op.operands)
        return found[::-1]

    @property
    def crossing(self) -> tuple[Value, ...]:
        """Values that the part ahead defines and the chain uses or yields."""
        used = {value for op in self.chain for value in op.operands}
        used.update(carry.after for carry in self.carries)
        made = [value for op in self.ahead for value in op.results]
        return tuple(v for v in made if v in used and v in self.along)

    def chain_body(self) -> LoopBody | None:
        """The chain on lanes, if all of it can be vectorized."""
        carried = {carry.before for carry in self.carries}
        varying = {self.rows.iv, *self.rows.values, *carried, *self.crossing}
        body = LoopBody(self.rows.iv, tuple(self.chain), varying=varying)
        rest = [op for op in self.chain if op not in self.written]
        stored = (op.operands[0] for op in self.written)
        held = body.holds((*carried, *self.crossing, *stored))
        return body if held and all(map(body.admit, rest)) else None

    def direct(self) -> dict[Value, TileAccess]:
        """The crossing values that are unchanged elements of rows."""
        if any(op.name == "affine.store" for op in self.ahead):
            return {}
        loads = [op for op in self.ahead if op.name == "affine.load"]
        accesses = {op.result: self._tile_access(op) for op in loads}
        found = {v: accesses[v] for v in self.crossing if v in accesses}
        return {v: p for v, p in found.items() if p and not p.transposed}


def _fits_memory(value: Value) -> bool:
    return (lane_bits(value.type) or 0) >= 8


@dataclass(frozen=True, slots=True)
class Strip:
    """``lanes`` rows from ``first`` on; ``left``: how many exist, if fewer may.

    ``saved``: the buffers of the values that other parts of the body use.
    """

    iv: Value
    first: Index
    lanes: int
    left: Index | None
    saved: Mapping[Value, Value]

    @property
    def count(self) -> Index:
        return Index.of(self.lanes) if self.left is None else self.left

    def vector_of(self, element: Value) -> VectorType:
        """The type of a value in every lane."""
        return VectorType((self.lanes,), element.type)

    def each_row(self, b: Builder, body: Callable[[Builder, Value], None]) -> None:
        """A loop over the rows, counted from 0."""
        b.loop(0, self.count, body, hint=self.iv.name)

    def row_by_row(self, b: Builder, operations: Sequence[Operation]) -> None:
        made = [value for op in operations for value in op.results]

        def row(inner: Builder, number: Value) -> None:
            known = self.scalars(inner, operations, number)
            copy_at(inner, operations, {self.iv: self.first + number}, known)
            for value in made:
                if value in self.saved:
                    inner.store(known[value], self.saved[value], [number])

        self.each_row(b, row)

    def scalars(
        self, b: Builder, operations: Sequence[Operation], number: Value
    ) -> dict[Value, Value]:
        """Loads of saved values that operations of one row use."""
        made = {value for op in operations for value in op.results}
        wanted = [v for v in self.saved if v in used_by(operations) - made]
        return {v: b.load(self.saved[v], [number], v.name) for v in wanted}

    def vectors(self, b: Builder, used: Iterable[Value]) -> dict[Value, Value]:
        """The saved values among those used, a row in each lane."""
        return {
            v: b.affine_vector_load(self.saved[v], [0], self.vector_of(v), v.name)
            for v in self.saved
            if v in used
        }


def used_by(operations: Iterable[Operation]) -> set[Value]:
    """All values that operations, and those nested in them, use."""
    return {value for op in operations for inner in op.walk() for value in inner.used}


def copy_at(
    b: Builder,
    operations: Sequence[Operation],
    places: Mapping[Value, Index],
    known: dict[Value, Value],
) -> None:
    """Append copies with loop variables at ``places`` and other values ``known``.

    ``known`` gets the values that the copies define.
    """
    known.update({old: old.renewed() for old in places})
    indices = {known[old]: index for old, index in places.items()}
    copies = [
        copy
        for op in operations
        for copy in rewrite_bottom_up(
            clone(op, known), lambda o: [rewrite_maps(o, indices)]
        )
    ]
    used = used_by(copies)
    rest = {v: b.index(index, v.name) for v, index in indices.items() if v in used}
    b.operations += [substitute_values(op, rest) for op in copies]
