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
from gpucodegen.passes.cpu.vectorize.recognize import Body, layout_of
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import inner_operations


@dataclass(frozen=True, slots=True)
class Line:
    """A loop from a constant, or an index, over a constant number of iterations."""

    iv: Value
    lower: Index
    trips: int


def line_of(op: Operation) -> Line | None:
    """A loop of a constant number of iterations from one bound; it carries nothing."""
    range_ = range_in(op)
    if not range_ or not range_.trips or op.results:
        return None
    return Line(op.body.arguments[0], range_.lowers[0], range_.trips)


def only_loop(op: Operation) -> Operation | None:
    """The ``affine.for`` that is all of a loop's body."""
    match inner_operations(op):
        case (loop,) if loop.name == "affine.for":
            return loop
        case _:
            return None


@dataclass(frozen=True, slots=True)
class Plane:
    """An access that moves with both loops: along which dimensions."""

    memref: Value
    indices: tuple[Index, ...]
    row: int
    column: int
    transposed: bool


@dataclass(frozen=True, slots=True)
class Transposition:
    """A nest of two parallel loops: the stores are consecutive along ``columns``."""

    rows: Line
    columns: Line
    body: Body
    planes: dict[Operation, Plane]

    @property
    def bits(self) -> int:
        """Width of the elements."""
        return next(iter(self.body.bits))

    @property
    def stored(self) -> Plane:
        """What the first of its stores writes."""
        return next(plane for op, plane in self.planes.items() if not op.results)

    @property
    def writes_alone(self) -> bool:
        """Whether the result is one buffer of known strides that is only written.

        Where it is written must not depend on what the body computes.
        """
        read = {plane.memref for op, plane in self.planes.items() if op.results}
        stores = len([op for op in self.planes if not op.results])
        form = layout_of(self.stored.memref)
        inside = {value for op in self.body.operations for value in op.results}
        outside = all(inside.isdisjoint(i.values) for i in self.stored.indices)
        known = outside and form is not None and None not in form.strides
        return known and stores == 1 and self.stored.memref not in read

    @property
    def fills_rows(self) -> bool:
        """Whether ``columns`` move the last dimension of the result."""
        return self.stored.column == len(self.stored.indices) - 1

    def has_rows_alike(self, lanes: int) -> bool:
        """Whether all rows of the result begin at the same place of a register."""
        form = layout_of(self.stored.memref)
        return form is not None and not any((s or 1) % lanes for s in form.strides[:-1])


def transposition_of(op: Operation) -> Transposition | None:
    """Two loops as a transposition: their accesses are planes, and some are turned."""
    outer = line_of(op)
    loop = only_loop(op) if outer else None
    inner = line_of(loop) if loop else None
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
    rows: Line, columns: Line, operations: Sequence[Operation]
) -> Transposition | None:
    found = planes_of(rows.iv, columns.iv, operations)
    if found is None:
        return None
    body, planes = found
    turned = {plane.transposed for op, plane in planes.items() if op.results}
    stored = {plane.transposed for op, plane in planes.items() if not op.results}
    is_one = True in turned and stored == {False}
    return Transposition(rows, columns, body, planes) if is_one else None


def planes_of(
    row: Value, column: Value, operations: Sequence[Operation]
) -> tuple[Body, dict[Operation, Plane]] | None:
    """A body whose accesses are planes of elements of one width, 32 or 64 bits."""
    ivs = {row, column}
    body = Body(column, tuple(operations), varying=set(ivs))
    planes: dict[Operation, Plane] = {}
    for op in operations:
        plane = plane_of(op, row, column)
        if plane is not None:
            planes[op] = plane
            body.varying.update(op.results)
            body.bits.add(lane_bits(element_type(plane.memref.type)) or 0)
        elif _uses(op, ivs) or op.name == "affine.store" or not body.admit(op):
            return None
    return (body, planes) if body.bits in ({32}, {64}) else None


def _uses(op: Operation, ivs: set[Value]) -> bool:
    return any(value in ivs for value in op.operands)


def plane_of(op: Operation, row: Value, column: Value) -> Plane | None:
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
    return Plane(access.memref, indices, r, c, strides[1] != 1)


def _has_lanes(buffer: Value) -> bool:
    return lane_bits(element_type(buffer.type)) is not None


def _dimension(indices: Sequence[Index], iv: Value) -> int | None:
    """The only dimension that a variable moves, by one."""
    moved = [d for d, index in enumerate(indices) if iv in index.values]
    if len(moved) != 1 or Body(iv, ()).coefficient(indices[moved[0]]) != 1:
        return None
    return moved[0]
