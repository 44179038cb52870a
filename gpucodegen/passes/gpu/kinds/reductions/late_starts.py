"""Reductions that add what they start from at their end.

    s = x[i];  for j { s = s OP a[j] }   =>   t = neutral;  for j { t = t OP a[j] }
                                              s = x[i] OP t

Legal where the order of terms is free.  What is loaded moves behind the loop with it.
"""

from __future__ import annotations

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.blocks.phases import STORES
from gpucodegen.passes.gpu.blocks.rows.free_reductions import Reduction
from gpucodegen.passes.gpu.blocks.rows.reduce import combination, neutral
from gpucodegen.passes.gpu.kinds.reductions.program import RowProgram


def with_late_starts(program: RowProgram) -> tuple[Operation, ...]:
    """The body of a program whose only structure is one free reduction."""
    body = program.body
    structured = [op for op in body if op.regions]
    if len(structured) != 1 or [r.loops[0] for r in program.reductions] != structured:
        return body
    (reduction,), (loop,) = program.reductions, structured
    at = body.index(loop)
    before, after = body[:at], body[at + 1 :]
    if not reduction.is_free or any(op.name in STORES for op in before):
        return body
    inner = (op for op in loop.walk() if op is not loop)
    needed = {v for op in (*before, *inner) for v in op.operands}
    starts = {*reduction.initial} - needed
    late = [op for op in before if op.name == "affine.load" and op.result in starts]
    if not late:
        return body
    return (
        *(op for op in before if op not in late),
        *_started(reduction, late),
        *after,
    )


def _started(reduction: Reduction, late: list[Operation]) -> list[Operation]:
    """The loop from neutral elements on, and what is combined with its totals."""
    loop = reduction.loops[0]
    b = Builder(loop.location)
    start = [neutral(b, a) for a in reduction.totals]
    totals = [result.renewed() for result in reduction.results]
    kept = loop.operands[: len(loop.operands) - len(start)]
    assert affine.For(loop).inits == loop.operands[len(kept) :]
    b.operations += [loop.with_(operands=(*kept, *start), results=tuple(totals)), *late]
    for a, initial, total, result in zip(
        reduction.totals, reduction.initial, totals, reduction.results, strict=True
    ):
        b.operations.append(combination(a, initial, total, result))
    return b.operations
