"""dma_start and dma_wait, of memref and affine, inside kernels.

``count`` elements leave the source in runs of ``run`` elements that start ``stride``
apart on the strided side; the other side is one run.  The strided side is the one in
the slower memory; with equal spaces it is the source.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import gcd

from gpucodegen.dialects import affine, memref
from gpucodegen.emit.addressing import Buffer, row_major
from gpucodegen.emit.context import Emitter, Handler
from gpucodegen.emit.copy_plan import CopyPlan, PlannedTransfer, plan_copy
from gpucodegen.emit.kinds import stored_bytes
from gpucodegen.emit.memory import buffer_of
from gpucodegen.emit.text import Text, call
from gpucodegen.ir.affine import AffineExpr, AffineMap, Const
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, element_type

STARTS = frozenset({"memref.dma_start", "affine.dma_start"})
WAITS = frozenset({"memref.dma_wait", "affine.dma_wait"})


@dataclass(frozen=True, slots=True)
class End:
    """One end of a transfer, or its tag: a memref and indices through a map."""

    memref: Value
    map: AffineMap
    operands: tuple[Value, ...]

    @staticmethod
    def of(values: Sequence[Value]) -> End:
        """An end whose indices are values."""
        operands = tuple(values[1:])
        return End(values[0], AffineMap.identity(len(operands)), operands)

    def indices(self, e: Emitter) -> list[AffineExpr]:
        """The indices as expressions."""
        return e.applied(self.map, self.operands)


def ends_of(op: Operation) -> tuple[End, ...]:
    """Source, target and tag of a start; the tag of a wait."""
    match op.name:
        case "memref.dma_start":
            view = memref.DmaStart(op)
            return End.of(view.source), End.of(view.target), End.of(view.tag)
        case "affine.dma_start":
            ends = affine.DmaStart(op).ends
            return tuple(End(x.memref, x.map, x.map_operands) for x in ends)
        case "memref.dma_wait":
            return (End.of(memref.DmaWait(op).tag),)
        case _:
            tag = affine.DmaWait(op).tag
            return (End(tag.memref, tag.map, tag.map_operands),)


def sizes_of(op: Operation) -> tuple[Value, ...]:
    """Number of elements and, if given, stride and run."""
    if op.name == "affine.dma_start":
        return affine.DmaStart(op).sizes
    if op.name == "memref.dma_start":
        view = memref.DmaStart(op)
        return (view.num_elements, *view.stride)
    return op.operands[-1:]


def tags_in(operations: Iterable[Operation]) -> dict[Value, str]:
    """The tag memrefs of transfers, with the dtype that is transferred."""
    tags: dict[Value, str] = {}
    for root in operations:
        for op in root.walk():
            if op.name in STARTS:
                source, _, tag = ends_of(op)
                tags[tag.memref] = str(element_type(source.memref.type))
            elif op.name in WAITS:
                tags.setdefault(ends_of(op)[0].memref, "f32")
    return tags


def has_strided_source(source: Value, target: Value) -> bool:
    """Whether the stride of a transfer applies to its source."""
    return _space(source) is None or _space(target) is not None


def _space(value: Value) -> object:
    return value.type.memory_space if isinstance(value.type, MemRefType) else None


def start(e: Emitter, op: Operation) -> None:
    """``dma_start``."""
    ends = ends_of(op)
    source, target, _ = buffers = [buffer_of(e, op, end.memref) for end in ends]
    offsets = [b.at(end.indices(e)) for end, b in zip(ends, buffers, strict=True)]
    places = [
        piece
        for offset, buffer in zip(offsets, buffers, strict=True)
        for piece in (Text(buffer.pointer), _index(e, offset))
    ]
    count, *stride = map(e.index, sizes_of(op))
    runs = [stride or _one_run(source), _one_run(target)]
    if stride and not has_strided_source(ends[0].memref, ends[1].memref):
        runs = [_one_run(source), stride]
    spaces = (_space_name(e, source.pointer), _space_name(e, target.pointer))
    lengths = [("count", count), *_lengths("source", runs[0])]
    lengths += _lengths("target", runs[1])
    addresses = zip(("source", "target"), (source, target), offsets, strict=False)
    plan = _plan(e, spaces, list(addresses), lengths)
    noted(e, op, plan.mechanism, plan.reason, plan.width)
    hint = f"dma_start_{source.dtype}_{spaces[0]}_to_{spaces[1]}"
    widths = (plan.width,) if plan.width else ()
    function = e.make(hint, "dma_start", source.dtype, *spaces, *widths)
    sizes = [_index(e, expr) for expr in (count, *runs[0], *runs[1])]
    e.writer.line(str(call(function, *places, *sizes)))


def wait(e: Emitter, op: Operation) -> None:
    """``dma_wait``; on a GPU all threads of the block meet behind it."""
    (end,) = ends_of(op)
    tag = buffer_of(e, op, end.memref)
    kind = e.facts.tags.get(end.memref, "f32")
    function = e.make(f"dma_wait_{kind}", "dma_wait", kind)
    (count,) = (_index(e, e.index(v)) for v in sizes_of(op))
    where = _index(e, tag.at(end.indices(e)))
    e.writer.line(str(call(function, tag.pointer, where, count)))
    if e.target.name == "cuda":
        e.writer.line(f"{e.use('cuda')}.syncthreads()")
        noted(e, op, "wait_group", "its copies, then a barrier")
    else:
        noted(e, op, "copy", "the elements are copied here")


def noted(
    e: Emitter, op: Operation, mechanism: str, reason: str, width: int = 0
) -> None:
    """Remember how a transfer is carried out, for the report."""
    ends = [f"%{end.memref.name or '?'}" for end in ends_of(op)]
    what = f"{ends[0]} to {ends[1]}" if op.name in STARTS else ends[0]
    planned = PlannedTransfer(op.name, what, mechanism, reason, width, op.location)
    e.transfers.append(planned)


def _plan(
    e: Emitter,
    spaces: tuple[str, str],
    addresses: Sequence[tuple[str, Buffer, AffineExpr]],
    lengths: Sequence[tuple[str, AffineExpr]],
) -> CopyPlan:
    """Asynchronous or not: decided by what divides each address and length."""
    if e.target.name != "cuda":
        return CopyPlan(0, "the CPU copies when it waits")
    size = stored_bytes(addresses[0][1].dtype)
    multiples = {
        name: gcd(buffer.alignment or size, e.divisor(offset) * size)
        for name, buffer, offset in addresses
    }
    multiples |= {name: e.divisor(expr) * size for name, expr in lengths}
    return plan_copy(size, spaces, multiples)


def _lengths(side: str, run: Sequence[AffineExpr]) -> list[tuple[str, AffineExpr]]:
    """Stride and run of one side, unless its elements lie side by side."""
    names = (f"stride of the {side}", f"run of the {side}")
    return [] if tuple(run) == _SIDE_BY_SIDE else list(zip(names, run, strict=True))


def _index(e: Emitter, expr: AffineExpr) -> Text:
    return e.narrow(e.affine(expr))


_SIDE_BY_SIDE = (Const(1), Const(1))


def _one_run(buffer: Buffer) -> Sequence[AffineExpr]:
    """Stride and run of consecutive elements along the last dimension."""
    last = buffer.strides[-1] if buffer.strides else Const(1)
    if buffer.strides == row_major(buffer.sizes):
        last = Const(1)
    return (last, Const(1))


def _space_name(e: Emitter, pointer: str) -> str:
    if pointer in e.facts.shared:
        return "shared"
    return "private" if pointer in e.facts.private else "global"


HANDLERS: dict[str, Handler] = dict.fromkeys(STARTS, start) | dict.fromkeys(WAITS, wait)
