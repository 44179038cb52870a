"""Outer-loop vectorization: one row (iteration of the outer loop) per lane.

It applies to inner loops that are recurrences or short.  A loop over rows is
strip-mined:

    for i {                for i by lanes {
      a = f(i)               for rows of the strip { save f(i) as a }
      t = for j { .. }  =>   the recurrence, on vectors; save t
      g(t, a)                for rows of the strip { g(t, a) }
    }                      }

Legal iff the rows are parallel, so each row keeps its order of operations:

    { d in distances of the dependences : d_i != 0 } = {}

In the recurrence, carried values are vectors with a row in each lane:

    for tiles of columns:
      for rows: for columns of the tile: the part ahead of the chain
      crossing values are transposed: a column of the tile becomes a vector
      for columns of the tile: the chain
      results of the chain are transposed back and stored to the rows

Remaining columns, and strips with fewer rows than lanes, use the same code; lanes
without a row hold arbitrary values.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import field, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, replace_values
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.nests.loop_ranges import LoopRange
from gpucodegen.passes.outlining.kernel_operations import cost, lane_bits
from gpucodegen.passes.vectorize.accumulations import LoopSite, Order, accumulating
from gpucodegen.passes.vectorize.argminmax import argminmax_of
from gpucodegen.passes.vectorize.loops import (
    Widened,
    in_blocks,
    range_of,
)
from gpucodegen.passes.vectorize.recognize import LoopBody
from gpucodegen.passes.vectorize.recurrences import (
    OuterLoop,
    Recurrence,
    Strip,
    copy_at,
    recurrence_of,
    used_by,
)
from gpucodegen.passes.vectorize.transposes import TileAccess
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.vectorization import (
    OuterLoopShape,
    chains_side_by_side,
    is_short_inner_loop,
    outer_lanes,
)


@dataclass(slots=True)
class _Column(Widened):
    """The chain at one column: its stores go to a vector of scratch memory."""

    written: dict[Operation, Value] = field(default_factory=dict[Operation, Value])
    number: Index = field(default_factory=lambda: Index.of(0))

    def operation(self, op: Operation) -> None:
        if op not in self.written:
            Widened.operation(self, op)
            return
        vector = self.vector(op.operands[0])
        self.b.affine_vector_store(vector, self.written[op], [self.number, 0])


@dataclass(frozen=True, slots=True)
class Scratch:
    """Tiles that cross between rows and columns: in rows, and transposed."""

    rows: dict[Value | Operation, Value]
    columns: dict[Value | Operation, Value]


def scratch_for(b: Builder, recurrence: Recurrence, lanes: int, width: int) -> Scratch:
    """Allocate the tiles of ``lanes`` rows and ``width`` columns."""
    wanted: dict[Value | Operation, Value] = {v: v for v in recurrence.crossing}
    wanted.update({op: op.operands[0] for op in recurrence.written})

    def tiles(*shape: int) -> dict[Value | Operation, Value]:
        return {
            key: b.allocate("memref.alloca", MemRefType(shape, v.type), v.name)
            for key, v in wanted.items()
        }

    return Scratch(tiles(lanes, width), tiles(width, lanes))


@dataclass(frozen=True, slots=True)
class VectorRecurrence:
    """A recurrence on a strip, in tiles of ``width`` columns."""

    recurrence: Recurrence
    strip: Strip
    width: int
    scratch: Scratch

    def build(self, b: Builder) -> None:
        """Run the loop, and save its results."""
        loop, strip = self.recurrence, self.strip
        known = strip.vectors(b, loop.used)
        totals: Sequence[Value] = [
            known[c.initial]
            if c.initial in known
            else b.broadcast(c.initial, strip.vector_of(c.initial), c.initial.name)
            for c in loop.carries
        ]
        totals = self._columns(b, known, totals)
        for carry, total in zip(loop.carries, totals, strict=True):
            if carry.result in strip.saved:
                b.affine_vector_store(total, strip.saved[carry.result], [0])

    def _columns(
        self, b: Builder, known: dict[Value, Value], totals: Sequence[Value]
    ) -> Sequence[Value]:
        loop, width = self.recurrence, self.width
        if not loop.is_tiled:
            return self._chain(b, loop.first, [loop.end], known, totals, None)
        trips = compact(loop.end - loop.first)
        if trips.constant is not None and trips.constant < 0:
            trips = Index.of(0)
        full = compact(loop.first + trips // width * width)

        def tile(inner: Builder, at: Value, values: Sequence[Value]) -> Sequence[Value]:
            return self._tile(inner, Index.of(at), None, known, values)

        if full != loop.first:
            hint = loop.iv.name
            bounds = loop.first, full
            totals = b.carried_loop(*bounds, totals, tile, step=width, hint=hint)
        left = compact(trips - trips // width * width)
        if left.constant == 0:
            return totals
        maybe_negative = [trips] if trips.constant is None else []
        return self._tile(b, full, [left, *maybe_negative], known, totals)

    def _tile(
        self,
        b: Builder,
        first: Index,
        left: Sequence[Index] | None,
        known: dict[Value, Value],
        totals: Sequence[Value],
    ) -> Sequence[Value]:
        """The columns from ``first`` on: the least of ``left``, or a full tile."""
        count = [Index.of(self.width)] if left is None else left
        is_full = left is None and self.strip.left is None
        self._ahead(b, first, count, is_full)
        self._cross(b, first, is_full)
        ends = [compact(first + c) for c in count]
        totals = self._chain(b, first, ends, known, totals, first)
        for op, access in self.recurrence.written.items():
            self._write(b, op, access, first, None if is_full else count)
        return totals

    def _ahead(
        self, b: Builder, first: Index, count: Sequence[Index], is_full: bool
    ) -> None:
        """Row by row, operations that do not depend on carried values."""
        loop, strip = self.recurrence, self.strip
        kept = [v for v in loop.crossing if not (is_full and v in loop.direct)]
        stores = any(op.name == "affine.store" for op in loop.ahead)
        if not kept and not stores:
            return

        def row(inner: Builder, number: Value) -> None:
            saved = strip.scalars(inner, loop.ahead, number)

            def column(i: Builder, c: Value) -> None:
                places = {strip.iv: strip.first + number, loop.iv: first + c}
                made = dict(saved)
                copy_at(i, loop.ahead, places, made)
                for value in kept:
                    i.store(made[value], self.scratch.rows[value], [number, c])

            inner.loop(0, count, column, hint=loop.iv.name)

        strip.each_row(b, row)

    def _cross(self, b: Builder, first: Index, is_full: bool) -> None:
        """Transpose crossing values; row elements are read in place."""
        loop = self.recurrence
        for value in loop.crossing:
            ty = VectorType((self.strip.lanes, self.width), value.type)
            access = loop.direct.get(value) if is_full else None
            if access is None:
                tile = b.vector_load(self.scratch.rows[value], [0, 0], ty, value.name)
            else:
                dims, at = [access.row, access.column], self._at(access, first)
                tile = b.transfer_read(access.memref, at, ty, dims, hint=value.name)
            transposed = b.transposed(tile)
            b.vector_store(transposed, self.scratch.columns[value], [0, 0])

    def _at(self, access: TileAccess, first: Index) -> list[Index]:
        known = {self.strip.iv: self.strip.first, self.recurrence.iv: first}
        return [replace_values(index, known) for index in access.indices]

    def _chain(
        self,
        b: Builder,
        first: Index,
        ends: Sequence[Index],
        known: dict[Value, Value],
        totals: Sequence[Value],
        tile: Index | None,
    ) -> Sequence[Value]:
        """Columns in order; ``tile``: the start of the scratch memory, if any."""
        loop, strip = self.recurrence, self.strip
        left = None
        if strip.left is not None and loop.chain.accesses:
            left = b.index(strip.left, "left")

        def step(inner: Builder, at: Value, values: Sequence[Value]) -> Sequence[Value]:
            number = compact(Index.of(at) - (tile or 0))
            column = _Column(loop.chain, inner, strip.first, strip.lanes, left)
            column.number = number
            column.written = {op: self.scratch.columns[op] for op in loop.written}
            column.scalars[loop.iv] = at
            column.vectors.update(known)
            befores = (carry.before for carry in loop.carries)
            column.vectors.update(zip(befores, values, strict=True))
            for v in loop.crossing:
                place, ty = [number, Index.of(0)], strip.vector_of(v)
                column.vectors[v] = inner.affine_vector_load(
                    self.scratch.columns[v], place, ty, v.name
                )
            column.build()
            return [column.vector(carry.after) for carry in loop.carries]

        return b.carried_loop(first, ends, totals, step, hint=loop.iv.name)

    def _write(
        self,
        b: Builder,
        op: Operation,
        access: TileAccess,
        first: Index,
        count: Sequence[Index] | None,
    ) -> None:
        """Transpose the chain's stores in columns, and store the rows."""
        strip, loop = self.strip, self.recurrence
        value, rows = op.operands[0], self.scratch.rows[op]
        ty = VectorType((self.width, strip.lanes), value.type)
        tile = b.vector_load(self.scratch.columns[op], [0, 0], ty, value.name)
        transposed = b.transposed(tile)
        if count is None:
            dims, at = [access.row, access.column], self._at(access, first)
            b.transfer_write(transposed, access.memref, at, dims)
            return
        b.vector_store(transposed, rows, [0, 0])

        def row(inner: Builder, number: Value) -> None:
            def column(i: Builder, c: Value) -> None:
                places = {strip.iv: strip.first + number, loop.iv: first + c}
                element = i.load(rows, [number, c], value.name)
                copy_at(i, [op], places, {value: element})

            inner.loop(0, count, column, hint=loop.iv.name)

        strip.each_row(b, row)


BodyPart = tuple[Operation, ...] | Recurrence


@dataclass(slots=True)
class OuterBody:
    """The body of a loop over rows, in parts that run one after the other.

    ``constants`` are the same for all rows.
    """

    iv: Value
    constants: list[Operation] = field(default_factory=list[Operation])
    parts: list[BodyPart] = field(default_factory=list[BodyPart])

    @property
    def recurrences(self) -> list[Recurrence]:
        """The parts with a row in each lane."""
        return [part for part in self.parts if isinstance(part, Recurrence)]

    @property
    def saved(self) -> list[Value]:
        """The values of a row that one part defines and another one uses."""
        uses = Counter(v for part in self.parts for v in _used(part))
        return [
            v
            for part in self.parts
            for v in _made(part)
            if uses[v] > (v in _used(part))
        ]


def _made(part: BodyPart) -> list[Value]:
    if isinstance(part, Recurrence):
        return [carry.result for carry in part.carries]
    return [value for op in part for value in op.results]


def _used(part: BodyPart) -> set[Value]:
    return part.used if isinstance(part, Recurrence) else used_by(part)


def outer_body(
    loop: Operation, analysis: NestAnalysis, is_vectorized: Callable[[Operation], bool]
) -> OuterBody | None:
    """The parts of a loop over rows, if some of its inner loops are recurrences.

    ``is_vectorized``: whether an inner loop shall be vectorized over rows.
    """
    body, rows = OuterBody(loop.body.arguments[0]), list[Operation]()
    varying = {body.iv}
    for op in inner_operations(loop):
        if any(isinstance(value.type, MemRefType) for value in op.results):
            return None
        found = None
        if op.name == "affine.for" and is_vectorized(op):
            own = OuterLoop(body.iv, frozenset(varying - {body.iv}))
            found = recurrence_of(op, own, analysis)
        if found:
            body.parts += [(*rows, *found.before), found.recurrence]
            rows = [*found.after]
        elif op.name == "arith.constant":
            body.constants.append(op)
            continue
        else:
            rows.append(op)
        varying.update(op.results)
    body.parts.append(tuple(rows))
    fits = all((lane_bits(v.type) or 0) >= 8 for v in body.saved)
    return body if body.recurrences and fits else None


@dataclass(frozen=True, slots=True)
class StripMining:
    """A loop over rows in strips of ``lanes`` rows, and tiles of ``width`` columns."""

    body: OuterBody
    lanes: int
    width: int

    def strips(self, op: Operation, range_: LoopRange) -> list[Operation]:
        """The loop ``op`` over a range of rows, in strips."""
        if op.name == "affine.parallel":
            size = self.lanes
            made = in_blocks(op, range_, size, self._strip, counted=True)
            return [*self.body.constants, made]
        b = Builder(op.location, [*self.body.constants])
        (first,), (end,) = range_.lowers, range_.uppers
        full = (
            end
            if range_.constant_trips is None
            else self._whole(first, range_.constant_trips)
        )

        def strip(inner: Builder, at: Value) -> None:
            ends = (Index.of(at) + self.lanes,)
            more = () if range_.constant_trips is not None else (end,)
            self._strip(inner, LoopRange((Index.of(at),), (*ends, *more)))

        if full != first:
            b.loop(first, full, strip, step=self.lanes, hint=self.body.iv.name)
        if full != end:
            self._strip(b, LoopRange((full,), (end,)))
        return b.operations

    def _whole(self, first: Index, trips: int) -> Index:
        """The end of the last strip that has all rows."""
        return compact(first + trips // self.lanes * self.lanes)

    def _strip(self, b: Builder, range_: LoopRange) -> None:
        """The rows of a range: as many as there are lanes, or fewer."""
        first, trips = range_.lowers[0], range_.constant_trips
        saved = {
            v: b.allocate("memref.alloca", MemRefType((self.lanes,), v.type), v.name)
            for v in self.body.saved
        }
        tiles = [
            scratch_for(b, part, self.lanes, self.width)
            for part in self.body.recurrences
        ]

        def rows(inner: Builder, left: Index | None) -> None:
            strip = Strip(self.body.iv, first, self.lanes, left, saved)
            self._parts(inner, strip, tiles)

        if trips is not None:
            rows(b, Index.of(trips) if trips < self.lanes else None)
            return
        left = range_.uppers[-1] - first
        b.guard([left - self.lanes], lambda i: rows(i, None), lambda i: rows(i, left))

    def _parts(self, b: Builder, strip: Strip, tiles: Sequence[Scratch]) -> None:
        scratch = iter(tiles)
        for part in self.body.parts:
            if isinstance(part, Recurrence):
                VectorRecurrence(part, strip, self.width, next(scratch)).build(b)
            elif part:
                strip.row_by_row(b, part)


def outer_loop(site: LoopSite) -> list[Operation]:
    """The loop over rows in strips; other forms vectorize its row loops."""
    rows = site.range
    if not rows or site.op.results or not rows.is_single:
        return []
    choice = _OuterLoopChoice(rows, site.machine, site.order)
    if not any(map(choice.is_vectorized, inner_operations(site.op))):
        return []
    return choice.strips(site.op, site.analysis(fine=True))


@dataclass(frozen=True, slots=True)
class _OuterLoopChoice:
    """The choice of inner loops that run with a row in each lane."""

    rows: LoopRange
    machine: Machine
    order: Order

    def is_vectorized(self, loop: Operation) -> bool:
        """Whether an inner loop is a recurrence, and not better along its row."""
        if loop.name != "affine.for" or not _passes_on(loop):
            return False
        body = self._along_row(loop)
        if body is None:
            return True
        range_ = range_of(loop)
        lanes = self.machine.unit.lanes(max((32, *body.bits)))
        return range_ is not None and is_short_inner_loop(
            self.rows.constant_trips, range_.constant_trips, lanes
        )

    def _along_row(self, loop: Operation) -> LoopBody | None:
        """The vector form of a loop along its row, if no order forbids it."""
        best, range_ = argminmax_of(loop), range_of(loop)
        if best and range_ and best.vector_range(range_, self.machine.unit):
            return best.body
        found = accumulating(loop)
        free = found and all(map(self.order.frees, found.accumulations))
        return found.body if found and free else None

    def strips(self, op: Operation, analysis: NestAnalysis) -> list[Operation]:
        """The loop over the rows in strips, if it is parallel and there are any."""
        if op.name != "affine.parallel" and not analysis.is_parallel(op):
            return []
        body = outer_body(op, analysis, self.is_vectorized)
        if body is None:
            return []
        width = self.machine.unit.lanes(_bits(body))
        threads = self.machine.threads if op.name == "affine.parallel" else 1
        loop, machine = (
            _shape(op, body, self.rows),
            replace(self.machine, threads=threads),
        )
        lanes = outer_lanes(loop, machine)
        if lanes and all(map(_reads_rows_in_lanes, body.recurrences)):
            lanes *= chains_side_by_side(loop, lanes, machine)
        return StripMining(body, lanes, width).strips(op, self.rows) if lanes else []


def _reads_rows_in_lanes(recurrence: Recurrence) -> bool:
    """Whether a chain loads cells for all rows, or neighbours for neighbours."""
    accesses = recurrence.chain.accesses.values()
    return not recurrence.is_tiled and all(access.is_last for access in accesses)


def _passes_on(loop: Operation) -> bool:
    """Whether an innermost loop may be a recurrence."""
    inner = inner_operations(loop)
    if any(op.regions for op in inner):
        return False
    moved = {loop.body.arguments[0], *(value for op in inner for value in op.results)}
    stores = (op for op in inner if op.name == "affine.store")
    return bool(loop.results) or any(moved.isdisjoint(op.operands[1:]) for op in stores)


def _bits(body: OuterBody) -> int:
    """Width of the narrowest elements that fill registers."""
    widths = {bits for r in body.recurrences for bits in r.chain.bits}
    return max(32, min(widths))


def _shape(op: Operation, body: OuterBody, range_: LoopRange) -> OuterLoopShape:
    trips = [(r.end - r.first).constant for r in body.recurrences]
    known = [count for count in trips if count is not None]
    arrays = {
        inner.operands[inner.name == "affine.store"]
        for inner in op.walk()
        if inner.name in affine.ACCESSES
        and body.iv in inner.operands
        and len(inner.operands) > 2 + (inner.name == "affine.store")
    }
    columns = max(known, default=None)
    passes = sum(inner.name == "affine.for" for inner in inner_operations(op))
    operations = sum(
        cost(inner)
        for recurrence in body.recurrences
        for inner in recurrence.chain.operations
        if inner not in recurrence.chain.accesses
    )
    return OuterLoopShape(
        range_.constant_trips, columns, _bits(body), len(arrays), passes, operations
    )
