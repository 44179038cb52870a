"""Reads that a write in place would spoil.

A write of operation ``w`` into the place of a tensor is in conflict with a use ``u`` of
a tensor ``a`` if

    a shares memory with what is written,  u reads it,  and  u may run after w

for one and the same ``a``.  Where ``u`` is the destination of an insertion whose slice
covers what is written, it does not read that; an insertion of what is there already
writes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from gpucodegen.dialects.memref import Mixed, Slice
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.prepare.tensors.analysis.effects import (
    is_elementwise,
    reads,
    used_inside,
)
from gpucodegen.passes.prepare.tensors.analysis.order import Order, Use
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Part

INSERTIONS = frozenset({"tensor.insert_slice", "tensor.parallel_insert_slice"})


@dataclass(frozen=True, slots=True)
class Write:
    """A write into a tensor's place: the operand ``position`` of an operation.

    ``part``: what of the place is written, all of it without.  ``settled``: positions
    of operands that lie elsewhere by now.  ``into``: the place, if it is another one.
    """

    op: Operation
    position: int
    part: Part | None = None
    settled: frozenset[int] = frozenset()
    into: Buffer | None = None


@dataclass(slots=True)
class Conflicts:
    """Finds conflicts in one function; ``buffers`` says where each tensor lies."""

    order: Order
    buffers: Mapping[Value, Buffer]
    constants: dict[Value, int] = field(default_factory=dict[Value, int])
    undefined: set[Value] = field(default_factory=set[Value])

    @staticmethod
    def of(function: Operation, buffers: Mapping[Value, Buffer]) -> Conflicts:
        """Conflicts of one function."""
        found = Conflicts(Order.of(function), buffers)
        for op in function.walk():
            value = op.attributes.get("value")
            if op.name == "arith.constant" and isinstance(value, IntegerAttr):
                found.constants[op.result] = value.value
        return found

    def part(self, op: Operation) -> Part:
        """The slice that an operation takes or puts in."""
        view = Slice(op)
        return Part(*map(self._known, (view.offsets, view.sizes, view.strides)))

    def _known(self, entries: tuple[Mixed, ...]) -> tuple[Mixed, ...]:
        return tuple(
            entry if isinstance(entry, int) else self.constants.get(entry, entry)
            for entry in entries
        )

    def of_write(self, write: Write) -> Use | None:
        """A use that the write would spoil, if there is one."""
        into = write.into or self.buffers[write.op.operands[write.position]]
        for value in into.storage.members:
            buffer = self.buffers[value]
            if buffer.misses(into, its=write.part):
                continue
            for use in self.order.uses.get(value, ()):
                if self._spoils(write, into, use, value):
                    return use
            if write.op.regions and value in used_inside(write.op):
                inside = self._use_inside(write.op, value)
                if inside is not None:
                    return inside
        return None

    def _use_inside(self, op: Operation, value: Value) -> Use | None:
        inside = (
            use
            for use in self.order.uses.get(value, ())
            if self.order.is_inside(use.op, op)
        )
        return next((use for use in inside if reads(use)), None)

    def _spoils(self, write: Write, into: Buffer, use: Use, value: Value) -> bool:
        """Whether the use reads ``value`` after, or while, the write happens."""
        if use.op is write.op and not self.order.may_follow(value, use.op, write.op):
            return self._is_read_beside(write, into, use, value)
        if value in self.undefined or not reads(use):
            return False
        follows = self.order.may_follow(value, use.op, write.op)
        return follows and not self._is_spared(write, into, use, value)

    def _is_read_beside(
        self, write: Write, into: Buffer, use: Use, value: Value
    ) -> bool:
        """Whether another operand of the writing operation suffers."""
        if use.position == write.position or use.position in write.settled:
            return False
        op, place = write.op, self.buffers[value]
        if op.name in INSERTIONS:
            return not place.is_at(into, write.part)
        pairs = is_elementwise(op, use.position, write.position)
        return not (pairs and place.is_at(into, write.part))

    def _stays(self, part: Part, write: Write, value: Value) -> bool:
        """Whether a slice is the same in each iteration that runs the write again."""
        loop = self.order.repeats(value, write.op)
        if loop is None:
            return True
        entries = (*part.offsets, *part.sizes, *part.strides)
        scopes = [self.order.scope[e] for e in entries if isinstance(e, Value)]
        return not any(s is loop or loop in self.order.around[s] for s in scopes)

    def _is_spared(self, write: Write, into: Buffer, use: Use, value: Value) -> bool:
        """Whether the use reads other elements, or the same values."""
        place = self.buffers[value]
        rule = _SPARED.get(use.op.name)
        part = self.part(use.op) if rule else None
        stays = part is not None and self._stays(part, write, value)
        if rule and part and stays and rule(part, write, into, place, use.position):
            return True
        is_source = write.op.name in INSERTIONS and write.position == 1
        source = self.buffers.get(write.op.operands[0]) if is_source else None
        return (
            source is not None
            and source.is_at(into, write.part)
            and place.is_at(source)
        )


Rule = Callable[[Part, Write, Buffer, Buffer, int], bool]


def _covered(
    part: Part, write: Write, into: Buffer, place: Buffer, position: int
) -> bool:
    """The destination of an insertion: its slice is not read."""
    if write.part is not None and into.is_at(place) and write.part == part:
        return position == 1
    return position == 1 and into.is_within(place, part)


def _apart(
    part: Part, write: Write, into: Buffer, place: Buffer, position: int
) -> bool:
    """A slice that is taken out: the write misses it."""
    return position == 0 and place.misses(into, mine=part, its=write.part)


_SPARED: Mapping[str, Rule] = {
    **dict.fromkeys(INSERTIONS, _covered),
    "tensor.extract_slice": _apart,
}
