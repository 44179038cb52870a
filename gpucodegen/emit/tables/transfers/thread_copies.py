"""nvgpu: copies of single threads, and their groups."""

from __future__ import annotations

from gpucodegen.dialects.nvgpu.copies import (
    APART,
    COMMIT,
    COPY,
    WAIT,
    AsyncCopy,
    pending_groups,
)
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import stored_bytes
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.text.fragments import Text, call, number
from gpucodegen.ir.affine.expressions import AffineExpr, Const, Dim, leaves, linear_form
from gpucodegen.ir.operation import Operation


def copy(e: Emitter, op: Operation) -> None:
    """``nvgpu.device_async_copy``: the program says that the addresses fit it."""
    view = AsyncCopy(op)
    ends = (view.source, view.source_indices), (view.target, view.target_indices)
    buffers = [buffer_of(e, op, memref) for memref, _ in ends]
    size = stored_bytes(buffers[0].dtype)
    source, target = (
        buffer.at([e.index(v) for v in indices])
        for buffer, (_, indices) in zip(buffers, ends, strict=True)
    )
    is_apart = APART in op.attributes
    first, more, constant = _apart(source) if is_apart else (source, Const(0), 0)
    places = [
        Text(buffers[0].pointer),
        e.offset(first),
        e.offset(more),
        number(constant),
        Text(buffers[1].pointer),
        e.offset(target),
    ]
    given = [] if view.given is None else [e.index(view.given) * size]
    real = [e.narrow(e.affine(length)) for length in given]
    width = view.count * size
    hint = f"async_copy_{width}{'_padded' if real else ''}"
    function = e.make(hint, "async_copy", width, *[True for _ in real])
    e.writer.line(str(call(function, *places, *real)))


def _apart(offset: AffineExpr) -> tuple[AffineExpr, AffineExpr, int]:
    """An offset as what is left, what the last of its variables adds, and a constant.

    Copies in a loop that is repeated differ by constants then, and those of blocks of
    terms that follow one another too: what they have in common is computed once, and
    few bytes are part of an address.
    """
    positions = [leaf.position for leaf in leaves(offset) if isinstance(leaf, Dim)]
    terms, constant = linear_form(offset)
    parts: list[AffineExpr] = [Const(min(0, constant)), Const(0)]
    for term, factor in terms.items():
        parts[Dim(max(positions)) in leaves(term)] += term * factor
    return parts[0], parts[1], max(0, constant)


def close(e: Emitter, op: Operation) -> None:
    """``nvgpu.device_async_create_group``."""
    del op
    e.writer.line(str(call(e.make("close_group", "close_group"))))


def wait_groups(e: Emitter, op: Operation) -> None:
    """``nvgpu.device_async_wait``."""
    pending = pending_groups(op)
    function = e.make(f"wait_groups_{pending}", "wait_groups", pending)
    e.writer.line(str(call(function)))


HANDLERS: dict[str, Handler] = {COPY: copy, COMMIT: close, WAIT: wait_groups}
