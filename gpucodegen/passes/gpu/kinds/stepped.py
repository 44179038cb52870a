"""Sequential loops around parallel ones, in one kernel with barriers between its steps.

One block where that is enough for the parallel loops; else blocks that are all resident
and meet at barriers of the grid.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I32, MemRefType
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.contraction.gpu.forms import paying_contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.dealing import LOADS, LoopsDealt
from gpucodegen.passes.gpu.blocks.phases import STORES, Phases
from gpucodegen.passes.gpu.blocks.rows.team import Team
from gpucodegen.passes.gpu.blocks.spread import parallel_chain
from gpucodegen.passes.gpu.blocks.steps import Steps
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.loops.order.distribution import distribute
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect
from gpucodegen.tiling.machine.gpu.thread_groups import UNKNOWN, ThreadGroup, plan_steps

STRUCTURE = frozenset({"affine.for", "affine.if"})
PLAIN = STORES | LOADS | {"affine.yield"}
"""Operations that each thread may run beside those without effects."""
ROUNDS = 3
"""How often loops are distributed: each time one level further in."""


def stepped(nest: Nest) -> list[Operation] | None:
    """A kernel whose threads walk the sequential loops together."""
    op = nest.op
    if not nest.mapper.time_tiles:
        return None
    if op.name != "affine.for" or op.results or not is_plain(op, nest.analysis):
        return None
    made, _ = distributed(op, nest.context, nest.mapper.surroundings)
    nest = nest.of(made)
    if nest.mapper.contractions and _multiplies(nest.op, nest.analysis):
        return None
    steps = Steps(nest.analysis, assumed=UNKNOWN).of([nest.op])
    if not any(step.extents for step in steps):
        return None
    mapper = nest.mapper
    device, choose = mapper.device, mapper.plans.of("team")
    team = mapper.team or plan_steps(steps, device=device, choose=choose)
    return _launched(nest, team)


def distributed(
    op: Operation,
    context: Sequence[Operation],
    surroundings: Surroundings,
    around: int = 0,
) -> tuple[Operation, NestAnalysis]:
    """The nest with parallel loops around other parallel loops taken apart.

    An outermost loop stays one, and so do those ``around`` programs of their own.
    """
    analysis = analyse([op], context, surroundings)
    for _ in range(ROUNDS):
        is_whole = not around and parallel_chain(op, analysis)
        made = op if is_whole else _distributed(op, analysis, around)
        if made is op:
            break
        op, analysis = made, analyse([made], context, surroundings)
    return op, analysis


def is_plain(op: Operation, analysis: NestAnalysis) -> bool:
    """Whether all threads may walk it: loops, conditions, accesses, arithmetic.

    Memory is of one thread, so it may only be made inside of parallel loops.
    """
    if op.name == "affine.for" and analysis.is_parallel(op):
        return True
    if op.name not in STRUCTURE:
        made = any(isinstance(value.type, MemRefType) for value in op.results)
        return not made and (op.name in PLAIN or has_no_effect(op))
    bodies = (block for region in op.regions for block in region.blocks)
    return all(is_plain(o, analysis) for b in bodies for o in b.operations)


def _distributed(op: Operation, analysis: NestAnalysis, around: int) -> Operation:
    """The nest with parallel loops around other parallel loops taken apart."""

    def rewritten(operations: Sequence[Operation], around: int) -> list[Operation]:
        return [new for inner in operations for new in one(inner, around)]

    def one(inner: Operation, around: int) -> list[Operation]:
        chain = parallel_chain(inner, analysis)
        if chain and not around:
            last = chain[-1].body.operations
            has_more = any(parallel_chain(o, analysis) for o in last)
            return distribute(inner, analysis) if has_more else [inner]
        if inner.name not in STRUCTURE:
            return [inner]
        regions = tuple(
            type(region)(
                tuple(
                    b.with_operations(rewritten(b.operations, max(0, around - 1)))
                    for b in region.blocks
                )
            )
            for region in inner.regions
        )
        same = all(
            old.operations == new.operations
            for before, after in zip(inner.regions, regions, strict=True)
            for old, new in zip(before.blocks, after.blocks, strict=True)
        )
        return [inner if same else inner.with_(regions=regions)]

    (made,) = one(op, around)
    return made


def _multiplies(op: Operation, analysis: NestAnalysis) -> bool:
    """Whether a contraction is among the parallel nests: its kernel is better."""
    if parallel_chain(op, analysis):
        return paying_contraction(op) is not None
    bodies = (block for region in op.regions for block in region.blocks)
    return any(_multiplies(o, analysis) for body in bodies for o in body.operations)


def _launched(nest: Nest, plan: ThreadGroup) -> list[Operation]:
    """The kernel, and the word at which its blocks meet."""
    location = nest.op.location
    before, after, b = Builder(location), Builder(location), Builder(location)
    *_, warps, lanes = plan.positions
    block = (lanes, warps, 1)
    positions = [
        (Index.of(thread_index(b, "thread_id", name, f"t{name}")), extent)
        for name, extent in (("y", block[1]), ("x", block[0]))
    ]
    arrived: Value | None = None
    if plan.blocks > 1:
        arrived = before.allocate("memref.alloc", MemRefType((1,), I32), "arrived")
        before.store(before.constant(0, I32), arrived, [0])
        after.add("memref.dealloc", (arrived,))
        number = thread_index(b, "block_id", "x", "b")
        positions.insert(0, (Index.of(number), plan.blocks))
    team = Team(tuple(positions), arrived=arrived)
    around = nest.mapper.surroundings
    analysis = analyse([nest.op], nest.context, around, fine=True)
    Phases(analysis, team, LoopsDealt(analysis, team)).operations(b, [nest.op])
    grid = (Index.of(plan.blocks), Index.of(1), Index.of(1))
    kernel = KernelBody(tuple(b.operations), grid, block)
    return [*before.operations, *nest.mapper.launch(kernel), *after.operations]
