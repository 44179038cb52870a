"""nvgpu: copies of single threads, and their groups."""

from __future__ import annotations

from gpucodegen.dialects.nvgpu.copies import (
    COMMIT,
    COPY,
    WAIT,
    AsyncCopy,
    pending_groups,
)
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import stored_bytes
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.ir.operation import Operation


def copy(e: Emitter, op: Operation) -> None:
    """``nvgpu.device_async_copy``: the program says that the addresses fit it."""
    view = AsyncCopy(op)
    ends = (view.source, view.source_indices), (view.target, view.target_indices)
    buffers = [buffer_of(e, op, memref) for memref, _ in ends]
    size = stored_bytes(buffers[0].dtype)
    places = [
        piece
        for buffer, (_, indices) in zip(buffers, ends, strict=True)
        for piece in (
            Text(buffer.pointer),
            e.offset(buffer.at([e.index(v) for v in indices])),
        )
    ]
    real = (
        [] if view.given is None else [e.narrow(e.affine(e.index(view.given) * size))]
    )
    width = view.count * size
    hint = f"async_copy_{width}{'_padded' if real else ''}"
    function = e.make(hint, "async_copy", width, *[True for _ in real])
    e.writer.line(str(call(function, *places, *real)))


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
