"""Nests of two loops whose accesses move by one dimension of a buffer with each.

Where the stores are consecutive along one loop and some loads along the other, the nest
is a transposition.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import element_type
from gpucodegen.passes.cpu.vectorize.loops import range_in
from gpucodegen.passes.cpu.vectorize.operations import lane_bits
from gpucodegen.passes.cpu.vectorize.recognize import LoopBody, layout_of
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import inner_operations


@dataclass(frozen=True, slots=True)
class FixedTripLoop:
    """A loop from a constant, or an index, over a constant number of iterations."""

    iv: Value
    lower: Index
    trips: int


def _fixed_trip_loop(op: Operation) -> FixedTripLoop | None:
    """A loop of a constant number of iterations from one bound; it carries nothing."""
    range_ = range_in(op)
    if not range_ or not range_.trips or op.results:
        return None
    return FixedTripLoop(op.body.arguments[0], range_.lowers[0], range_.trips)


def _only_loop(op: Operation) -> Operation | None:
    """The ``affine.for`` that is all of a loop's body."""
    match inner_operations(op):
        case (loop,) if loop.name == "affine.for":
            return loop
        case _:
            return None


@dataclass(frozen=True, slots=True)
class TileAccess:
    """An access that moves with both loops: along which dimensions.

    ``transposed``: its elements are consecutive along the rows' loop.
    """

    memref: Value
    indices: tuple[Index, ...]
    row: int
    column: int
    transposed: bool


@dataclass(frozen=True, slots=True)
class Transposition:
    """A nest of two parallel loops: the stores are consecutive along ``columns``."""

    rows: FixedTripLoop
    columns: FixedTripLoop
    body: LoopBody
    accesses: dict[Operation, TileAccess]

    @property
    def bits(self) -> int:
        """Width of the elements."""
        return next(iter(self.body.bits))

    @property
    def stored(self) -> TileAccess:
        """What the first of its stores writes."""
        return next(access for op, access in self.accesses.items() if not op.results)

    @property
    def writes_alone(self) -> bool:
        """Whether the result is one buffer of known strides that is only written.

        Where it is written must not depend on what the body computes.
        """
        read = {access.memref for op, access in self.accesses.items() if op.results}
        stores = len([op for op in self.accesses if not op.results])
        form = layout_of(self.stored.memref)
        inside = {value for op in self.body.operations for value in op.results}
        outside = all(inside.isdisjoint(i.values) for i in self.stored.indices)
        known = outside and form is not None and None not in form.strides
        return known and stores == 1 and self.stored.memref not in read

    def has_aligned_rows(self, lanes: int) -> bool:
        """Whether tiles have rows of the result that begin alike in a register."""
        store, rank = self.stored, len(self.stored.indices)
        form = layout_of(store.memref)
        if form is None or (store.row, store.column) != (rank - 2, rank - 1):
            return False
        return not any((stride or 1) % lanes for stride in form.strides[:-1])


def transposition_of(op: Operation) -> Transposition | None:
    """Two loops as a transposition: some accesses of theirs are transposed."""
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
    """The only dimension that a variable moves, by one."""
    moved = [d for d, index in enumerate(indices) if iv in index.values]
    if len(moved) != 1 or LoopBody(iv, ()).coefficient(indices[moved[0]]) != 1:
        return None
    return moved[0]
