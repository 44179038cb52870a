"""Tensors made buffers: tensor arguments are only read, tensor results are fresh.

A value is updated in place where its buffer was made here and nothing later uses the
old value; otherwise its contents are copied first.  Buffers that do not leave the
function are deallocated.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects import linalg
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.framework.registry import lookup
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.shared.effects import undeclared
from gpucodegen.ir.attributes import DenseElementsAttr, TypeAttr
from gpucodegen.ir.constants.elements import DenseResourceAttr, SparseElementsAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value, rewrite_bottom_up
from gpucodegen.ir.segments import segment_counts
from gpucodegen.ir.types import (
    FunctionType,
    MemRefType,
    TensorType,
    Type,
    UnrankedTensorType,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.prepare.memory.tensor_buffers import Globals, buffer_type, fill


@dataclass(frozen=True, slots=True)
class Bufferize(ModulePass):
    """Functions on tensors become functions on memrefs."""

    name: ClassVar[str] = "bufferize"

    def apply(self, module: Module) -> Module:
        """Bufferize every function that mentions a tensor."""
        globals_ = Globals({symbol_name(op) for op in module.operations})
        operations = [
            _Bufferizer(globals_).function(op) if _has_tensors(op) else op
            for op in module.operations
        ]
        return module.with_operations([*globals_.operations, *operations])


def _has_tensors(op: Operation) -> bool:
    if op.name != "func.func" or not op.regions or not op.regions[0].blocks:
        return False
    return any(
        isinstance(value.type, TensorType | UnrankedTensorType)
        for inner in op.walk()
        for value in (*inner.operands, *inner.results, *_arguments(inner))
    )


def _arguments(op: Operation) -> list[Value]:
    return [
        v for region in op.regions for block in region.blocks for v in block.arguments
    ]


@dataclass(slots=True)
class _Bufferizer:
    """Rewrites one function; ``buffers`` holds the memref of each tensor.

    ``uses`` counts those that may still come: structured operations keep no views of
    their operands, and in a single block they run once.
    """

    globals: Globals
    buffers: dict[Value, Value] = field(default_factory=dict[Value, Value])
    owned: dict[Value, None] = field(default_factory=dict[Value, None])
    uses: Counter[Value] = field(default_factory=Counter[Value])
    is_straight: bool = True

    def function(self, op: Operation) -> Operation:
        """The function on buffers."""
        self.uses = Counter(v for inner in op.walk() for v in inner.operands)
        self.is_straight = len(op.regions[0].blocks) == 1
        blocks = tuple(map(self._block, op.regions[0].blocks))
        inputs = tuple(a.type for a in blocks[0].arguments)
        results = tuple(map(buffer_type, Function(op).result_types))
        signature = TypeAttr(FunctionType(inputs, results))
        rebuilt = op.with_(regions=(Region(blocks),))
        if inputs != Function(op).type.inputs:
            rebuilt = undeclared(rebuilt)
        return rebuilt.with_attribute("function_type", signature)

    def _block(self, block: Block) -> Block:
        arguments = tuple(map(self._argument, block.arguments))
        builder = Builder()
        for op in block.operations:
            builder.location = op.location
            self._one(builder, op)
            if self.is_straight and op.dialect == "linalg":
                self.uses.subtract(v for inner in op.walk() for v in inner.operands)
        return Block(arguments, tuple(builder.operations), block.label)

    def _argument(self, value: Value) -> Value:
        ty = buffer_type(value.type, value.location)
        if ty == value.type:
            return value
        self.buffers[value] = value.renewed(ty)
        return self.buffers[value]

    def _one(self, b: Builder, op: Operation) -> None:
        handler = _HANDLERS.get(op.name)
        if handler is not None:
            handler(self, b, op)
        elif op.dialect == "linalg" and op.results and op.regions:
            self._structured(b, op)
        elif lookup(op.name) is None and not op.regions:
            self._handled(b, op)
        elif _mentions_tensors(op) and op.dialect == "linalg":
            raise _refusal(op, "Write it as linalg.generic")
        elif _mentions_tensors(op):
            raise _refusal(op)
        else:
            b.operations.append(self._reading(op))

    def _reading(self, op: Operation) -> Operation:
        """The operation; its regions, which run any number of times, only read."""

        def rewrite(inner: Operation) -> list[Operation] | None:
            if inner.name in _READS:
                b = Builder(location=inner.location)
                _HANDLERS[inner.name](self, b, inner)
                return b.operations
            if _mentions_tensors(inner):
                raise _refusal(inner)
            return None

        (rewritten,) = rewrite_bottom_up(op, rewrite)
        return rewritten

    def allocate(self, b: Builder, like: Value, ty: Type, hint: str = "") -> Value:
        """A fresh buffer with the extents of another one."""
        assert isinstance(ty, MemRefType)
        sizes = [
            self._extent(b, like, dimension)
            for dimension, extent in enumerate(ty.shape)
            if extent is None
        ]
        return self.allocate_sized(b, ty, sizes, hint)

    def allocate_sized(
        self, b: Builder, ty: MemRefType, sizes: list[Value], hint: str = ""
    ) -> Value:
        """A fresh buffer of given dynamic sizes."""
        attributes = {"operandSegmentSizes": segment_counts(len(sizes), 0)}
        (buffer,) = b.add("memref.alloc", sizes, [ty], attributes, hint=hint)
        self.owned[buffer] = None
        return buffer

    def _extent(self, b: Builder, buffer: Value, dimension: int) -> Value:
        position = b.index(Index.of(dimension))
        (size,) = b.add("memref.dim", (buffer, position), [position.type], hint="n")
        return size

    def writable(self, b: Builder, tensor: Value, *, contents: bool = True) -> Value:
        """A buffer to overwrite a tensor's value in; copied unless used last here."""
        buffer = self.buffers[tensor]
        if buffer in self.owned and self.uses[tensor] == 1:
            return buffer
        copy = self.allocate(b, buffer, buffer.type, tensor.name)
        if contents:
            b.add("memref.copy", (buffer, copy))
        return copy

    def _structured(self, b: Builder, op: Operation) -> None:
        """linalg on tensors: the outputs' buffers become the results'."""
        structured = linalg.Structured(op)
        inputs = [self.buffers.get(v, v) for v in structured.inputs]
        arguments = structured.body.arguments[len(inputs) :]
        used = {v for inner in structured.body.operations for v in inner.operands}
        outputs = [
            self.writable(b, value, contents=argument in used)
            for value, argument in zip(structured.outputs, arguments, strict=True)
        ]
        on_buffers = op.with_(operands=(*inputs, *outputs), results=())
        b.operations.append(self._reading(on_buffers))
        self.buffers.update(zip(op.results, outputs, strict=True))

    def relayout(self, b: Builder, op: Operation) -> None:
        """``linalg.pack`` and ``unpack``: all of the destination is written."""
        if not op.results:
            b.operations.append(op)
            return
        source, target, *others = op.operands
        into = self.writable(b, target, contents=False)
        operands = (self.buffers[source], into, *others)
        b.operations.append(op.with_(operands=operands, results=()))
        self.buffers[op.result] = into

    def _handled(self, b: Builder, op: Operation) -> None:
        """An operation that the caller runs: its tensor results are fresh buffers."""
        self.renamed(b, op, op.name)
        for value in op.results:
            if value in self.buffers:
                self.owned[self.buffers[value]] = None

    def renamed(self, b: Builder, op: Operation, name: str) -> None:
        """The same operation on buffers under another name."""
        operands = tuple(self.buffers.get(v, v) for v in op.operands)
        results = tuple(
            v if buffer_type(v.type) == v.type else v.renewed(buffer_type(v.type))
            for v in op.results
        )
        b.operations.append(op.with_(name=name, operands=operands, results=results))
        self.buffers.update(
            (old, new)
            for old, new in zip(op.results, results, strict=True)
            if old is not new
        )

    def empty(self, b: Builder, op: Operation) -> None:
        """``tensor.empty``: memory without contents."""
        ty = buffer_type(op.result.type)
        assert isinstance(ty, MemRefType)
        sizes = list(op.operands)
        self.buffers[op.result] = self.allocate_sized(b, ty, sizes, op.result.name)

    def insert(self, b: Builder, op: Operation) -> None:
        """``tensor.insert``: a store into the updated tensor."""
        scalar, tensor, *indices = op.operands
        buffer = self.writable(b, tensor)
        b.add("memref.store", (scalar, buffer, *indices))
        self.buffers[op.result] = buffer

    def constant(self, b: Builder, op: Operation) -> None:
        """A constant of a tensor: a filled buffer, or a global one."""
        value, ty = op.attributes["value"], buffer_type(op.result.type)
        if isinstance(value, SparseElementsAttr | DenseResourceAttr):
            value = value.dense()
        if not isinstance(value, DenseElementsAttr) or not isinstance(ty, MemRefType):
            b.operations.append(op)
        elif value.is_splat:
            buffer = self.allocate_sized(b, ty, [], op.result.name)
            fill(b, buffer, value.values[0], ty)
            self.buffers[op.result] = buffer
        else:
            self.buffers[op.result] = self.globals.shown(b, value, ty)

    def load_tensor(self, b: Builder, op: Operation) -> None:
        """``to_tensor``: an independent copy, so that later stores do not change it."""
        source = op.operands[0]
        ty = buffer_type(op.result.type)
        copy = self.allocate(b, source, ty, op.result.name)
        b.add("memref.copy", (source, copy))
        self.buffers[op.result] = copy

    def materialize(self, b: Builder, op: Operation) -> None:
        """``materialize_in_destination``: the value is copied where it must be."""
        source, target = op.operands
        into = self.buffers.get(target, target)
        if op.results:
            into = self.writable(b, target, contents=False)
            self.buffers[op.result] = into
        b.add("memref.copy", (self.buffers[source], into))

    def show_buffer(self, b: Builder, op: Operation) -> None:
        """``to_memref``: the tensor's buffer, or a copy of an argument's."""
        buffer = self.writable(b, op.operands[0])
        b.operations.append(
            Operation("memref.cast", (buffer,), (op.result,), location=op.location)
        )

    def leave(self, b: Builder, op: Operation) -> None:
        """``func.return``: each tensor leaves in its own buffer."""
        returned: list[Value] = []
        for value in op.operands:
            buffer = self.buffers.get(value, value)
            if isinstance(value.type, TensorType) and (
                buffer not in self.owned or buffer in returned
            ):
                copy = self.allocate(b, buffer, buffer.type, value.name)
                b.add("memref.copy", (buffer, copy))
                buffer = copy
            returned.append(buffer)
        for buffer in self.owned:
            if buffer not in returned and not _is_shown(b, buffer, returned):
                b.add("memref.dealloc", (buffer,))
        b.operations.append(op.with_(operands=tuple(returned)))


def _mentions_tensors(op: Operation) -> bool:
    return any(isinstance(v.type, TensorType) for v in (*op.operands, *op.results))


def _refusal(
    op: Operation,
    advice: str = "Use linalg and tensor operations outside loops, or memrefs",
) -> errors.Error:
    return errors.UnsupportedOperation(
        op.location, operation=op.name, target="buffers", advice=advice
    )


def _is_shown(b: Builder, buffer: Value, returned: list[Value]) -> bool:
    """Whether a returned memref is a view of the buffer."""
    views = {
        o.results[0]
        for o in b.operations
        if o.name == "memref.cast" and o.operands[0] is buffer
    }
    return any(value in views for value in returned)


def _as(name: str) -> Callable[[_Bufferizer, Builder, Operation], None]:
    return lambda bufferizer, b, op: bufferizer.renamed(b, op, name)


_HANDLERS: dict[str, Callable[[_Bufferizer, Builder, Operation], None]] = {
    "tensor.empty": _Bufferizer.empty,
    "bufferization.alloc_tensor": _Bufferizer.empty,
    "tensor.dim": _as("memref.dim"),
    "tensor.cast": _as("memref.cast"),
    "tensor.extract": _as("memref.load"),
    "linalg.pack": _Bufferizer.relayout,
    "linalg.unpack": _Bufferizer.relayout,
    "tensor.insert": _Bufferizer.insert,
    "arith.constant": _Bufferizer.constant,
    "bufferization.to_tensor": _Bufferizer.load_tensor,
    "bufferization.materialize_in_destination": _Bufferizer.materialize,
    "bufferization.to_memref": _Bufferizer.show_buffer,
    "bufferization.to_buffer": _Bufferizer.show_buffer,
    "func.return": _Bufferizer.leave,
}
_READS = frozenset({"tensor.dim", "tensor.cast", "tensor.extract"})
"""Operations that regions may hold, since they update nothing."""
