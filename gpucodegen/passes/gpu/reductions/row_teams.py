"""A block, or a warp, for each iteration of the parallel loops.

grid: rows / teams of a block;  team = thread / size, member = thread mod size
row = block * teams + team:  all members run the program together (`blocks.phases`)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.dialects.shared.allocations import ALLOCATIONS
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.deal import Deal, Row, row_of
from gpucodegen.passes.gpu.blocks.phases import Phases
from gpucodegen.passes.gpu.blocks.program import with_buffers_first
from gpucodegen.passes.gpu.blocks.reduce import extent
from gpucodegen.passes.gpu.blocks.team import Team
from gpucodegen.passes.gpu.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.gpu.kept_elements import KeptElements
from gpucodegen.passes.gpu.kinds.thread_mapping import trip_count
from gpucodegen.passes.gpu.mapped_loops import MappedLoop
from gpucodegen.passes.gpu.reductions.rows import RowProgram
from gpucodegen.passes.gpu.side_by_side import shared_width
from gpucodegen.passes.loops.framework.chains import chain_of
from gpucodegen.tiling.machine.gpu.reductions import UNKNOWN, Rows, plan_rows


def team_per_row(program: RowProgram) -> KernelBody:
    """The kernel of a program whose reductions are free."""
    mapper = program.nest.mapper
    problem = problem_of(program)
    plan = plan_rows(problem)
    b = Builder(program.nest.op.location)
    thread = thread_index(b, "thread_id", "x", "t")
    block = thread_index(b, "block_id", "x", "bx")
    member, number = thread, Index.of(block)
    if plan.count > 1:
        member = b.index(Index.of(thread) % plan.size, "member")
        number = number * plan.count + Index.of(thread) // plan.size
    counts = [trip_count(loop) for loop in program.chain]
    rows = _product(counts)
    values, limits = unflattened(b, program.chain, counts, number)
    known = rows.constant is not None and rows.constant % plan.count == 0
    inside = [] if known else [rows - 1 - number]
    buffers, body = with_buffers_first(program.body)
    analysis = analyse([*buffers, *body], program.nest.context, mapper.surroundings)
    kept = KeptElements(mapper.surroundings.aliases, is_on=plan.keeps)
    team = Team(member, plan.size, is_warp=plan.count > 1)
    deal = Deal(team, mapper.definitions, problem.width, kept)

    def run(inner: Builder) -> None:
        Phases(analysis, deal, program.order).operations(inner, body)
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


def _alive(op: Operation, dead: set[int]) -> list[Operation]:
    """The operation without the stores in it that are left out."""
    if not dead:
        return [op]
    return rewrite_bottom_up(op, lambda o: [] if id(o) in dead else None)


def _product(counts: Sequence[Index]) -> Index:
    total = Index.of(1)
    for count in counts:
        total = total * count
    return total


def unflattened(
    b: Builder, chain: Sequence[MappedLoop], counts: Sequence[Index], number: Index
) -> tuple[dict[Value, Value], list[Index]]:
    """The variables of loops at a row's number, and what is >= 0 where it exists."""
    values: dict[Value, Value] = {}
    limits: list[Index] = []
    rest = number
    for loop, count in reversed([*zip(chain, counts, strict=True)]):
        outermost = loop is chain[0]
        here = rest if outermost else rest - rest // count * count
        iv = b.index(loop.lower + here * loop.step, loop.iv.name)
        values[loop.iv] = iv
        limits += [upper - 1 - iv for upper in loop.uppers[1:]]
        rest = rest if outermost else rest // count
    return values, limits


def problem_of(program: RowProgram) -> Rows:
    """What the plan depends on; extents that are not known count as many."""
    chains = [chain_of(op) for op in program.body if op.name == "affine.for"]
    lengths = [prod(extent(op) or UNKNOWN for op in chain) for chain in chains]
    alone = any(o.name in ALLOCATIONS for op in program.body for o in op.walk())
    rows = UNKNOWN if program.rows is None else max(program.rows, 1)
    innermost = [row_of(chain[-1]) for chain in chains]
    are_alike = all(_bounds(row) == _bounds(innermost[0]) for row in innermost)
    is_single = all(len(chain) == 1 for chain in chains)
    return Rows(
        rows,
        max(lengths, default=1),
        width=common_width(innermost, program.nest.mapper.definitions),
        phases=len(lengths) or 1,
        alone=alone,
        can_keep=len(chains) > 1
        and is_single
        and are_alike
        and bool(innermost[0].trips),
    )


def _bounds(row: Row) -> tuple[object, ...]:
    return row.lowers, row.uppers, row.step


def common_width(rows: Sequence[Row], definitions: dict[Value, Operation]) -> int:
    """Neighbours that a member takes at once in all loops of a program."""
    wishes: list[int] = []
    for row in rows:
        if row.step != 1 or row.trips is None:
            return 1
        (lower,) = row.lowers
        wish = shared_width(row.body, row.iv, lower, definitions)
        while wish > 1 and row.trips % wish:
            wish //= 2
        wishes += [wish] if wish else []
    width = min(wishes, default=1)
    return width if all((row.trips or 0) % width == 0 for row in rows) else 1
