"""nvgpu: copies of boxes of tensors between global and shared memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpucodegen.dialects.nvgpu.types import is_tensor_map, swizzle_span
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.tables.engines.barriers import one_of, predicated
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.text.fragments import Text, call
from gpucodegen.ir.affine.expressions import Const
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.segments import operand_segments
from gpucodegen.ir.types import MemRefType

LOAD, STORE = "nvgpu.tma.async.load", "nvgpu.tma.async.store"
LEAST = 128
"""What divides the address of a box in shared memory; with a swizzle, 8 spans do."""


def alignments(operations: Iterable[Operation]) -> dict[Value, int]:
    """What must divide the addresses of buffers that boxes are copied to or from.

    A part of a buffer asks it of the whole.
    """
    found: dict[Value, int] = {}
    sources: dict[Value, Value] = {}
    for root in operations:
        for op in root.walk():
            if op.dialect == "memref" and op.operands:
                sources.update(dict.fromkeys(op.results, op.operands[0]))
            if op.name not in (LOAD, STORE):
                continue
            tensor_map = next(v for v in op.operands if is_tensor_map(v.type))
            place = op.operands[0]
            while place in sources:
                place = sources[place]
            needed = max(LEAST, 8 * swizzle_span(tensor_map.type))
            found[place] = max(found.get(place, 0), needed)
    return found


def _start(e: Emitter, op: Operation, memref: Value) -> tuple[Text, Text]:
    """Pointer and offset of the first element of a buffer."""
    buffer = buffer_of(e, op, memref)
    rank = memref.type.rank if isinstance(memref.type, MemRefType) else 0
    return Text(buffer.pointer), e.offset(buffer.at([Const(0)] * rank))


def _corner(e: Emitter, coordinates: Sequence[Value]) -> list[Text]:
    return [e.narrow(e.affine(e.index(v))) for v in coordinates]


def load(e: Emitter, op: Operation) -> None:
    """``nvgpu.tma.async.load``."""
    (target,), (barriers,), (source,), corner, (which,), mask, _ = operand_segments(
        op, 7
    )
    multicast = (True,) if mask else ()
    hint = f"tensor_load_{len(corner)}d{'_multicast' if mask else ''}"
    made = e.make(hint, "tensor_load", len(corner), *multicast)
    with predicated(e, op, 0):
        where = _start(e, op, target)
        barrier = one_of(e, barriers, which)
        given = (*_corner(e, corner), *map(e.typed, mask))
        e.writer.line(str(call(made, *where, e.text(source), *barrier, *given)))


def store(e: Emitter, op: Operation) -> None:
    """``nvgpu.tma.async.store``."""
    (source,), (target,), corner, _ = operand_segments(op, 4)
    made = e.make(f"tensor_store_{len(corner)}d", "tensor_store", len(corner))
    with predicated(e, op, 0):
        where = _start(e, op, source)
        given = _corner(e, corner)
        e.writer.line(str(call(made, *where, e.text(target), *given)))


def _on_map(kind: str) -> Handler:
    """An operation on a tensor map alone."""

    def handler(e: Emitter, op: Operation) -> None:
        made = e.make(f"{kind}_tensor_map", "on_tensor_map", kind)
        with predicated(e, op, 1):
            e.writer.line(str(call(made, e.text(op.operands[0]))))

    return handler


HANDLERS: dict[str, Handler] = {
    LOAD: load,
    STORE: store,
    "nvgpu.tma.fence.descriptor": _on_map("fence"),
    "nvgpu.tma.prefetch.descriptor": _on_map("prefetch"),
}
