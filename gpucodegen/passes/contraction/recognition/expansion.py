"""Small buffers that each iteration fills anew get one more dimension: the iteration.

    for q { t[..] = ..; .. = t[..] }   =>   for q { T[q, ..] = ..; .. = T[q, ..] }

Then the loop may be distributed over its body, and what it did for one vector at a time
is done for a matrix.  Legal iff the iterations may have copies of their own
(`gpucodegen.tiling.proof.liveness`) into which nothing is copied; what the
last one leaves is copied out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value, rewrite_bottom_up
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.analysis.lifting.buffers.aliases import owners
from gpucodegen.passes.analysis.lifting.buffers.escapes import Escapes
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, as_map, from_map
from gpucodegen.passes.framework.nests import Axis, axis_of
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.liveness import (
    LoopKind,
    Private,
    loop_verdicts,
    values,
    with_privatisation,
)


@dataclass(frozen=True, slots=True)
class Expansion:
    """A loop, and what it becomes with the buffers that are made for it."""

    loop: Operation
    operations: tuple[Operation, ...]


def expansions(
    function: Operation, surroundings: Surroundings, max_bytes: int
) -> Iterator[Expansion]:
    """The loops that buffers may be expanded by, to at most ``max_bytes`` each."""
    lifted = lift_function(function, surroundings)
    built = model(lifted.scop)
    passed = values(built)
    named = owners(tuple(function.walk()))
    aliased = Escapes.of([function]).anywhere.union(named, named.values())
    for verdict in loop_verdicts(built):
        op, (found,) = verdict.loop.payload, with_privatisation([verdict], passed)
        axis = axis_of(op) if isinstance(op, Operation) else None
        if found.kind is not LoopKind.PRIVATISABLE or axis is None:
            continue
        buffers = {lifted.arrays[p.array]: p for p in found.private}
        expanded = _expanded(axis, buffers, max_bytes)
        if expanded and aliased.isdisjoint(buffers) and _only_accessed(axis, buffers):
            yield Expansion(axis.operation, tuple(expanded))


def _only_accessed(axis: Axis, buffers: Mapping[Value, Private]) -> bool:
    """Whether the loop uses the buffers by loads and stores of single elements."""
    return all(
        op.name in _MEMREF or not set(buffers).intersection(op.operands)
        for op in axis.operation.walk()
    )


_MEMREF = {"affine.load": 0, "affine.store": 1}
"""Position of the buffer among the operands."""


def _expanded(
    axis: Axis, buffers: Mapping[Value, Private], max_bytes: int
) -> list[Operation]:
    """Allocations, the loop on larger buffers, copies out, deallocations."""
    b, end = Builder(axis.operation.location), Builder(axis.operation.location)
    larger: dict[Value, Value] = {}
    for buffer, private in buffers.items():
        ty = buffer.type
        if private.copied_in or not isinstance(ty, MemRefType) or ty.layout:
            return []
        extents = (axis.extent, *ty.shape)
        size = prod(n or max_bytes for n in extents) * element_bits(ty.element) // 8
        if size > max_bytes or ty.memory_space:
            return []
        new = b.allocate("memref.alloc", MemRefType(extents, ty.element), buffer.name)
        larger[buffer] = new
        if private.copied_out:
            _copy_last(end, new, buffer)
        end.add("memref.dealloc", (new,))
    return [*b.operations, _on_larger(axis, larger), *end.operations]


def _copy_last(b: Builder, larger: Value, buffer: Value) -> None:
    """``buffer[..] = larger[last, ..]``."""
    assert isinstance(larger.type, MemRefType)
    last, *extents = (n or 0 for n in larger.type.shape)

    def cells(i: Builder, at: tuple[Value, ...]) -> None:
        if len(at) == len(extents):
            i.store(i.load(larger, [last - 1, *at]), buffer, at)
        else:
            i.loop(0, extents[len(at)], lambda j, iv: cells(j, (*at, iv)), hint="e")

    cells(b, ())


def _on_larger(axis: Axis, larger: Mapping[Value, Value]) -> Operation:
    """The loop with its iteration as first index of some buffers."""
    position = Index.of(axis.iv) - axis.lower
    number = position // axis.step if axis.step > 1 else position

    def rewrite(op: Operation) -> list[Operation] | None:
        at = _MEMREF.get(op.name)
        if at is None or op.operands[at] not in larger:
            return None
        attribute = op.attributes["map"]
        assert isinstance(attribute, AffineMapAttr)
        indices = from_map(attribute.map, op.operands[at + 1 :])
        map_, operands = as_map([number, *indices])
        first = (*op.operands[:at], larger[op.operands[at]])
        moved = op.with_(operands=(*first, *operands))
        return [moved.with_attribute("map", AffineMapAttr(map_))]

    (result,) = rewrite_bottom_up(axis.operation, rewrite)
    assert affine.For(result).iv is axis.iv
    return result
