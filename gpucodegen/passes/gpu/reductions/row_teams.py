"""A block, or a warp, for each iteration of the parallel loops.

grid: rows / teams of a block;  team = thread / size, member = thread mod size
row = block * teams + team:  all members run the program together (`blocks.phases`)
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.allocations import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.phases import Phases
from gpucodegen.passes.gpu.blocks.team import Team
from gpucodegen.passes.gpu.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.gpu.kinds.thread_mapping import trip_count
from gpucodegen.passes.gpu.mapped_loops import MappedLoop
from gpucodegen.passes.gpu.reductions.rows import RowProgram
from gpucodegen.tiling.machine.gpu.reductions import UNKNOWN, Rows, RowTeams, plan_rows


def team_per_row(program: RowProgram) -> KernelBody:
    """The kernel of a program whose reductions are free."""
    teams = plan_rows(problem_of(program))
    b = Builder(program.nest.op.location)
    thread = thread_index(b, "thread_id", "x", "t")
    block = thread_index(b, "block_id", "x", "bx")
    member, number = thread, Index.of(block)
    if teams.count > 1:
        member = b.index(Index.of(thread) % teams.size, "member")
        number = number * teams.count + Index.of(thread) // teams.size
    counts = [trip_count(loop) for loop in program.chain]
    rows = _product(counts)
    values, limits = unflattened(b, program.chain, counts, number)
    known = rows.constant is not None and rows.constant % teams.count == 0
    inside = [] if known else [rows - 1 - number]
    team = Team(member, teams.size, is_warp=teams.count > 1)

    def run(inner: Builder) -> None:
        Phases(program.analysis, team, program.order).operations(inner, program.body)

    made = Builder(b.location)
    made.guard([*inside, *limits], run)
    body = [substitute_values(op, values) for op in made.operations]
    blocks = (rows + (teams.count - 1)) // teams.count
    grid = (blocks, Index.of(1), Index.of(1))
    return KernelBody((*b.operations, *body), grid, (teams.threads, 1, 1))


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
    lengths = [
        prod(extent(inner) or UNKNOWN for inner in op.walk() if inner.name == _FOR)
        for op in program.body
        if op.name == _FOR
    ]
    alone = any(o.name in ALLOCATIONS for op in program.body for o in op.walk())
    rows = UNKNOWN if program.rows is None else max(program.rows, 1)
    return Rows(rows, max(lengths, default=1), phases=len(lengths) or 1, alone=alone)


def extent(op: Operation) -> int | None:
    """How often a loop runs, if that is known."""
    loop = affine.For(op)
    if loop.constant_bounds is None:
        return None
    lower, upper = loop.constant_bounds
    return max(0, -(-(upper - lower) // loop.step))


_FOR = "affine.for"
