"""Parallel loops around programs of steps: each iteration has a team, within one block.

A block has the iterations of some neighbouring threads, and several threads for each of
them, which meet at barriers of the block.  No block waits for another.  So the columns
of a triangular solve, or the matrices of a batch, are solved side by side.

grid: iterations / lanes;  x = lane, (z, y) = member
iteration = block * lanes + lane:  its members walk the program (`blocks.phases`)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.dealing import LoopsDealt
from gpucodegen.passes.gpu.blocks.phases import Phases
from gpucodegen.passes.gpu.blocks.rows.team import Team
from gpucodegen.passes.gpu.blocks.steps import Steps
from gpucodegen.passes.gpu.facts.mapped_loops import (
    MappedLoop,
    parallel_chain,
    trip_count,
)
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.kinds.reductions.problems import unflattened
from gpucodegen.passes.gpu.kinds.stepped import distributed, is_plain
from gpucodegen.passes.gpu.kinds.thread_mapping import THREADS
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.machine.gpu.thread_groups import LaneTeams, Step, plan_lanes


@dataclass(frozen=True, slots=True)
class LanePrograms:
    """Parallel loops, and the program of steps in each of their iterations.

    ``neighbours``: how many iterations a block may have.
    """

    chain: Sequence[MappedLoop]
    body: Sequence[Operation]
    steps: Sequence[Step]
    counts: Sequence[int]
    neighbours: Sequence[int]

    @property
    def number(self) -> int:
        """How many programs."""
        return prod(self.counts)


def lane_teams(nest: Nest) -> list[Operation] | None:
    """A kernel with a team for each iteration; None where a thread is better."""
    if not nest.mapper.time_tiles:
        return None
    found = lane_programs(nest.op, nest.context, nest.mapper.surroundings)
    if found is None:
        return None
    plan = plan_lanes(
        found.number,
        found.neighbours,
        found.steps,
        device=nest.mapper.device,
        choose=nest.mapper.plans.of("lanes"),
    )
    return None if plan.members == 1 else nest.mapper.launch(_kernel(nest, found, plan))


def lane_programs(
    op: Operation, context: Sequence[Operation], surroundings: Surroundings
) -> LanePrograms | None:
    """The programs of a nest, if there are parallel loops inside of sequential ones."""
    analysis = analyse([op], context, surroundings)
    outer = parallel_chain(op, analysis, len(THREADS))
    if not outer or any(len(loop.uppers) > 1 for loop in outer):
        return None
    if any(loop.operation.name != "affine.for" for loop in outer):
        return None
    op, analysis = distributed(op, context, surroundings, around=len(outer))
    chain = parallel_chain(op, analysis, len(outer))
    body = inner_operations(chain[-1].operation)
    counts = [trip_count(loop).constant for loop in chain]
    known = [count for count in counts if count]
    if len(known) < len(counts) or not all(is_plain(o, analysis) for o in body):
        return None
    steps = Steps(analysis, chain[-1].iv).of(body)
    if not any(step.extents and step.times > 1 for step in steps):
        return None
    most = min(WARP, known[-1])
    if _steer(body, analysis, {loop.iv for loop in chain}):
        most = 1
    divisors = [n for n in range(1, most + 1) if known[-1] % n == 0]
    return LanePrograms(chain, body, steps, known, divisors)


def _steer(
    operations: Sequence[Operation], analysis: NestAnalysis, values: set[Value]
) -> bool:
    """Whether values decide how a team walks, so that others would walk otherwise."""
    for op in operations:
        is_dealt = op.name == "affine.for" and analysis.is_parallel(op)
        if op.regions and not is_dealt:
            bodies = (b.operations for region in op.regions for b in region.blocks)
            if not values.isdisjoint(op.operands):
                return True
            if any(_steer(body, analysis, values) for body in bodies):
                return True
        elif not values.isdisjoint(op.used):
            values |= {*op.results}
    return False


def _kernel(nest: Nest, found: LanePrograms, plan: LaneTeams) -> KernelBody:
    """The kernel of a plan."""
    b = Builder(nest.op.location)
    warps, inside = plan.positions
    lane = thread_index(b, "thread_id", "x", "lane")
    members = [
        (Index.of(thread_index(b, "thread_id", name, f"t{name}")), extent)
        for name, extent in (("z", warps), ("y", inside))
    ]
    block = thread_index(b, "block_id", "x", "b")
    counts = [Index.of(count) for count in found.counts]
    number = Index.of(block) * plan.lanes + lane
    values, _ = unflattened(b, found.chain, counts, number)
    around = nest.mapper.surroundings
    analysis = analyse(found.body, nest.context, around, fine=True)
    team = Team(tuple(members))
    inner = Builder(nest.op.location)
    Phases(analysis, team, LoopsDealt(analysis, team)).operations(inner, found.body)
    program = [substitute_values(op, values) for op in inner.operations]
    blocks = Index.of(found.number // plan.lanes)
    return KernelBody(
        (*b.operations, *program),
        (blocks, Index.of(1), Index.of(1)),
        (plan.lanes, inside, warps),
    )
