"""Bufferization of one function, operation by operation.

An operation that computes a new value of a tensor overwrites its buffer if that spoils
no read; otherwise the contents are copied first.  Buffers are freed at the end of the
block that allocates them.  `origin` finds the source of an extent: a number, a value,
or a dimension of another tensor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace

from gpucodegen import errors
from gpucodegen.dialects import linalg
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.memref import Slice
from gpucodegen.ir.operation import (
    Block,
    Operation,
    Region,
    Value,
    operand_segments,
    segment_counts,
)
from gpucodegen.ir.types import MemRefType, TensorType, UnrankedTensorType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.tensors.conflicts import (
    UNDEFINED,
    Conflicts,
    Write,
    reads,
)
from gpucodegen.passes.prepare.tensors.placement import (
    Buffer,
    Copied,
    Frame,
    Globals,
    Opened,
    Storage,
    buffer_type,
    extent,
    kept_dimensions,
)
from gpucodegen.records import dataclass

Origin = int | Value | tuple[Value, int]
CARRYING = frozenset({"scf.for", "affine.for", "scf.forall"})
"""Operations whose results have the extents of their operands."""


def origin(known: Conflicts, tensor: Value, dimension: int) -> Origin:
    """The source of an extent of a tensor."""
    ty = tensor.type
    static = ty.shape[dimension] if isinstance(ty, TensorType) else None
    if static is not None:
        return static
    op = known.order.made.get(tensor)
    given = _carried(known, tensor) if op is None else _kept(op, tensor)
    if given is not None:
        return origin(known, given, dimension)
    size = None if op is None else _size(op, dimension)
    return (tensor, dimension) if size is None else _of_index(known, size)


def _carried(known: Conflicts, argument: Value) -> Value | None:
    """The initial value of a loop's carried argument."""
    loop = known.order.scope[argument]
    if loop.name in CARRYING:
        count = len(loop.results)
        arguments = loop.body.arguments[len(loop.body.arguments) - count :]
        inits = loop.operands[len(loop.operands) - count :]
        return dict(zip(arguments, inits, strict=True)).get(argument)
    return None


def _kept(op: Operation, tensor: Value) -> Value | None:
    """The operand whose extents a result has."""
    if op.name in CARRYING:
        inits = op.operands[len(op.operands) - len(op.results) :]
        return dict(zip(op.results, inits, strict=True))[tensor]
    if op.name == "linalg.generic":
        outputs = (
            v for v in linalg.Structured(op).outputs if isinstance(v.type, TensorType)
        )
        return dict(zip(op.results, outputs, strict=False))[tensor]
    position = _UPDATED.get(op.name)
    return None if position is None else op.operands[position]


_UPDATED: Mapping[str, int] = {
    "tensor.insert": 1,
    "tensor.insert_slice": 1,
    "tensor.scatter": 1,
    "tensor.cast": 0,
    "vector.transfer_write": 1,
    "linalg.pack": 1,
    "linalg.unpack": 1,
}


def _size(op: Operation, dimension: int) -> Value | int | None:
    """The operand with an extent of the result."""
    rule = _SIZES.get(op.name)
    return None if rule is None else rule(op, dimension)


def _sizes_from(first: int) -> Callable[[Operation, int], Value | int | None]:
    def size(op: Operation, dimension: int) -> Value | int | None:
        ty = op.result.type
        shape = ty.shape if isinstance(ty, TensorType) else ()
        return op.operands[first + shape[:dimension].count(None)]

    return size


def _alloc_tensor(op: Operation, dimension: int) -> Value | int | None:
    copied = operand_segments(op, 3)[1]
    return None if copied else _sizes_from(0)(op, dimension)


def _slice(op: Operation, dimension: int) -> Value | int | None:
    ty = op.result.type
    sizes = Slice(op).sizes
    shape = ty.shape if isinstance(ty, TensorType) else ()
    return sizes[kept_dimensions(sizes, shape)[dimension]]


_SIZES: Mapping[str, Callable[[Operation, int], Value | int | None]] = {
    **dict.fromkeys(UNDEFINED, _alloc_tensor),
    "tensor.empty": _sizes_from(0),
    "tensor.generate": _sizes_from(0),
    "tensor.splat": _sizes_from(1),
    "tensor.extract_slice": _slice,
}


def _of_index(known: Conflicts, size: Value | int) -> Origin:
    """The origin of a size that is an extent itself."""
    if isinstance(size, int):
        return size
    if size in known.constants:
        return known.constants[size]
    op = known.order.made.get(size)
    position = known.constants.get(op.operands[1]) if op and _is_dim(op) else None
    if op is None or position is None:
        return size
    return origin(known, op.operands[0], position)


def _is_dim(op: Operation) -> bool:
    return op.name == "tensor.dim"


Rule = Callable[["Rewriter", Builder, Operation], None]
Finish = Callable[[Builder, Operation], None]
TENSORS = (TensorType, UnrankedTensorType)


@dataclass(slots=True)
class Rewriter:
    """``buffers``: the places of the tensors that were defined so far."""

    rules: Mapping[str, Rule]
    globals: Globals
    conflicts: Conflicts
    buffers: dict[Value, Buffer]
    frames: list[Frame] = field(default_factory=list[Frame])
    copies: list[Copied] = field(default_factory=list[Copied])
    ranked: dict[Value, Value] = field(default_factory=dict[Value, Value])
    """Unranked tensors, and the sources of their casts."""

    # -- blocks and operations -----------------------------------------------------

    def region(self, region: Region) -> Region:
        """A region whose tensor arguments are read-only buffers."""
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
        """The block with its terminator, before which its buffers are freed."""
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
        value = b.value("memref.alloc", sizes, ty, attributes, hint=hint)
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
        """A fresh copy of a tensor, or an allocation for one without contents."""
        source = self.buffers[tensor]
        if tensor in self.ranked:
            copy = self.copied(b, self.ranked[tensor])
            ty = source.value.type
            view = b.value("memref.cast", (copy.value,), ty, hint=tensor.name)
            return replace(copy, value=view)
        copy = self.allocate_like(b, source, tensor.name)
        if tensor not in self.conflicts.undefined:
            b.add("memref.copy", (source.value, copy.value))
        return copy

    def is_read(self, tensor: Value) -> bool:
        """Whether some operation needs the contents of a tensor."""
        return any(map(reads, self.conflicts.order.uses.get(tensor, ())))

    def allocate_outside(self, b: Builder, op: Operation, tensor: Value) -> Buffer:
        """An allocation, before an operation, for a tensor defined inside."""
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
        return b.value("memref.cast", (buffer.value,), ty, hint=tensor.name)

    def writable(self, b: Builder, write: Write, *, contents: bool = True) -> Buffer:
        """The place for the new value of a tensor: its own, or a copy of it."""
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
    """Whether an operation has tensor operands or results."""
    return any(isinstance(v.type, TENSORS) for v in (*op.used, *op.results))


def refusal(op: Operation, advice: str = "Write it on memrefs") -> errors.Error:
    """The error for an operation on tensors without a rule."""
    return errors.UnsupportedOperation.at(op, target="buffers", advice=advice)
