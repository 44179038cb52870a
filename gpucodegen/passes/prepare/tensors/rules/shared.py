"""Parallel loops over tensors: each iteration puts its part into the shared result.

An iteration sees the tensor as it was before the loop.  Where it takes out just the
part that it puts in, the part is updated in place; else the loop writes to a copy.
"""

from __future__ import annotations

from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    Operation,
    Region,
    Value,
    segment_counts,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.prepare.tensors.analysis.conflicts import Write
from gpucodegen.passes.prepare.tensors.analysis.effects import reads
from gpucodegen.passes.prepare.tensors.analysis.places import Buffer, Storage
from gpucodegen.passes.prepare.tensors.frames import Copied
from gpucodegen.passes.prepare.tensors.rewriter import Rewriter
from gpucodegen.passes.prepare.tensors.rules.slices import put

_INSERT = "tensor.parallel_insert_slice"


def forall(r: Rewriter, b: Builder, op: Operation) -> None:
    """``scf.forall``: the same without results."""
    count = len(op.results)
    first, rank = len(op.operands) - count, len(op.body.arguments) - count
    targets: dict[Value, Buffer] = {}
    settled: set[int] = set()
    for n, output in enumerate(op.body.arguments[rank:]):
        targets[output] = _target(r, b, op, first + n, settled, output)

    def finish(inner: Builder, last: Operation) -> None:
        for insert in last.body.operations:
            source, target = insert.operands[:2]
            part, into = r.conflicts.part(insert), targets[target]
            held = r.buffers[source]
            if not held.is_at(into, part) and not held.misses(into, its=part):
                held = r.copied(inner, source)
            put(inner, held, into, part)
        inner.operations.append(last.with_body(()))

    block = r.body(op.body, op.body.arguments[:rank], finish)
    sizes = op.numbers(OPERAND_SEGMENTS)[:3]
    rebuilt = op.with_(
        operands=op.operands[:first], results=(), regions=(Region((block,)),)
    )
    segments = segment_counts(*sizes, 0)
    b.operations.append(rebuilt.with_attribute(OPERAND_SEGMENTS, segments))
    for result, target in zip(op.results, targets.values(), strict=True):
        r.bind(result, target)


def _target(
    r: Rewriter,
    b: Builder,
    op: Operation,
    position: int,
    settled: set[int],
    seen: Value,
) -> Buffer:
    """Where the result is put together; ``seen`` is bound to what iterations see."""
    tensor = op.operands[position]
    before = r.buffers[tensor]
    if _takes_its_own_part(r, seen):
        into = r.writable(b, Write(op, position, settled=frozenset(settled)))
        r.bind(seen, into)
    else:
        reason = "iterations read more of it than the part that they put in"
        r.copies.append(Copied(op, tensor, reason))
        into = r.copied(b, tensor)
        r.bind(seen, Buffer(before.value, Storage(writable=False), before.steps))
    settled.update({position} if into is not before else ())
    return into


def _takes_its_own_part(r: Rewriter, seen: Value) -> bool:
    """Whether all that is read of the shared tensor is the part that is put in."""
    uses = [use for use in r.conflicts.order.uses.get(seen, ()) if reads(use)]
    parts = {
        r.conflicts.part(use.op)
        for use in uses
        if use.op.name in (_INSERT, "tensor.extract_slice")
    }
    known = sum(use.op.name in (_INSERT, "tensor.extract_slice") for use in uses)
    return known == len(uses) and len(parts) <= 1
