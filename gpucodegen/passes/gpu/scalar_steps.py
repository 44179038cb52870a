"""Scalar steps: updates of single elements between the kernels of a host loop.

    a = load x[]                              launch step(x, y, z):
    b = load y[]                                a = load x[]
    c = divf a, b               =>              b = load y[]
    store c, z[]                                store (divf a, b), z[]

On the host each load and store would be a transfer that waits for the device; a kernel
of one thread is one launch that does not wait.  A run of such operations becomes a
kernel if the host needs none of the numbers that it loads.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.outlining.kernel_operations import LOADS, STORES, is_step

Steps = Mapping[Operation, Sequence[Operation]]
"""Runs by their first operation."""


def with_scalar_steps(
    operations: Sequence[Operation],
) -> tuple[Sequence[Operation], Steps]:
    """The operations with each run together, behind those that the host keeps."""
    made: list[Operation] = []
    steps: dict[Operation, Sequence[Operation]] = {}
    at = 0
    while at < len(operations):
        end = _end(operations, at)
        run = operations[at:end]
        step = _step(run, operations[end:])
        if step:
            made += _kept(run, step, operations[end:])
            values: dict[Value, Value] = {}
            copied = [clone(op, values) for op in step]
            steps[copied[0]] = copied
            made += copied
        else:
            made += run or operations[at : at + 1]
        at = max(end, at + 1)
    return made, steps


def _end(operations: Sequence[Operation], start: int) -> int:
    """The end of the run that starts at a position."""
    others = (n for n in range(start, len(operations)) if not _may_join(operations[n]))
    return next(others, len(operations))


def _may_join(op: Operation) -> bool:
    if op.name in LOADS | STORES:
        return is_step(op)
    is_pure = has_no_effect(op) and not op.regions
    has_buffers = any(
        isinstance(v.type, MemRefType) for v in (*op.operands, *op.results)
    )
    return op.name in ALLOCATIONS or (is_pure and not has_buffers)


def _step(run: Sequence[Operation], rest: Sequence[Operation]) -> Sequence[Operation]:
    """The stores of a run and what they depend on, or none if the host has to stay."""
    step = _slice(run, [op for op in run if op.name in STORES])
    others = [op for op in run if op not in step]
    first = next((n for n, op in enumerate(run) if op.name in STORES), len(run))
    reads_later = any(op.name in LOADS and op in others for op in run[first:])
    loaded = _following(step)
    used = {v for op in (*others, *rest) for o in op.walk() for v in o.used}
    if reads_later or not used.isdisjoint(loaded):
        return []
    return step


def _slice(run: Sequence[Operation], roots: Sequence[Operation]) -> list[Operation]:
    """The operations of a run that roots depend on, and the roots."""
    kept, needed = list[Operation](), set[Value]()
    for op in reversed(run):
        is_made = op.name not in ALLOCATIONS and not needed.isdisjoint(op.results)
        if op in roots or is_made:
            kept.append(op)
            needed.update(op.operands)
    return kept[::-1]


def _following(step: Sequence[Operation]) -> set[Value]:
    """The values of a step that follow from loads."""
    found: set[Value] = set()
    for op in step:
        if op.name in LOADS or not found.isdisjoint(op.operands):
            found.update(op.results)
    return found


def _kept(
    run: Sequence[Operation], step: Sequence[Operation], rest: Sequence[Operation]
) -> list[Operation]:
    """What the host runs before a step: allocations, and numbers that it needs."""
    others = [op for op in run if op not in step]
    used = {v for op in (*others, *rest) for o in op.walk() for v in o.used}
    needed = [op for op in step if not used.isdisjoint(op.results)]
    return [op for op in run if op in others or op in _slice(step, needed)]
