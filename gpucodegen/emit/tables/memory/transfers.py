"""Copies inside kernels: dma_start and dma_wait, and those of single threads."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import gcd

from gpucodegen.dialects.nvgpu.copies import (
    APART,
    COMMIT,
    COPY,
    WAIT,
    AsyncCopy,
    pending_groups,
)
from gpucodegen.dialects.nvgpu.copy_kinds import ASYNCHRONOUS, CopyPlan, plan_copy
from gpucodegen.dialects.shared.transfers import (
    STARTS,
    WAITS,
    End,
    ends_of,
    has_strided_source,
    is_joined,
    left_open,
    lengths_of,
)
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import stored_bytes
from gpucodegen.emit.tables.memory.addressing import Descriptor, row_major
from gpucodegen.emit.tables.memory.copy_plan import PlannedTransfer
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.text.fragments import Text, call, number
from gpucodegen.ir.affine.expressions import AffineExpr, Const, Dim, leaves, linear_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import element_type


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


def in_flight(operations: Iterable[Operation]) -> dict[Value, int]:
    """Per tag memref, the most groups of transfers that its waits let be under way."""
    found: dict[Value, int] = {}
    waited: list[Value] = []
    for op in (inner for root in operations for inner in root.walk()):
        if op.name in WAITS:
            waited.append(ends_of(op)[0].memref)
            if not is_joined(op):
                for tag in waited:
                    found[tag] = max(found.get(tag, 1), left_open(op) + 1)
                waited.clear()
    return found


def start(e: Emitter, op: Operation) -> None:
    """``dma_start``."""
    ends = ends_of(op)
    source, target, _ = buffers = [buffer_of(e, op, end.memref) for end in ends]
    offsets = [b.at(indices_of(e, end)) for end, b in zip(ends, buffers, strict=True)]
    places = [
        piece
        for offset, buffer in zip(offsets, buffers, strict=True)
        for piece in (Text(buffer.pointer), _index(e, offset))
    ]
    count, *stride = map(e.index, lengths_of(op))
    runs = [stride or _one_run(source), _one_run(target)]
    if stride and not has_strided_source(ends[0].memref, ends[1].memref):
        runs = [_one_run(source), stride]
    spaces = (_space_name(e, source.pointer), _space_name(e, target.pointer))
    lengths = [("count", count), *_lengths("source", runs[0])]
    lengths += _lengths("target", runs[1])
    addresses = zip(("source", "target"), (source, target), offsets, strict=False)
    plan = _plan(e, spaces, list(addresses), lengths)
    is_free = plan.mechanism == ASYNCHRONOUS.name
    noted(e, op, plan, e.facts.in_flight.get(ends[2].memref, 0) if is_free else 0)
    size = stored_bytes(source.dtype)
    hint = f"dma_start_{source.dtype}_{spaces[0]}_to_{spaces[1]}"
    options = (plan.width,) if is_free or plan.width > size else ()
    if is_joined(op):
        hint, options = f"{hint}_joined", (plan.width if options else 0, False)
    function = e.make(hint, "dma_start", source.dtype, *spaces, *options)
    sizes = [_index(e, expr) for expr in (count, *runs[0], *runs[1])]
    e.writer.line(str(call(function, *places, *sizes)))


def wait(e: Emitter, op: Operation) -> None:
    """``dma_wait``; the threads of a block meet after it."""
    (end,) = ends_of(op)
    if e.spelling.in_blocks and is_joined(op):
        noted(e, op, CopyPlan("wait_group", 0, "the next wait waits for it, too"))
        return
    tag = buffer_of(e, op, end.memref)
    kind = e.facts.tags.get(end.memref, "f32")
    pending = left_open(op)
    numbers = (pending,) if pending else ()
    hint = "_".join(["dma_wait", kind, *map(str, numbers)])
    function = e.make(hint, "dma_wait", kind, *numbers)
    (count,) = (_index(e, e.index(v)) for v in lengths_of(op))
    where = _index(e, tag.at(indices_of(e, end)))
    e.writer.line(str(call(function, tag.pointer, where, count)))
    if e.spelling.in_blocks:
        e.writer.line(f"{e.use('cuda')}.syncthreads()")
        newest = f" but the newest {pending}" if pending else ""
        reason = f"all copies{newest} end, then a barrier"
        noted(e, op, CopyPlan("wait_group", 0, reason), pending)
    else:
        noted(e, op, CopyPlan("copy", 0, "the elements are copied here"))


def noted(e: Emitter, op: Operation, plan: CopyPlan, groups: int = 0) -> None:
    """Remember how a transfer is carried out, for the report."""
    ends = [f"%{end.memref.name or '?'}" for end in ends_of(op)]
    what = f"{ends[0]} to {ends[1]}" if op.name in STARTS else ends[0]
    planned = plan.mechanism, plan.reason, plan.width
    e.transfers.append(PlannedTransfer(op.name, what, *planned, op.location, groups))


def _plan(
    e: Emitter,
    spaces: tuple[str, str],
    addresses: Sequence[tuple[str, Descriptor, AffineExpr]],
    lengths: Sequence[tuple[str, AffineExpr]],
) -> CopyPlan:
    """Asynchronous or not: decided by what divides each address and length."""
    if not e.spelling.in_blocks:
        return CopyPlan("copy", 0, "the CPU copies when it waits")
    size = stored_bytes(addresses[0][1].dtype)
    multiples = {
        name: gcd(buffer.alignment or size, e.divisor(offset) * size)
        for name, buffer, offset in addresses
    }
    multiples |= {name: e.divisor(expr) * size for name, expr in lengths}
    exact = {name for name, expr in lengths if isinstance(expr, Const)}
    return plan_copy(size, spaces, multiples, exact)


def _lengths(side: str, run: Sequence[AffineExpr]) -> list[tuple[str, AffineExpr]]:
    """Stride and run of one side, unless its elements lie side by side."""
    names = (f"stride of the {side}", f"run of the {side}")
    return [] if tuple(run) == _SIDE_BY_SIDE else list(zip(names, run, strict=True))


def indices_of(e: Emitter, end: End) -> list[AffineExpr]:
    """The indices of an end as expressions."""
    return e.applied(end.map, end.operands)


def _index(e: Emitter, expr: AffineExpr) -> Text:
    return e.narrow(e.affine(expr))


_SIDE_BY_SIDE = (Const(1), Const(1))


def _one_run(buffer: Descriptor) -> Sequence[AffineExpr]:
    """Stride and run of consecutive elements along the last dimension."""
    last = buffer.strides[-1] if buffer.strides else Const(1)
    if buffer.strides == row_major(buffer.sizes):
        last = Const(1)
    return (last, Const(1))


def _space_name(e: Emitter, pointer: str) -> str:
    if pointer in e.facts.shared:
        return "shared"
    return "private" if pointer in e.facts.private else "global"


def copy(e: Emitter, op: Operation) -> None:
    """``nvgpu.device_async_copy``: the program says that the addresses fit it."""
    view = AsyncCopy(op)
    ends = (view.source, view.source_indices), (view.target, view.target_indices)
    buffers = [buffer_of(e, op, memref) for memref, _ in ends]
    size = stored_bytes(buffers[0].dtype)
    (source, target) = (
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
    real = [] if view.given is None else [_index(e, e.index(view.given) * size)]
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


HANDLERS: dict[str, Handler] = dict.fromkeys(STARTS, start) | dict.fromkeys(WAITS, wait)
CUDA_HANDLERS: dict[str, Handler] = {COPY: copy, COMMIT: close, WAIT: wait_groups}
