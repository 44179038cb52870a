"""One function on tensors becomes one on buffers, operation by operation.

Tensors lie in buffers.  An operation that makes a new value of a tensor overwrites its
buffer if that spoils no read; otherwise the contents are copied first.  Buffers are
given back at the end of the block that allocates them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from gpucodegen import errors
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.ir.operation import Block, Operation, Region, Value, segment_counts
from gpucodegen.ir.types import MemRefType, TensorType, UnrankedTensorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Conflicts, Write
from gpucodegen.passes.prepare.tensors.analysis.effects import reads
from gpucodegen.passes.prepare.tensors.analysis.extents import Origin, origin
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Storage
from gpucodegen.passes.prepare.tensors.constants import Globals, buffer_type
from gpucodegen.passes.prepare.tensors.frames import Copied, Frame, Opened
from gpucodegen.passes.prepare.tensors.views import extent

Rule = Callable[["Rewriter", Builder, Operation], None]
Finish = Callable[[Builder, Operation], None]
TENSORS = (TensorType, UnrankedTensorType)


@dataclass(slots=True)
class Rewriter:
    """``buffers`` says where the tensors lie that were made so far."""

    rules: Mapping[str, Rule]
    globals: Globals
    conflicts: Conflicts
    buffers: dict[Value, Buffer]
    frames: list[Frame] = field(default_factory=list[Frame])
    copies: list[Copied] = field(default_factory=list[Copied])
    ranked: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """Tensors of any rank, and what they were cast from."""

    # -- blocks and operations -----------------------------------------------------

    def region(self, region: Region) -> Region:
        """A region whose tensor arguments are buffers that nobody overwrites."""
        is_single = len(region.blocks) == 1
        blocks = (
            self.body(block, self._arguments(block), frees=is_single)
            for block in region.blocks
        )
        return Region(tuple(blocks))

    def body(
        self,
        block: Block,
        arguments: Sequence[Value] | None = None,
        finish: Finish | None = None,
        *,
        frees: bool = True,
    ) -> Block:
        """A block whose tensor arguments are bound; ``finish`` rewrites its end."""
        opened = self.opened(block, frees=frees)
        return self.closed(opened, arguments, finish)

    def opened(self, block: Block, *, frees: bool = True) -> Opened:
        """A block, rewritten up to its end."""
        opened = Opened(block, Frame(frees))
        self.frames.append(opened.frame)
        for op in block.operations[:-1]:
            self.one(opened.b, op)
        self.frames.pop()
        return opened

    def closed(
        self,
        opened: Opened,
        arguments: Sequence[Value] | None = None,
        finish: Finish | None = None,
    ) -> Block:
        """The block with its end, in front of which its buffers are given back."""
        block, b, frame = opened.block, opened.b, opened.frame
        last = block.operations[-1]
        b.location = last.location
        self.frames.append(frame)
        (finish or self.one)(b, last)
        self.frames.pop()
        used = {v for op in b.operations for inner in op.walk() for v in inner.used}
        freed = [
            Operation("memref.dealloc", (buffer.value,), location=last.location)
            for buffer in frame.buffers
            if frame.frees and buffer.storage.owned and buffer.value in used
        ]
        unused = {buffer.value for buffer in frame.buffers} - used
        *before, end = (
            op
            for op in b.operations
            if op.name != "memref.alloc" or op.result not in unused
        )
        operations = (*before, *freed, end)
        given = block.arguments if arguments is None else tuple(arguments)
        return Block(given, operations, block.label)

    def _arguments(self, block: Block) -> tuple[Value, ...]:
        return tuple(map(self._argument, block.arguments))

    def _argument(self, value: Value) -> Value:
        ty = buffer_type(value.type, value.location)
        if ty == value.type:
            return value
        buffer = Buffer(value.renewed(ty), Storage(writable=False))
        self.bind(value, buffer)
        return buffer.value

    def one(self, b: Builder, op: Operation) -> None:
        """One operation, by its rule."""
        b.location = op.location
        rule = self.rules.get(op.name)
        if not op.regions and not mentions_tensors(op):
            b.operations.append(op)
        elif rule is not None:
            rule(self, b, op)
        elif mentions_tensors(op) and (op.regions or lookup(op.name) is not None):
            raise refusal(op)
        elif op.regions:
            b.operations.append(op.with_(regions=tuple(map(self.region, op.regions))))
        else:
            self.rules["func.call"](self, b, op)

    # -- buffers -------------------------------------------------------------------

    def bind(self, tensor: Value, buffer: Buffer) -> None:
        """Say where a tensor lies."""
        self.buffers[tensor] = buffer
        buffer.storage.members.append(tensor)

    def memref(self, value: Value) -> Value:
        """The memref of a tensor; other values are themselves."""
        found = self.buffers.get(value)
        return value if found is None else found.value

    def allocate(
        self, b: Builder, ty: MemRefType, sizes: Sequence[Value], hint: str = ""
    ) -> Buffer:
        """A fresh buffer of given dynamic sizes."""
        attributes = {"operandSegmentSizes": segment_counts(len(sizes), 0)}
        (value,) = b.add("memref.alloc", sizes, [ty], attributes, hint=hint)
        buffer = Buffer(value, Storage(writable=True, owned=True))
        self.frames[-1].buffers.append(buffer)
        return buffer

    def allocate_like(self, b: Builder, buffer: Buffer, hint: str = "") -> Buffer:
        """A fresh row-major buffer with the extents of another one."""
        ty = buffer.value.type
        assert isinstance(ty, MemRefType)
        sizes = [
            extent(b, buffer.value, dimension)
            for dimension, known in enumerate(ty.shape)
            if known is None
        ]
        return self.allocate(b, MemRefType(ty.shape, ty.element), sizes, hint)

    def copied(self, b: Builder, tensor: Value) -> Buffer:
        """A fresh copy of a tensor, or room for one without contents."""
        source = self.buffers[tensor]
        if tensor in self.ranked:
            copy = self.copied(b, self.ranked[tensor])
            ty = source.value.type
            (view,) = b.add("memref.cast", (copy.value,), [ty], hint=tensor.name)
            return replace(copy, value=view)
        copy = self.allocate_like(b, source, tensor.name)
        if tensor not in self.conflicts.undefined:
            b.add("memref.copy", (source.value, copy.value))
        return copy

    def is_read(self, tensor: Value) -> bool:
        """Whether some operation needs the contents of a tensor."""
        return any(map(reads, self.conflicts.order.uses.get(tensor, ())))

    def allocate_outside(self, b: Builder, op: Operation, tensor: Value) -> Buffer:
        """Room, in front of an operation, for a tensor that is made inside."""
        ty = buffer_type(tensor.type, tensor.location)
        assert isinstance(ty, MemRefType)
        sizes = [
            self._outer_extent(b, op, origin(self.conflicts, tensor, d))
            for d, known in enumerate(ty.shape)
            if known is None
        ]
        return self.allocate(b, ty, sizes, tensor.name)

    def _outer_extent(self, b: Builder, op: Operation, found: Origin) -> Value:
        order = self.conflicts.order
        value = found[0] if isinstance(found, tuple) else found
        if isinstance(value, int):
            return b.index(Index.of(value))
        if order.scope[value] not in order.around[op]:
            raise refusal(op, "Give the tensors that leave it static extents")
        if isinstance(found, tuple):
            return extent(b, self.memref(value), found[1])
        return value

    def plain(self, b: Builder, tensor: Value) -> Value:
        """The row-major memref of a tensor, copied where it is a view with strides."""
        buffer, ty = self.buffers[tensor], buffer_type(tensor.type)
        if buffer.value.type == ty:
            return buffer.value
        found = buffer.value.type
        assert isinstance(found, MemRefType)
        if found.layout is not None:
            buffer = self.copied(b, tensor)
        if buffer.value.type == ty:
            return buffer.value
        return b.add("memref.cast", (buffer.value,), [ty], hint=tensor.name)[0]

    def writable(self, b: Builder, write: Write, *, contents: bool = True) -> Buffer:
        """Where to write the new value of a tensor: its place, or a copy of it."""
        tensor = write.op.operands[write.position]
        buffer = self.buffers[tensor]
        use = self.conflicts.of_write(write) if buffer.storage.writable else None
        if buffer.storage.writable and use is None:
            return buffer
        if not contents or tensor in self.conflicts.undefined:
            return self.allocate_like(b, buffer, tensor.name)
        reason, notes = "it is an argument, a constant, or seen elsewhere", []
        if use is not None:
            reason = f"'{use.op.name}' reads the old value"
            notes = [(use.op.location, "it is read here")]
        self.copies.append(Copied(write.op, tensor, reason, notes))
        return self.copied(b, tensor)


def mentions_tensors(op: Operation) -> bool:
    """Whether a tensor goes in or comes out."""
    return any(isinstance(v.type, TENSORS) for v in (*op.used, *op.results))


def refusal(op: Operation, advice: str = "Write it on memrefs") -> errors.Error:
    """The error for an operation on tensors without a rule."""
    return errors.UnsupportedOperation(
        op.location, operation=op.name, target="buffers", advice=advice
    )
