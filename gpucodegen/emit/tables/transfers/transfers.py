"""Copies inside kernels: dma_start and dma_wait."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from gpucodegen.dialects.nvgpu.copy_kinds import BULK, LOOP, CopyPlan
from gpucodegen.dialects.shared.transfers import (
    STARTS,
    WAITS,
    ends_of,
    is_joined,
    left_open,
    lengths_of,
)
from gpucodegen.emit.kernel.context import Emitter, Handler
from gpucodegen.emit.kernel.kinds import stored_bytes
from gpucodegen.emit.tables.memory.memory import buffer_of
from gpucodegen.emit.tables.transfers import bulk
from gpucodegen.emit.tables.transfers.buffer_uses import is_view
from gpucodegen.emit.tables.transfers.copy_plan import PlannedTransfer
from gpucodegen.emit.tables.transfers.moves import Move, indices_of
from gpucodegen.emit.text.fragments import call
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import element_type


def tags_in(operations: Iterable[Operation]) -> dict[Value, str]:
    """The tag memrefs of transfers, with the dtype that is transferred.

    What a tag is a view of is one as well.
    """
    every = [op for root in operations for op in root.walk()]
    tags: dict[Value, str] = {}
    for op in every:
        if op.name in STARTS:
            source, _, tag = ends_of(op)
            tags[tag.memref] = str(element_type(source.memref.type))
        elif op.name in WAITS:
            tags.setdefault(ends_of(op)[0].memref, "f32")
    return seen_through(tags, every)


def seen_through(
    tags: Mapping[Value, str], operations: Iterable[Operation]
) -> dict[Value, str]:
    """Tags, and what those that are views are views of."""
    made = {op.results[0]: op.operands[0] for op in operations if is_view(op)}
    found = dict(tags)
    for tag, dtype in tags.items():
        base = tag
        while base in made:
            base = made[base]
            found.setdefault(base, dtype)
    return found


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
    move = Move.of(e, op)
    plan = move.plan(e, e.facts.bulk.refusal(op))
    e.facts.bulk.plans[id(op)] = plan
    is_free = plan.mechanism != LOOP.name
    tag = ends_of(op)[2].memref
    noted(e, op, plan, e.facts.in_flight.get(tag, 0) if is_free else 0)
    if plan.mechanism == BULK.name:
        bulk.start(e, op, move)
        return
    size, spaces = stored_bytes(move.dtype), move.spaces
    hint = f"dma_start_{move.dtype}_{spaces[0]}_to_{spaces[1]}"
    options = (plan.width,) if is_free or plan.width > size else ()
    if is_joined(op):
        hint, options = f"{hint}_joined", (plan.width if options else 0, False)
    function = e.make(hint, "dma_start", move.dtype, *spaces, *options)
    places = [piece for end in range(3) for piece in move.place(e, end)]
    count = e.narrow(e.affine(move.count))
    e.writer.line(str(call(function, *places, count, *move.sizes(e))))
    bulk.close(e, op)


def wait(e: Emitter, op: Operation) -> None:
    """``dma_wait``; the threads of a block meet after it."""
    is_bulk = bulk.wait(e, op)
    if e.spelling.in_blocks and is_joined(op):
        noted(e, op, _waiting(is_bulk, "the next wait waits for it, too"))
        return
    pending = left_open(op)
    if e.facts.bulk.ends_groups(op):
        _end_groups(e, op, pending)
    bulk.end_stores(e, op)
    if not e.spelling.in_blocks:
        noted(e, op, CopyPlan("copy", 0, "the elements are copied here"))
        return
    e.writer.line(f"{e.use('cuda')}.syncthreads()")
    newest = f" but the newest {pending}" if pending else ""
    noted(e, op, _waiting(is_bulk, f"all copies{newest} end, then a barrier"), pending)


def _waiting(is_bulk: bool, reason: str) -> CopyPlan:
    if is_bulk:
        return CopyPlan("mbarrier", 0, "those of the tag come, then a barrier")
    return CopyPlan("wait_group", 0, reason)


def _end_groups(e: Emitter, op: Operation, pending: int) -> None:
    """The call that ends all groups of copies but the newest ones."""
    (end,) = ends_of(op)
    tag = buffer_of(e, op, end.memref)
    kind = e.facts.tags.get(end.memref, "f32")
    numbers = (pending,) if pending else ()
    hint = "_".join(["dma_wait", kind, *map(str, numbers)])
    function = e.make(hint, "dma_wait", kind, *numbers)
    (count,) = (e.narrow(e.affine(e.index(v))) for v in lengths_of(op))
    where = e.narrow(e.affine(tag.at(indices_of(e, end))))
    e.writer.line(str(call(function, tag.pointer, where, count)))


def noted(e: Emitter, op: Operation, plan: CopyPlan, groups: int = 0) -> None:
    """Remember how a transfer is carried out, for the report."""
    ends = [f"%{end.memref.name or '?'}" for end in ends_of(op)]
    what = f"{ends[0]} to {ends[1]}" if op.name in STARTS else ends[0]
    planned = plan.mechanism, plan.reason, plan.width
    e.transfers.append(PlannedTransfer(op.name, what, *planned, op.location, groups))


HANDLERS: dict[str, Handler] = dict.fromkeys(STARTS, start) | dict.fromkeys(WAITS, wait)
