"""A recurrence on a strip: carried values are vectors with a row in each lane.

    for tiles of columns:
      for rows: for columns of the tile: what runs ahead
      what crosses is transposed: a column of the tile becomes a vector
      for columns of the tile: the chain
      what the chain writes is transposed back and stored to the rows

Columns that are left, and strips with fewer rows than lanes, take the same way; lanes
without a row hold anything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.cpu.vectorize.outer_loops.recurrences import Recurrence
from gpucodegen.passes.cpu.vectorize.outer_loops.strip import Strip, copy_at
from gpucodegen.passes.cpu.vectorize.transposed.accesses import TileAccess
from gpucodegen.passes.cpu.vectorize.widen import Widened
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact, replace_values


@dataclass(slots=True)
class _Column(Widened):
    """The chain at one column: what it writes goes to a vector of scratch memory."""

    written: dict[Operation, Value] = field(default_factory=dict[Operation, Value])
    number: Index = field(default_factory=lambda: Index.of(0))

    def operation(self, op: Operation) -> None:
        """One operation of the chain."""
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
        """The columns from ``first`` on: the least of ``left``, or as many as fit."""
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
        """Row by row, what does not depend on carried values."""
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
        """Transpose what crosses; elements of rows come from where they are."""
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
        """Columns in order; ``tile``: where the scratch memory begins, if there is."""
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
        """Transpose what a store of the chain left in columns, and store the rows."""
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
