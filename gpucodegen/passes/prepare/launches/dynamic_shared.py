"""Shared memory whose size the launch gives, as buffers of the kernel's own.

Comes in: ``gpu.dynamic_shared_memory`` and the ``memref.view`` of it, at places and of
sizes that are constants.  Goes out: a ``memref.alloca`` for each place.  All operations
of a kernel name the same bytes, so views of one place and type are one buffer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod

from gpucodegen import errors
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import MemRefType, element_bytes
from gpucodegen.passes.framework.builder import Builder

DYNAMIC = "gpu.dynamic_shared_memory"


def with_own_buffers(
    launch: Operation, size: int | None, numbers: Mapping[Value, int]
) -> Operation:
    """A launch whose body allocates what it takes of ``size`` bytes.

    ``numbers`` are the constants outside; a size of None is not known.  Raises
    UnsupportedOperation, or OutOfBounds where a view leaves the memory.
    """
    bases = {o.result for o in launch.walk() if o.name == DYNAMIC}
    if not bases:
        return launch
    numbers = {**numbers, **_constants(launch)}
    places = _Places(launch, size)
    for op in launch.walk():
        if op.name == "memref.view" and op.operands[0] in bases:
            places.view(op, [numbers.get(v) for v in op.operands[1:]])
        elif bases.intersection(op.used):
            places.base(op, bases)
    return places.rewritten()


def _constants(launch: Operation) -> dict[Value, int]:
    found = {
        op.result: value.value
        for op in launch.walk()
        if isinstance(value := op.attributes.get("value"), IntegerAttr) and op.results
    }
    for op in launch.walk():
        combine = _COMBINED.get(op.name)
        values = [found[v] for v in op.operands if v in found]
        if combine and len(values) == len(op.operands):
            found[op.result] = combine(values)
    return found


_COMBINED = {
    "arith.addi": sum,
    "arith.index_cast": sum,
    "arith.muli": prod,
}
"""What places are computed by: of their operands."""


@dataclass(slots=True)
class _Places:
    """Buffers by first byte and type."""

    launch: Operation
    size: int | None
    buffers: dict[tuple[int, MemRefType], Value] = field(
        default_factory=dict[tuple[int, MemRefType], Value]
    )
    values: dict[Value, Value] = field(default_factory=dict[Value, Value])
    b: Builder = field(default_factory=Builder)

    def view(self, op: Operation, numbers: Sequence[int | None]) -> None:
        """``memref.view`` of some elements from a byte on."""
        ty = op.result.type
        assert isinstance(ty, MemRefType)
        start, *extents = numbers
        given = iter(extents)
        shape = tuple(next(given) if n is None else n for n in ty.shape)
        if start is None or None in shape:
            raise self._refused(op, "Give its first byte and its extents as constants")
        own = self._buffer(op, start, replace(ty, shape=shape))
        self.values[op.result] = self._cast(own, ty)

    def base(self, op: Operation, bases: set[Value]) -> None:
        """Another use: all bytes, whose number must be known."""
        if self.size is None:
            raise self._refused(op, "Give the launch's size as a constant")
        for value in bases.intersection(op.used):
            ty = value.type
            assert isinstance(ty, MemRefType)
            own = self._buffer(op, 0, replace(ty, shape=(self.size,)))
            self.values[value] = self._cast(own, ty)

    def _cast(self, buffer: Value, ty: MemRefType) -> Value:
        if buffer.type == ty:
            return buffer
        return self.b.add("memref.cast", (buffer,), [ty])[0]

    def _buffer(self, op: Operation, start: int, ty: MemRefType) -> Value:
        if (start, ty) in self.buffers:
            return self.buffers[start, ty]
        end = start + _bytes(ty)
        if self.size is not None and not 0 <= start <= end <= self.size:
            raise errors.OutOfBounds(
                op.location,
                buffer="the launch's shared memory",
                witness=f"bytes {start} to {end} of {self.size}",
            )
        for first, other in self.buffers:
            if first < end and start < first + _bytes(other):
                raise self._refused(op, "Let views lie apart, or be of one type")
        self.b.location = op.location
        made = self.b.allocate(
            "memref.alloca", ty, op.result.name if op.results else ""
        )
        return self.buffers.setdefault((start, ty), made)

    def _refused(self, op: Operation, advice: str) -> errors.CompileError:
        return errors.UnsupportedOperation(
            op.location,
            operation=f"{op.name} of {DYNAMIC}",
            target="cuda",
            advice=advice,
        )

    def rewritten(self) -> Operation:
        """The launch with the buffers at the start of its body."""

        def rewrite(op: Operation) -> list[Operation] | None:
            is_view = op.name == "memref.view" and op.result in self.values
            return [] if op.name == DYNAMIC or is_view else None

        changed = substitute_values(self.launch, self.values)
        (changed,) = rewrite_bottom_up(changed, rewrite)
        first, *others = changed.regions[0].blocks
        entry = Block(
            first.arguments, (*self.b.operations, *first.operations), first.label
        )
        return changed.with_(regions=(Region((entry, *others)),))


def _bytes(ty: MemRefType) -> int:
    return prod(n or 0 for n in ty.shape) * (element_bytes(ty.element) or 0)
