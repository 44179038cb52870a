"""Two loops, the stores follow one and some loads the other: tiles in registers.

A tile is as many rows as a vector has lanes.  Loads that follow the other loop are
transposed by shuffles, so that memory is read and written by whole vectors only.  Tiles
are visited in square blocks, whose rows share pages and cache lines.

    for blocks of rows:             (parallel if the nest was)
      for blocks of columns: for rows, columns of the block: full tiles
      what is left of the columns
    what is left of the rows
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.cpu.vectorize.recognize import Stream
from gpucodegen.passes.cpu.vectorize.streams import (
    Around,
    Loops,
    footprint,
    misalignment,
)
from gpucodegen.passes.cpu.vectorize.transposed.accesses import Plane, Transposition
from gpucodegen.passes.cpu.vectorize.transposed.relays import Relay, relay_buffer
from gpucodegen.passes.cpu.vectorize.widen import Widened
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.tiling.machine.loops.streaming_stores import (
    FEWEST_LINES,
    FEWEST_TILED,
    Caches,
    goes_past_caches,
)
from gpucodegen.tiling.machine.loops.vector_plan import (
    InnerLoop,
    relay_width,
    transposed_side,
)


@dataclass(slots=True)
class PlaneTile(Widened):
    """``rows x lanes`` iterations of both loops as tiles."""

    rows: int = 1
    planes: dict[Operation, Plane] = field(default_factory=dict[Operation, Plane])
    streams: bool = False

    def operation(self, op: Operation) -> None:
        """One operation of the body."""
        plane = self.planes.get(op)
        if plane is None:
            Widened.operation(self, op)
        elif op.results:
            self.vectors[op.result] = self._read(plane, op.result)
        else:
            self._write(plane, self.vector(op.operands[0]))

    def _type(self, value: Value) -> VectorType:
        return VectorType((self.rows, self.lanes), value.type)

    def _read(self, plane: Plane, value: Value) -> Value:
        indices, ty = [self.placed(i) for i in plane.indices], self._type(value)
        memref, dims = plane.memref, [plane.row, plane.column]
        if not plane.transposed:
            return self.b.transfer_read(memref, indices, ty, dims, hint=value.name)
        turned = replace(ty, shape=ty.shape[::-1])
        read = self.b.transfer_read(
            memref, indices, turned, dims[::-1], hint=value.name
        )
        return self.b.transposed(read)

    def _write(self, plane: Plane, tile: Value) -> None:
        indices, rank = [self.placed(i) for i in plane.indices], len(plane.indices)
        dims = [plane.row, plane.column]
        if plane.transposed:
            turned = self.b.transposed(tile)
            self.b.transfer_write(turned, plane.memref, indices, dims[::-1])
        elif self.streams and dims == [rank - 2, rank - 1]:
            self.b.streaming_store(tile, plane.memref, indices)
        else:
            self.b.transfer_write(tile, plane.memref, indices, dims)


Part = tuple[Index, Sequence[Index]]
"""Iterations of a loop: the first one, and what the ones behind the last are."""


@dataclass(frozen=True, slots=True)
class Tiling:
    """A transposition in tiles of ``lanes`` rows and columns, in blocks of ``side``.

    ``address``: that of what is stored, where it goes past the caches: by whole tiles,
    or, if ``width`` is not zero, through a buffer of so many columns.
    """

    nest: Transposition
    lanes: int
    side: int
    address: Value | None = None
    width: int = 0

    def build(self, *, parallel: bool) -> list[Operation]:
        """The loops; ``parallel`` ones over blocks of rows."""
        rows, b = self.nest.rows, Builder(self.nest.body.operations[0].location)
        full = rows.trips - rows.trips % self.lanes

        def block(inner: Builder, number: Value) -> None:
            first = rows.lower + Index.of(number) * self.side
            self._rows(inner, first, rows.lower + full)

        blocks = -(-full // self.side)
        if parallel and blocks:
            b.parallel([blocks], lambda i, ivs: block(i, ivs[0]), [rows.iv.name])
        elif blocks:
            b.loop(0, blocks, block, hint=rows.iv.name)
        if full < rows.trips:
            last = b.index(rows.lower + full)
            self._line(b, last, rows.trips - full, self.nest.columns.lower)
        return b.operations

    def _rows(self, b: Builder, first: Index, end: Index) -> None:
        """A block of rows: blocks of columns, then the columns that are left."""
        columns, last = self.nest.columns, [first + self.side, end]
        if self.width:
            self._relayed(b, first, last)
            start = columns.lower
        else:
            start = columns.lower + self._head(b, first)
            past = columns.lower + columns.trips - (self.lanes - 1)
            self.blocks(b, (first, last), (start, [past]))
        if self._streams_tiles:
            end_of_columns = columns.lower + columns.trips
            left = start + (end_of_columns - start) // self.lanes * self.lanes
            for begin, stop in ((columns.lower, start), (left, end_of_columns)):
                self._scalars(b, (first, last), (begin, stop))
        elif columns.trips % self.lanes:

            def rest(i: Builder, r: Value) -> None:
                self._rest(i, r, self.lanes)

            b.loop(first, last, rest, step=self.lanes, hint=self.nest.rows.iv.name)

    def blocks(self, b: Builder, rows: Part, columns: Part) -> None:
        """Whole tiles, in blocks of columns."""
        (first, last), (start, ends) = rows, columns
        hint = self.nest.columns.iv.name

        def block(i: Builder, at: Value) -> None:
            def row(j: Builder, r: Value) -> None:
                def tile(k: Builder, c: Value) -> None:
                    self._tile(k, r, Index.of(c), (self.lanes, self.lanes))

                near = [Index.of(at) + self.side, *ends]
                j.loop(at, near, tile, step=self.lanes, hint=hint)

            i.loop(first, last, row, step=self.lanes, hint=self.nest.rows.iv.name)

        b.loop(start, ends, block, step=self.side, hint=hint)

    def _relayed(self, b: Builder, first: Index, last: Sequence[Index]) -> None:
        """Whole tiles of a block of rows, through a buffer."""
        address, columns, rows = self.address, self.nest.columns, self.nest.rows
        assert address is not None
        end = columns.lower + (columns.trips - columns.trips % self.lanes)
        buffer = relay_buffer(b, self.nest.stored.memref, self.side, self.width)

        def part(i: Builder, at: Value) -> None:
            ends = [Index.of(at) + self.width, end]
            relay = Relay(self.nest, buffer, first, Index.of(at), address)
            filling = replace(self, nest=relay.filling(), address=None, width=0)
            filling.blocks(i, (first, last), (Index.of(at), ends))

            def row(j: Builder, r: Value) -> None:
                relay.copy_row(j, r, ends, self.lanes)

            i.loop(first, last, row, hint=rows.iv.name)

        b.loop(columns.lower, end, part, step=self.width, hint=columns.iv.name)

    @property
    def _streams_tiles(self) -> bool:
        return self.address is not None and not self.width

    def _head(self, b: Builder, first: Index) -> Index:
        """Columns before the first register of a row that goes past the caches."""
        if self.address is None:
            return Index.of(0)
        store = self.nest.stored
        columns, rows = self.nest.columns, self.nest.rows
        known = {columns.iv: columns.lower, rows.iv: first}
        indices = tuple(replace_values(i, known) for i in store.indices)
        stream = Stream(store.memref, indices, store.column)
        head = b.index(misalignment(stream, self.address, self.lanes), "head")
        return Index.of(head)

    def _line(self, b: Builder, row: Value, count: int, first: Index) -> None:
        """Some rows over all columns."""
        columns = self.nest.columns
        full = columns.trips - columns.trips % self.lanes

        def tile(i: Builder, c: Value) -> None:
            self._tile(i, row, Index.of(c), (count, self.lanes))

        if full:
            b.loop(first, first + full, tile, step=self.lanes, hint=columns.iv.name)
        if full < columns.trips:
            self._rest(b, row, count)

    def _rest(self, b: Builder, row: Value, count: int) -> None:
        """The last columns of some rows."""
        columns = self.nest.columns
        left = columns.trips % self.lanes
        place = columns.lower + (columns.trips - left)
        self._tile(b, row, place, (count, left))

    def _tile(
        self, b: Builder, row: Value, column: Index, shape: tuple[int, int]
    ) -> None:
        count, lanes = shape
        streams = self._streams_tiles and shape == (self.lanes, self.lanes)
        tile = PlaneTile(self.nest.body, b, column, lanes)
        tile.rows, tile.planes, tile.streams = count, self.nest.planes, streams
        tile.scalars[self.nest.rows.iv] = row
        tile.build()

    def _scalars(
        self,
        b: Builder,
        rows: Part,
        columns: tuple[Index, Index],
    ) -> None:
        """Elements one by one."""

        def element(i: Builder, r: Value, c: Value) -> None:
            known = {self.nest.rows.iv: r, self.nest.columns.iv: c}
            i.operations += [clone(op, known) for op in self.nest.body.operations]

        def row(i: Builder, r: Value) -> None:
            hint = self.nest.columns.iv.name
            i.loop(*columns, lambda j, c: element(j, r, c), hint=hint)

        b.loop(*rows, row, hint=self.nest.rows.iv.name)


def tiling_of(
    nest: Transposition,
    loops: Loops,
    lanes: int,
    caches: Caches,
    address_of: Callable[[Value], Value | None],
) -> Tiling:
    """How to run a transposition inside of ``loops``.

    ``address_of``: the address of a buffer, if it can be asked for.
    """
    side, alike = transposed_side(nest.bits, lanes), nest.has_rows_alike(lanes)
    wanted = alike or nest.fills_rows
    fewest = FEWEST_TILED if alike else FEWEST_LINES
    streams = wanted and _streams(nest, loops, caches, fewest)
    address = address_of(nest.stored.memref) if streams else None
    if address is None or alike:
        return Tiling(nest, lanes, side, address)
    row = InnerLoop(nest.columns.trips, frozenset({nest.bits}))
    return Tiling(nest, lanes, side, address, relay_width(row, side, lanes, caches.own))


def _streams(nest: Transposition, loops: Loops, caches: Caches, fewest: int) -> bool:
    """Whether the result goes past the caches, and nothing in the loops reads it.

    ``fewest``: cache lines of its rows.
    """
    store, columns = nest.stored, nest.columns
    if not nest.writes_alone or any(store.memref in loop.reads for loop in loops):
        return False
    own = (Around(line.iv, line.trips) for line in (nest.rows, columns))
    size = footprint(nest.planes.values(), store, (*loops, *own))
    return goes_past_caches(size, caches, columns.trips * nest.bits // 8, fewest)
