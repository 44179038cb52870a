"""The kernel of a loop of updates whose blocks have cells of their own.

own[..][copy] = what changes nothing            (in shared memory, all threads)
barrier
for pieces of the iterations, block by block:   each thread some neighbours
  atomic  own[f(i)][thread mod copies] OP= x    (where f(i) is a cell, and
  atomic  C[f(i)] OP= x                          elsewhere as without such cells)
barrier
atomic  C[..] OP= own[..][0] OP own[..][1] ..
"""

from __future__ import annotations

from gpucodegen.dialects.gcg import update_notes_of, with_update_note
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.kinds.scatters.own_cells import OwnCells
from gpucodegen.passes.gpu.kinds.scatters.pieces import Pieces
from gpucodegen.passes.gpu.kinds.scatters.problem import Updates, updates_of
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.loops.scatter.atomic_updates import UPDATE
from gpucodegen.tiling.machine.gpu.product_plan import device_for, room_of
from gpucodegen.tiling.machine.gpu.scatters import (
    ScatterPlan,
    blocks_of,
    comparison,
    plan_scatter,
)


def scatters_of(nest: Nest) -> list[Operation] | None:
    """The kernel of a loop of updates, if cells of their own are better for blocks.

    Else it is what it is without them, with a note of the reason.
    """
    found, mapper = updates_of(nest), nest.mapper
    if found is None or any(update_notes_of([nest.op])):
        return None
    if isinstance(found, str):
        return _in_global(nest, found)
    room, device = room_of(device_for(mapper.arch)), mapper.device
    choose = mapper.plans.of("scatter")
    plan = plan_scatter(found.loop, room, device=device, choose=choose)
    reason = comparison(plan, found.loop, room, device)
    if not plan.owns:
        return _in_global(nest, reason)
    blocks = blocks_of(plan, found.iterations, device)
    return mapper.launch(_kernel(found, plan, blocks, reason))


def _in_global(nest: Nest, reason: str) -> list[Operation]:
    """What the nest becomes by another kind, with a note."""

    def noted(op: Operation) -> list[Operation] | None:
        return (
            [with_update_note(op, "global memory", reason)]
            if op.name == UPDATE
            else None
        )

    (op,) = rewrite_bottom_up(nest.op, noted)
    return nest.mapper.nest(nest.of(op))


def _kernel(found: Updates, plan: ScatterPlan, blocks: int, reason: str) -> KernelBody:
    b = Builder(found.sweep.loop.operation.location)
    thread = thread_index(b, "thread_id", "x", "tx")
    block = thread_index(b, "block_id", "x", "bx")
    copy = b.index(Index.of(thread) % plan.copies, "copy")
    cells = [
        OwnCells.allocated(b, buffer, kind, plan.copies, copy)
        for buffer, kind in found.kinds.items()
    ]
    for own in cells:
        own.fill(b, thread, plan.threads)
    b.add("gpu.barrier")
    sweep = found.with_updates({own.buffer: own.update for own in cells})
    Pieces(sweep, plan).walk(b, thread, block, blocks)
    b.add("gpu.barrier")
    for own in cells:
        own.send(b, thread, plan.threads, reason)
    grid = Index.of(blocks), Index.of(1), Index.of(1)
    return KernelBody((*sweep.views, *b.operations), grid, (plan.threads, 1, 1))
