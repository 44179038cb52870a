"""Where tensors meet calls, returns, branches between blocks, and memrefs."""

from __future__ import annotations

from gpucodegen.ir.operation import Operation, Successor, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Write
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Storage
from gpucodegen.passes.prepare.tensors.analysis.restricted import obstacle
from gpucodegen.passes.prepare.tensors.constants import buffer_type
from gpucodegen.passes.prepare.tensors.frames import Copied
from gpucodegen.passes.prepare.tensors.rewriter import TENSORS, Rewriter
from gpucodegen.passes.prepare.tensors.views import shape_of


def call(r: Rewriter, b: Builder, op: Operation) -> None:
    """A call reads its tensors, and makes others."""
    operands = tuple(_plain(r, b, value) for value in op.operands)
    results: list[Value] = []
    for value in op.results:
        ty = buffer_type(value.type, op.location)
        made = value if ty == value.type else value.renewed(ty)
        if made is not value:
            buffer = Buffer(made, Storage(writable=True, owned=True))
            r.frames[-1].buffers.append(buffer)
            r.bind(value, buffer)
        results.append(made)
    b.operations.append(op.with_(operands=operands, results=tuple(results)))


def _plain(r: Rewriter, b: Builder, value: Value) -> Value:
    return r.plain(b, value) if value in r.buffers else value


def branch(r: Rewriter, b: Builder, op: Operation) -> None:
    """``cf.br`` and the like: what is passed on is not overwritten any more."""
    successors = tuple(
        Successor(target.label, tuple(_shown(r, b, v) for v in target.operands))
        for target in op.successors
    )
    operands = tuple(map(r.memref, op.operands))
    b.operations.append(op.with_(operands=operands, successors=successors))


def _shown(r: Rewriter, b: Builder, value: Value) -> Value:
    if value not in r.buffers:
        return value
    _reveal(r.buffers[value])
    return r.plain(b, value)


def _reveal(buffer: Buffer) -> None:
    """From now on a buffer is seen elsewhere: it stays, and stays as it is."""
    buffer.storage.owned = buffer.storage.writable = False


def leave(r: Rewriter, b: Builder, op: Operation) -> None:
    """``func.return``: each tensor leaves in its own buffer."""
    returned: list[Value] = []
    for value in op.operands:
        memref = value
        if isinstance(value.type, TENSORS):
            buffer = r.buffers[value]
            if not _is_whole(buffer, value) or not buffer.storage.owned:
                buffer = r.copied(b, value)
            buffer.storage.owned = False
            memref = _cast(b, buffer.value, value)
        returned.append(memref)
    b.operations.append(op.with_(operands=tuple(returned)))


def _is_whole(buffer: Buffer, value: Value) -> bool:
    """Whether it is all of its storage, in row-major order."""
    ty = buffer.value.type
    is_plain = isinstance(ty, MemRefType) and ty.layout is None
    return is_plain and not buffer.steps and shape_of(ty) == shape_of(value.type)


def _cast(b: Builder, memref: Value, value: Value) -> Value:
    ty = buffer_type(value.type)
    if memref.type == ty:
        return memref
    return b.add("memref.cast", (memref,), [ty], hint=value.name)[0]


# -- memrefs ---------------------------------------------------------------------------


def to_tensor(r: Rewriter, b: Builder, op: Operation) -> None:
    """``to_tensor``: the buffer itself if nothing changes it, else a copy."""
    source = Buffer(op.operands[0], Storage(writable=False))
    reason, notes = "later stores may change its buffer: it is not 'restrict'", []
    if "restrict" in op.attributes and isinstance(source.value.type, MemRefType):
        other = obstacle(r.conflicts.order, op)
        if other is None:
            r.bind(op.result, source)
            return
        reason = f"'{other.name}' may change its buffer, or hand the tensor on"
        notes = [(other.location, "it is done here")]
    r.copies.append(Copied(op, op.operands[0], reason, notes))
    copy = r.allocate_like(b, source, op.result.name)
    b.add("memref.copy", (source.value, copy.value))
    r.bind(op.result, copy)


def materialize(r: Rewriter, b: Builder, op: Operation) -> None:
    """``materialize_in_destination``: the value is copied where it must be."""
    source, target = op.operands
    into = target
    if op.results:
        buffer = r.writable(b, Write(op, 1), contents=False)
        into = buffer.value
        r.bind(op.result, buffer)
        if r.buffers[source].is_at(buffer):
            return
    b.add("memref.copy", (r.memref(source), into))


def to_buffer(r: Rewriter, b: Builder, op: Operation) -> None:
    """``to_buffer``: the tensor's buffer, or a copy of one that others need."""
    buffer = r.buffers[op.operands[0]]
    if "read_only" not in op.attributes:
        buffer = r.writable(b, Write(op, 0))
    _reveal(buffer)
    b.operations.append(
        Operation("memref.cast", (buffer.value,), (op.result,), location=op.location)
    )


def nothing(r: Rewriter, b: Builder, op: Operation) -> None:
    """``dealloc_tensor``: buffers are given back without it."""
    del r, b, op
