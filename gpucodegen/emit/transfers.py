"""memref.dma_start and dma_wait inside kernels.

``count`` elements leave the source in runs of ``run`` elements that start ``stride``
apart on the strided side; the other side is one run.  The strided side is the one in
the slower memory; with equal spaces it is the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpucodegen.dialects import memref
from gpucodegen.emit.addressing import Buffer
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.memory import buffer_of
from gpucodegen.emit.text import Text, call
from gpucodegen.ir.affine import AffineExpr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, element_type


def tags_in(operations: Iterable[Operation]) -> dict[Value, str]:
    """The tag memrefs of transfers, with the dtype that is transferred."""
    tags: dict[Value, str] = {}
    for root in operations:
        for op in root.walk():
            if op.name == "memref.dma_start":
                view = memref.DmaStart(op)
                element = str(element_type(view.source[0].type))
                tags[view.tag[0]] = element
            elif op.name == "memref.dma_wait":
                tags.setdefault(op.operands[0], "f32")
    return tags


def has_strided_source(source: Value, target: Value) -> bool:
    """Whether the stride of a transfer applies to its source."""
    return _space(source) is None or _space(target) is not None


def _space(value: Value) -> object:
    return value.type.memory_space if isinstance(value.type, MemRefType) else None


def start(e: Emitter, op: Operation) -> None:
    """``memref.dma_start``."""
    view = memref.DmaStart(op)
    source, source_offset = _end(e, op, view.source)
    target, target_offset = _end(e, op, view.target)
    tag, tag_offset = _end(e, op, view.tag)
    spaces = [_space_name(e, end.pointer) for end in (source, target)]
    hint = f"dma_start_{source.dtype}_{spaces[0]}_to_{spaces[1]}"
    function = e.make(hint, "dma_start", source.dtype, *spaces)
    run = [e.narrow(e.affine(e.index(v))) for v in view.stride] or [Text("1")] * 2
    whole = [Text("1")] * 2
    strided_source = has_strided_source(view.source[0], view.target[0])
    runs = [*run, *whole] if strided_source else [*whole, *run]
    arguments = (
        Text(source.pointer),
        e.narrow(e.affine(source_offset)),
        Text(target.pointer),
        e.narrow(e.affine(target_offset)),
        Text(tag.pointer),
        e.narrow(e.affine(tag_offset)),
        e.narrow(e.affine(e.index(view.num_elements))),
        *runs,
    )
    e.writer.line(str(call(function, *arguments)))


def wait(e: Emitter, op: Operation) -> None:
    """``memref.dma_wait``; on a GPU all threads of the block meet behind it."""
    view = memref.DmaWait(op)
    tag, offset = _end(e, op, view.tag)
    kind = e.facts.tags.get(view.tag[0], "f32")
    function = e.make(f"dma_wait_{kind}", "dma_wait", kind)
    count = e.narrow(e.affine(e.index(view.num_elements)))
    where = e.narrow(e.affine(offset))
    e.writer.line(str(call(function, tag.pointer, where, count)))
    if e.target.name == "cuda":
        e.writer.line(f"{e.use('cuda')}.syncthreads()")


def _end(
    e: Emitter, op: Operation, values: Sequence[Value]
) -> tuple[Buffer, AffineExpr]:
    buffer = buffer_of(e, op, values[0])
    return buffer, buffer.at([e.index(value) for value in values[1:]])


def _space_name(e: Emitter, pointer: str) -> str:
    if pointer in e.facts.shared:
        return "shared"
    return "private" if pointer in e.facts.private else "global"


HANDLERS: dict[str, Handler] = {"memref.dma_start": start, "memref.dma_wait": wait}
