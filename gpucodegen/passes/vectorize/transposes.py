"""Vectorization of transposing nests: tiles are transposed in registers.

Stores are contiguous along one loop and some loads along the other.  A tile has as many
rows as a vector has lanes.  Loads along the other loop are transposed by shuffles, so
memory is accessed by whole vectors only.  Tiles are visited in square blocks, whose
rows share pages and cache lines:

    for blocks of rows:             (parallel if the nest was)
      for blocks of columns: for rows, columns of the block: full tiles
      the remaining columns
    the remaining rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, from_map, replace_values
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.outlining.kernel_operations import lane_bits
from gpucodegen.passes.vectorize.accumulations import LoopSite
from gpucodegen.passes.vectorize.loops import (
    EnclosingLoop,
    EnclosingLoops,
    Widened,
    footprint,
    misalignment,
    range_in,
)
from gpucodegen.passes.vectorize.recognize import ContiguousAccess, LoopBody, layout_of
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.vectorization import (
    FEWEST_TILED,
    goes_past_caches,
    transposed_side,
)


@dataclass(frozen=True, slots=True)
class FixedTripLoop:
    """A loop from a constant, or an index, over a constant number of iterations."""

    iv: Value
    lower: Index
    trips: int


def _fixed_trip_loop(op: Operation) -> FixedTripLoop | None:
    """A loop of constant trip count with a single lower bound and no carried value."""
    range_ = range_in(op)
    if not range_ or not range_.constant_trips or op.results:
        return None
    return FixedTripLoop(op.body.arguments[0], range_.lowers[0], range_.constant_trips)


def _only_loop(op: Operation) -> Operation | None:
    """The ``affine.for`` that is the whole body of a loop."""
    match inner_operations(op):
        case (loop,) if loop.name == "affine.for":
            return loop
        case _:
            return None


@dataclass(frozen=True, slots=True)
class TileAccess:
    """An access that moves with both loops, with the dimension of each.

    ``transposed``: its elements are contiguous along the rows' loop.
    """

    memref: Value
    indices: tuple[Index, ...]
    row: int
    column: int
    transposed: bool


@dataclass(frozen=True, slots=True)
class Transposition:
    """A nest of two parallel loops: the stores are contiguous along ``columns``."""

    rows: FixedTripLoop
    columns: FixedTripLoop
    body: LoopBody
    accesses: dict[Operation, TileAccess]

    @property
    def bits(self) -> int:
        return next(iter(self.body.bits))

    @property
    def stored(self) -> TileAccess:
        """The access of its first store."""
        return next(access for op, access in self.accesses.items() if not op.results)

    @property
    def writes_alone(self) -> bool:
        """Whether the result is one buffer of known strides that is only written.

        The place of its stores must not depend on computed values.
        """
        read = {access.memref for op, access in self.accesses.items() if op.results}
        stores = len([op for op in self.accesses if not op.results])
        form = layout_of(self.stored.memref)
        inside = {value for op in self.body.operations for value in op.results}
        outside = all(inside.isdisjoint(i.values) for i in self.stored.indices)
        known = outside and form is not None and None not in form.strides
        return known and stores == 1 and self.stored.memref not in read

    def has_aligned_rows(self, lanes: int) -> bool:
        """Whether all rows of the result have the same alignment."""
        store, rank = self.stored, len(self.stored.indices)
        form = layout_of(store.memref)
        if form is None or (store.row, store.column) != (rank - 2, rank - 1):
            return False
        return not any((stride or 1) % lanes for stride in form.strides[:-1])


def transposition_of(op: Operation) -> Transposition | None:
    """Two loops as a transposition, if some of their accesses are transposed."""
    outer = _fixed_trip_loop(op)
    loop = _only_loop(op) if outer else None
    inner = _fixed_trip_loop(loop) if loop else None
    if outer is None or loop is None or inner is None:
        return None
    if outer.iv in inner.lower.values:
        return None
    operations = inner_operations(loop)
    for rows, columns in ((outer, inner), (inner, outer)):
        found = _oriented(rows, columns, operations)
        if found is not None:
            return found
    return None


def _oriented(
    rows: FixedTripLoop, columns: FixedTripLoop, operations: Sequence[Operation]
) -> Transposition | None:
    found = _tile_accesses(rows.iv, columns.iv, operations)
    if found is None:
        return None
    body, accesses = found
    loaded = {access.transposed for op, access in accesses.items() if op.results}
    stored = {access.transposed for op, access in accesses.items() if not op.results}
    is_one = True in loaded and stored == {False}
    return Transposition(rows, columns, body, accesses) if is_one else None


def _tile_accesses(
    row: Value, column: Value, operations: Sequence[Operation]
) -> tuple[LoopBody, dict[Operation, TileAccess]] | None:
    """A body that accesses tiles of elements of one width, 32 or 64 bits."""
    ivs = {row, column}
    body = LoopBody(column, tuple(operations), varying=set(ivs))
    accesses: dict[Operation, TileAccess] = {}
    for op in operations:
        access = tile_access(op, row, column)
        if access is not None:
            accesses[op] = access
            body.varying.update(op.results)
            body.bits.add(lane_bits(element_type(access.memref.type)) or 0)
        elif _uses(op, ivs) or op.name == "affine.store" or not body.admit(op):
            return None
    return (body, accesses) if body.bits in ({32}, {64}) else None


def _uses(op: Operation, ivs: set[Value]) -> bool:
    return any(value in ivs for value in op.operands)


def tile_access(op: Operation, row: Value, column: Value) -> TileAccess | None:
    """The access of ``op`` if it moves by one dimension of a buffer with each loop."""
    if op.name not in affine.ACCESSES:
        return None
    access = affine.Load(op) if op.results else affine.Store(op)
    indices = tuple(from_map(access.map, access.map_operands))
    places = [_dimension(indices, iv) for iv in (row, column)]
    form = layout_of(access.memref) if _has_lanes(access.memref) else None
    if form is None or None in places or places[0] == places[1]:
        return None
    r, c = (place or 0 for place in places)
    strides = (form.strides[r], form.strides[c])
    if 1 not in strides or None in strides:
        return None
    return TileAccess(access.memref, indices, r, c, strides[1] != 1)


def _has_lanes(buffer: Value) -> bool:
    return lane_bits(element_type(buffer.type)) is not None


def _dimension(indices: Sequence[Index], iv: Value) -> int | None:
    """The only dimension that a variable moves, with coefficient one."""
    moved = [d for d, index in enumerate(indices) if iv in index.values]
    if len(moved) != 1 or LoopBody(iv, ()).coefficient(indices[moved[0]]) != 1:
        return None
    return moved[0]


def transposed_tiles(site: LoopSite) -> list[Operation]:
    """The replacement of two parallel loops that transpose."""
    nest = transposition_of(site.op)
    lanes = nest and site.machine.unit.lanes(nest.bits)
    if not nest or not lanes or min(nest.rows.trips, nest.columns.trips) < lanes:
        return []
    if not site.are_both_parallel():
        return []
    streams = _streams(nest, site.loops, lanes, site.machine)
    address = site.addresses.of(nest.stored.memref) if streams else None
    side = transposed_side(nest.bits, lanes)
    tiles = _TransposedTiles(nest, lanes, side, address)
    return tiles.build(parallel=site.shares_threads)


def _streams(
    nest: Transposition, loops: EnclosingLoops, lanes: int, machine: Machine
) -> bool:
    """Whether whole tiles of the result are streaming stores.

    Nothing in the loops may read the result.
    """
    store, columns = nest.stored, nest.columns
    if not (nest.has_aligned_rows(lanes) and nest.writes_alone):
        return False
    if any(store.memref in loop.reads for loop in loops):
        return False
    own = (EnclosingLoop(loop.iv, loop.trips) for loop in (nest.rows, columns))
    size = footprint(nest.accesses.values(), store, (*loops, *own))
    return goes_past_caches(size, machine, columns.trips * nest.bits // 8, FEWEST_TILED)


@dataclass(slots=True)
class _TransposedTile(Widened):
    """``rows x lanes`` iterations of both loops as tiles."""

    rows: int = 1
    tiled: dict[Operation, TileAccess] = field(
        default_factory=dict[Operation, TileAccess]
    )
    streams: bool = False

    def operation(self, op: Operation) -> None:
        access = self.tiled.get(op)
        if access is None:
            Widened.operation(self, op)
        elif op.results:
            self.vectors[op.result] = self._read(access, op.result)
        else:
            self._write(access, self.vector(op.operands[0]))

    def _type(self, value: Value) -> VectorType:
        return VectorType((self.rows, self.lanes), value.type)

    def _read(self, access: TileAccess, value: Value) -> Value:
        indices, ty = [self.placed(i) for i in access.indices], self._type(value)
        memref, dims = access.memref, [access.row, access.column]
        if not access.transposed:
            return self.b.transfer_read(memref, indices, ty, dims, hint=value.name)
        lying, swapped = replace(ty, shape=ty.shape[::-1]), dims[::-1]
        read = self.b.transfer_read(memref, indices, lying, swapped, hint=value.name)
        return self.b.transposed(read)

    def _write(self, access: TileAccess, tile: Value) -> None:
        indices = [self.placed(i) for i in access.indices]
        if self.streams:
            self.b.streaming_store(tile, access.memref, indices)
        else:
            dims = [access.row, access.column]
            self.b.transfer_write(tile, access.memref, indices, dims)


Iterations = tuple[Index, Sequence[Index]]
"""Iterations of a loop: the first one, and the ends, the least of which counts."""


@dataclass(frozen=True, slots=True)
class _TransposedTiles:
    """A transposition in tiles of ``lanes`` rows and columns, in blocks of ``side``.

    ``address``: that of the stored buffer, if whole tiles of it are streaming stores.
    """

    nest: Transposition
    lanes: int
    side: int
    address: Value | None

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
            self._last_rows(b, last, rows.trips - full)
        return b.operations

    def _rows(self, b: Builder, first: Index, end: Index) -> None:
        """A block of rows: blocks of columns, then the remaining columns."""
        columns, last = self.nest.columns, [first + self.side, end]
        start = columns.lower + self._head(b, first)
        past = columns.lower + columns.trips - (self.lanes - 1)
        self._blocks(b, (first, last), (start, [past]))
        if self.address is not None:
            end_of_columns = columns.lower + columns.trips
            left = start + (end_of_columns - start) // self.lanes * self.lanes
            for begin, stop in ((columns.lower, start), (left, end_of_columns)):
                self._scalars(b, (first, last), (begin, stop))
        elif columns.trips % self.lanes:

            def rest(i: Builder, r: Value) -> None:
                self._last_columns(i, r, self.lanes)

            b.loop(first, last, rest, step=self.lanes, hint=self.nest.rows.iv.name)

    def _blocks(self, b: Builder, rows: Iterations, columns: Iterations) -> None:
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

    def _head(self, b: Builder, first: Index) -> Index:
        """Columns before the first aligned vector of a streamed row."""
        if self.address is None:
            return Index.of(0)
        store = self.nest.stored
        columns, rows = self.nest.columns, self.nest.rows
        known = {columns.iv: columns.lower, rows.iv: first}
        indices = tuple(replace_values(i, known) for i in store.indices)
        start = ContiguousAccess(store.memref, indices, store.column)
        head = misalignment(start, self.address, self.lanes)
        return Index.of(b.index(head, "head"))

    def _last_rows(self, b: Builder, row: Value, count: int) -> None:
        """The last ``count`` rows, over all columns."""
        columns = self.nest.columns
        first = columns.lower
        full = columns.trips - columns.trips % self.lanes

        def tile(i: Builder, c: Value) -> None:
            self._tile(i, row, Index.of(c), (count, self.lanes))

        if full:
            b.loop(first, first + full, tile, step=self.lanes, hint=columns.iv.name)
        if full < columns.trips:
            self._last_columns(b, row, count)

    def _last_columns(self, b: Builder, row: Value, count: int) -> None:
        columns = self.nest.columns
        left = columns.trips % self.lanes
        place = columns.lower + (columns.trips - left)
        self._tile(b, row, place, (count, left))

    def _tile(
        self, b: Builder, row: Value, column: Index, shape: tuple[int, int]
    ) -> None:
        count, lanes = shape
        streams = self.address is not None and shape == (self.lanes, self.lanes)
        tile = _TransposedTile(self.nest.body, b, column, lanes)
        tile.rows, tile.tiled, tile.streams = count, self.nest.accesses, streams
        tile.scalars[self.nest.rows.iv] = row
        tile.build()

    def _scalars(
        self, b: Builder, rows: Iterations, columns: tuple[Index, Index]
    ) -> None:
        def element(i: Builder, r: Value, c: Value) -> None:
            known = {self.nest.rows.iv: r, self.nest.columns.iv: c}
            i.operations += [clone(op, known) for op in self.nest.body.operations]

        def row(i: Builder, r: Value) -> None:
            hint = self.nest.columns.iv.name
            i.loop(*columns, lambda j, c: element(j, r, c), hint=hint)

        b.loop(*rows, row, hint=self.nest.rows.iv.name)
