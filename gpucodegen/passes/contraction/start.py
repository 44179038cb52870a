"""What the cells of a result hold before a contraction runs.

A nest that stores one value to the very cells that a contraction accumulates into,

    { cells of the fill } = { cells of the result },  no access in between,

is left out: the first block of the reduction starts from the value.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from gpucodegen.ir.affine import linear_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.operands import Operand, access, coefficients
from gpucodegen.passes.contraction.ranges import Positions, Range
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.dead_code import has_no_effect
from gpucodegen.passes.indexing import Index
from gpucodegen.passes.nests import Axis, perfect_nest

Cells = tuple[tuple[int, int, int], ...]
"""Per dimension (first, step, count); a single cell has step 0."""


@dataclass(frozen=True, slots=True)
class Fill:
    """A nest that stores ``value``, which is made before it, to cells of a buffer."""

    memref: Value
    cells: Cells
    value: Value


def fill_of(op: Operation) -> Fill | None:
    """The fill that a nest is, if it is one."""
    nest = perfect_nest(op) if op.name == "affine.for" else None
    if nest is None or [inner.name for inner in nest.body] != ["affine.store"]:
        return None
    (store,) = nest.body
    target = access(store, nest.axes)
    cells = _cells(target, nest.axes)
    is_outside = not any(store.operands[0] is axis.iv for axis in nest.axes)
    return (
        Fill(target.memref, cells, store.operands[0]) if cells and is_outside else None
    )


def _cells(operand: Operand, axes: Sequence[Axis]) -> Cells | None:
    """The box of cells, if each index moves with one axis of its own at most."""
    extents = {axis.iv: axis.extent for axis in axes}
    seen: list[Value] = []
    found: list[tuple[int, int, int]] = []
    for index in operand.indices:
        steps = coefficients(index)
        if len(index.values) != len(steps) or len(steps) > 1 or set(steps) & {*seen}:
            return None
        (value, step), *_ = [*steps.items(), (None, 0)]
        if value is not None and value not in extents:
            return None
        count = 1 if value is None else extents[value]
        first = linear_form(index.expr)[1]
        found.append((first, step if count > 1 else 0, count))
        seen += steps
    return tuple(found) if all(extents.values()) else None


@dataclass(slots=True)
class Mapped:
    """Mapped operations, and the fill among them that nothing came behind yet."""

    operations: list[Operation] = field(default_factory=list[Operation])
    fill: Fill | None = None
    place: slice = field(default_factory=lambda: slice(0, 0))

    def add(self, operations: Sequence[Operation]) -> None:
        """Append operations."""
        self.operations += operations
        if not all(op.name == "memref.alloc" or has_no_effect(op) for op in operations):
            self.fill = None

    def add_nest(self, nest: Operation, operations: Sequence[Operation]) -> None:
        """Append what a nest became."""
        first = len(self.operations)
        self.add(operations)
        self.fill = fill_of(nest)
        self.place = slice(first, len(self.operations))

    def take_start(self, contraction: Contraction) -> Value | None:
        """The value that a fill in front gives to the result; the fill is removed."""
        fill, result = self.fill, contraction.result
        covers = fill is not None and (
            fill.memref is result.memref
            and fill.cells == _cells(result, contraction.axes)
            and all(axis.extent for axis in contraction.axes)
            and not contraction.guards
        )
        if fill is None or not covers:
            return None
        del self.operations[self.place]
        self.fill = None
        return fill.value


def initial(
    b: Builder,
    contraction: Contraction,
    at: Positions,
    ranges: Sequence[Range],
    ty: VectorType,
    read: Callable[[Builder], Value],
) -> Value:
    """The accumulator of a reduction block: what memory holds, or the start of all."""
    start = contraction.start
    if start is None:
        return read(b)
    inside = {part.axis.iv: part.lower for part in ranges}
    places = (inside.get(a.iv, at.get(a.iv, 0)) for a in contraction.reduction)
    conditions = [Index.of(0) - place for place in places]

    def splat(i: Builder) -> Value:
        return i.broadcast(start, ty)

    return b.choose(conditions, splat, read, "acc")
