"""Tensors that branches choose: they lie in one buffer, whichever branch runs."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.operation import Operation, Region, Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.rewriter import TENSORS, Rewriter, refusal
from gpucodegen.passes.prepare.tensors.rules.loops import End, leave


def chosen(r: Rewriter, b: Builder, op: Operation) -> None:
    """``scf.if`` and the like: where all branches yield one place, nothing moves."""
    if not any(isinstance(v.type, TENSORS) for v in op.results):
        b.operations.append(op.with_(regions=tuple(map(r.region, op.regions))))
        return
    if any(len(region.blocks) != 1 for region in op.regions):
        raise refusal(op, "Give each region one block, or write it on memrefs")
    opened = [r.opened(region.blocks[0]) for region in op.regions]
    yields = [branch.block.operations[-1].operands for branch in opened]
    ends = [_end(r, b, op, n, [y[n] for y in yields]) for n in range(len(op.results))]
    blocks = [
        r.closed(branch, None, lambda inner, last: leave(r, inner, last, ends))
        for branch in opened
    ]
    regions = tuple(Region((block,)) for block in blocks)
    results = tuple(v for v in op.results if not isinstance(v.type, TENSORS))
    b.operations.append(op.with_(results=results, regions=regions))
    for result, end in zip(op.results, ends, strict=True):
        if end is not None:
            r.bind(result, end.buffer)


def _end(
    r: Rewriter, b: Builder, op: Operation, n: int, values: Sequence[Value]
) -> End | None:
    """Where a result lies: the place that all branches yield, or a new one."""
    if not isinstance(op.results[n].type, TENSORS):
        return None
    first, *others = (r.buffers[value] for value in values)
    if all(other.is_at(first) for other in others):
        order = r.conflicts.order
        around = order.around[op]
        found = (
            r.buffers[m]
            for m in first.storage.members
            if order.scope[m] in around and r.buffers[m].is_at(first)
        )
        outside = next(found, None)
        if outside is not None:
            return End(outside)
    return End(r.allocate_outside(b, op, values[0]))
