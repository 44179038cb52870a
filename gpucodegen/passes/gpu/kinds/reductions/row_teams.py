"""A block, or a warp, for each iteration of the parallel loops.

grid: rows / teams of a block;  team = thread / size, member = thread mod size
row = block * teams + team:  all members run the program together (`blocks.phases`)
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
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, thread_index
from gpucodegen.tiling.machine.gpu.reductions import Rows, RowTeams, plan_rows


def team_per_row(program: RowProgram) -> KernelBody:
    """The kernel of a program that a team shares.

    Where members have to meet in memory, a row has a block of its own.
    """
    problem = rows_of(program)
    plan = plan_rows(problem)
    kernel = _kernel(program, problem, plan)
    meets = any(o.name == "gpu.barrier" for op in kernel.operations for o in op.walk())
    if plan.count == 1 or not meets:
        return kernel
    problem = replace(problem, alone=True)
    return _kernel(program, problem, plan_rows(problem))


def _kernel(program: RowProgram, problem: Rows, plan: RowTeams) -> KernelBody:
    mapper = program.nest.mapper
    b = Builder(program.nest.op.location)
    thread = thread_index(b, "thread_id", "x", "t")
    block = thread_index(b, "block_id", "x", "bx")
    member, number = thread, Index.of(block)
    if plan.count > 1:
        member = b.index(Index.of(thread) % plan.size, "member")
        number = number * plan.count + Index.of(thread) // plan.size
    counts = [trip_count(loop) for loop in program.chain]
    rows = product_of(counts)
    values, limits = unflattened(b, program.chain, counts, number)
    known = rows.constant is not None and rows.constant % plan.count == 0
    inside = [] if known else [rows - 1 - number]
    buffers, body = with_buffers_first(program.body)
    analysis = analyse(
        [*buffers, *body], program.nest.context, mapper.surroundings, fine=True
    )
    kept = KeptElements(mapper.surroundings.aliases, plan.keeps, _written(body))
    team = Team(((Index.of(member), plan.size),), is_warp=plan.count > 1)
    deal = Deal(team, program.nest.definitions, problem.width, kept)

    def run(inner: Builder) -> None:
        dealing = RowsDealt(analysis, deal, program.order)
        Phases(analysis, team, dealing).operations(inner, body)
        kept.drop([op.result for op in buffers])

    made = Builder(b.location)
    made.guard([*inside, *limits], run)
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
