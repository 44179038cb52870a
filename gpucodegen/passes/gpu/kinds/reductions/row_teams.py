"""A block, or a warp, for each iteration of the parallel loops.

grid: rows / teams of a block;  team = thread / size, member = thread mod size
row = block * teams + team:  all members run the program together (`blocks.phases`)
the rows of a block end together (`row_results`)
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.dealing import RowsDealt
from gpucodegen.passes.gpu.blocks.phases import Phases
from gpucodegen.passes.gpu.blocks.program import with_buffers_first
from gpucodegen.passes.gpu.blocks.rows.deal import Deal
from gpucodegen.passes.gpu.blocks.rows.kept_elements import KeptElements
from gpucodegen.passes.gpu.blocks.rows.team import Team
from gpucodegen.passes.gpu.facts.mapped_loops import trip_count
from gpucodegen.passes.gpu.kinds.reductions.problems import (
    product_of,
    rows_of,
    unflattened,
)
from gpucodegen.passes.gpu.kinds.reductions.program import RowProgram
from gpucodegen.passes.gpu.kinds.reductions.row_results import RowResults
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.reductions import Rows, RowTeams, plan_rows


def team_per_row(program: RowProgram) -> KernelBody:
    """The kernel of a program that a team shares.

    Where members have to meet in memory, a row has a block of its own.
    """
    problem, mapper = rows_of(program), program.nest.mapper
    device, choose = mapper.device, mapper.plans.of("rows")
    kernel = _kernel(program, problem, plan_rows(problem, device, choose))
    if kernel is not None:
        return kernel
    problem = replace(problem, alone=True)
    kernel = _kernel(program, problem, plan_rows(problem, device, choose))
    assert kernel is not None
    return kernel


def _kernel(program: RowProgram, problem: Rows, plan: RowTeams) -> KernelBody | None:
    """The kernel of a plan; None if members meet while the block has several teams."""
    mapper = program.nest.mapper
    b = Builder(program.nest.op.location)
    thread = thread_index(b, "thread_id", "x", "t")
    block = thread_index(b, "block_id", "x", "bx")
    member, number = thread, Index.of(block)
    results, team = RowResults.of(b, program, plan), Index.of(0)
    if plan.count > 1:
        member = b.index(Index.of(thread) % plan.size, "member")
        team = Index.of(b.index(Index.of(thread) // plan.size, "team"))
        number = number * plan.count + team
    counts = [trip_count(loop) for loop in program.chain]
    rows = product_of(counts)
    values, limits = unflattened(b, program.chain, counts, number)
    known = rows.constant is not None and rows.constant % plan.count == 0
    inside = [] if known else [rows - 1 - number]
    buffers, body = with_buffers_first(results.row(team))
    analysis = analyse(
        [*results.buffers, *buffers, *body],
        program.nest.context,
        mapper.surroundings,
        fine=True,
    )
    kept = KeptElements(mapper.surroundings.aliases, plan.keeps, _written(body))
    members = Team(((Index.of(member), plan.size),), is_warp=plan.count > 1)
    deal = Deal(members, program.nest.definitions, problem.width, kept)

    def run(inner: Builder) -> None:
        dealing = RowsDealt(analysis, deal, program.order)
        Phases(analysis, members, dealing).operations(inner, body)
        kept.drop([op.result for op in buffers])

    made = Builder(b.location)
    made.guard([*inside, *limits], run)
    meets = any(o.name == "gpu.barrier" for op in made.operations for o in op.walk())
    if meets and plan.count > 1:
        return None
    results.store(made, Index.of(thread), Index.of(block))
    alive = [o for op in made.operations for o in _alive(op, kept.dead)]
    operations = [substitute_values(op, values) for op in alive]
    used = {value for op in operations for o in op.walk() for value in o.used}
    buffers = [op for op in buffers if op.result in used]
    blocks = (rows + (plan.count - 1)) // plan.count
    grid = (blocks, Index.of(1), Index.of(1))
    return KernelBody(
        (*b.operations, *buffers, *operations), grid, (plan.threads, 1, 1)
    )


def _written(operations: Sequence[Operation]) -> frozenset[Value]:
    """The buffers that operations store to."""
    inner = (o for op in operations for o in op.walk())
    return frozenset(o.operands[1] for o in inner if o.name == "affine.store")


def _alive(op: Operation, dead: set[int]) -> list[Operation]:
    """The operation without the stores in it that are left out."""
    if not dead:
        return [op]
    return rewrite_bottom_up(op, lambda o: [] if id(o) in dead else None)
