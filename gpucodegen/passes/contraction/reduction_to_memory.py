"""Reduction to memory: loop-carried accumulators become accumulation in a memory cell.

This gives the nest the form of a contraction:

    s = for k iter_args(p = v) { .. yield p' }      C[i] = v
    C[i] = f(s)                                =>   for k { C[i] = p' with p = C[i] }
                                                    C[i] = f(C[i])

The cell is the one that the result is stored to, if the nest accesses its buffer there
and nowhere else, and reads it before the reduction only; otherwise it belongs to a new
buffer with a dimension for each outer loop.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.lifting.aliases import Aliases
from gpucodegen.passes.contraction.operands import bounded
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, bounds_of, from_map
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class ReducedInMemory:
    """A nest whose sums are in memory, and the new buffers that hold them."""

    nest: Operation
    buffers: tuple[Value, ...]

    @property
    def allocations(self) -> list[Operation]:
        return [_allocation(buffer) for buffer in self.buffers]

    @property
    def deallocations(self) -> list[Operation]:
        return [
            Operation("memref.dealloc", (v,), location=v.location) for v in self.buffers
        ]


@dataclass(frozen=True, slots=True)
class BufferCell:
    """An element of a buffer."""

    memref: Value
    indices: tuple[Index, ...]

    def load(self, b: Builder) -> Value:
        return b.load(self.memref, self.indices, "sum")

    def store(self, b: Builder, value: Value) -> None:
        b.store(value, self.memref, self.indices)


def _allocation(buffer: Value) -> Operation:
    b = Builder(buffer.location)
    assert isinstance(buffer.type, MemRefType)
    b.allocate("memref.alloc", buffer.type)
    return b.operations[0].with_(results=(buffer,))


def shared_buffers(function: Operation, surroundings: Surroundings) -> frozenset[Value]:
    """Buffers whose cells may be accessed under other names."""
    return Aliases.of([function], surroundings.functions).renamed


def reductions_in_memory(
    nest: Operation, shared: Collection[Value] = ()
) -> ReducedInMemory:
    """The nest with its single-value reductions in memory.

    ``shared``: buffers whose cells may be accessed under other names.
    """
    buffers: list[Value] = []

    def visit(op: Operation, outer: Sequence[Axis] | None) -> Operation:
        found = None if outer is None or op.results else bounded(op, outer)
        axes = None if found is None or outer is None else (*outer, found[0])
        inner = [visit(o, axes) if o.name == "affine.for" else o for o in _body(op)]
        operations: list[Operation] = []
        for at, o in enumerate(inner):
            if not _is_sum(o) or axes is None:
                operations.append(o)
                continue
            cell = _stored_cell(nest, inner, at)
            if cell is None or cell.memref in shared:
                cell = new_cell(o.result, axes)
                buffers.append(cell.memref)
            operations += _replaced(o, cell)
        return op.with_body([*operations, op.body.operations[-1]])

    return ReducedInMemory(
        _without_stores_back(visit(nest, ()), shared), tuple(buffers)
    )


def _body(op: Operation) -> tuple[Operation, ...]:
    return op.body.operations[:-1]


def _is_sum(op: Operation) -> bool:
    return op.name == "affine.for" and len(op.results) == 1


def _stored_cell(
    nest: Operation, block: Sequence[Operation], at: int
) -> BufferCell | None:
    """The cell that the result of ``block[at]`` is stored to, where it may be used.

    All accesses of its buffer are in ``block`` at that cell: loads before, then stores.
    """
    stores = [op for op in block[at + 1 :] if op.name == "affine.store"]
    wanted = [op for op in stores if op.operands[0].type == block[at].result.type]
    if not wanted:
        return None
    cell = _cell_of(wanted[0])
    users = [op for op in nest.walk() if cell.memref in op.operands]
    early = [op for op in block[:at] if op.name == "affine.load" and op in users]
    late = [op for op in stores if op in users]
    same = all(_cell_of(op) == cell for op in (*early, *late))
    return cell if same and len(users) == len(early) + len(late) else None


def _cell_of(op: Operation) -> BufferCell:
    memref = 0 if op.results else 1
    attribute = op.attributes["map"]
    assert isinstance(attribute, AffineMapAttr)
    indices = from_map(attribute.map, op.operands[memref + 1 :])
    return BufferCell(op.operands[memref], tuple(indices))


def new_cell(value: Value, outer: Sequence[Axis]) -> BufferCell:
    """A cell of a buffer with one element per iteration of the loops around."""
    extents = tuple(axis.extent for axis in outer)
    buffer = Value(MemRefType(extents, value.type), "sums", value.location)
    positions = (
        (Index.of(axis.iv) - axis.lower) // axis.step
        if axis.step > 1
        else Index.of(axis.iv) - axis.lower
        for axis in outer
    )
    return BufferCell(buffer, tuple(positions))


def _replaced(op: Operation, cell: BufferCell) -> list[Operation]:
    """Store of the initial value, the loop, load of the result."""
    before, after = Builder(op.location), Builder(op.location)
    (initial,) = affine.For(op).inits
    cell.store(before, initial)
    total = cell.load(after)
    (load,) = after.operations
    assert total is load.result
    loop = _accumulating(op, cell)
    return [*before.operations, loop, load.with_(results=op.results)]


def _accumulating(op: Operation, cell: BufferCell) -> Operation:
    """The loop with its carried value in the cell."""
    *inside, terminator = op.body.operations
    _, carried = op.body.arguments
    (last,) = terminator.operands
    b = Builder(op.location)
    nested = next((o for o in inside if last in o.results), None)
    uses = [o for o in inside if any(carried in i.operands for i in o.walk())]
    if nested is not None and _is_sum(nested) and uses == [nested]:
        is_passed = affine.For(nested).inits == (carried,)
        body = [_accumulating(o, cell) if o is nested else o for o in inside]
        if is_passed:
            return _plain(op, body)
    old = cell.load(b)
    b.operations += [substitute_values(o, {carried: old}) for o in inside]
    cell.store(b, old if last is carried else last)
    return _plain(op, b.operations)


def _plain(op: Operation, body: Sequence[Operation]) -> Operation:
    """The same loop over another body, without carried values."""
    b = Builder(op.location)
    loop = affine.For(op)

    def fill(inner: Builder, iv: Value) -> None:
        renamed = {op.body.arguments[0]: iv}
        inner.operations += [substitute_values(o, renamed) for o in body]

    b.loop(
        *bounds_of(loop),
        fill,
        step=loop.step,
        hint=loop.iv.name,
    )
    (made,) = b.operations
    return made


def _without_stores_back(nest: Operation, shared: Collection[Value]) -> Operation:
    """Drop stores of a value just loaded from the same cell, and unused loads.

    Between the load and the store, nothing else may have changed the cell.
    """

    def cleaned(op: Operation) -> list[Operation] | None:
        if op.name != "affine.for":
            return None
        loaded: dict[Value, BufferCell] = {}
        kept: list[Operation] = []
        for inner in op.body.operations:
            if inner.name == "affine.load":
                loaded[inner.result] = _cell_of(inner)
            elif inner.name == "affine.store":
                cell = _cell_of(inner)
                if loaded.get(inner.operands[0]) == cell:
                    continue
                others = {v: c for v, c in loaded.items() if c.memref != cell.memref}
                loaded = {} if cell.memref in shared else others
            elif not has_no_effect(inner):
                loaded.clear()
            kept.append(inner)
        return [op.with_body(_without_dead_loads(kept))]

    (result,) = rewrite_bottom_up(nest, cleaned)
    return result


def _without_dead_loads(operations: Sequence[Operation]) -> list[Operation]:
    used = {value for op in operations for inner in op.walk() for value in inner.used}
    return [
        op
        for op in operations
        if op.name != "affine.load" or not used.isdisjoint(op.results)
    ]
