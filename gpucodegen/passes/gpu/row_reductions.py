"""Row reduction kernels: a block or a warp per iteration of the parallel loops.

grid: rows / teams of a block;  team = thread / size, member = thread mod size
row = block * teams + team:  all members run the program together (`barrier_phases`)

`with_epilogue_initialisation` adds the initial value at the end, legal where the order
of terms is free; its load moves behind the loop, too:

    s = x[i];  for j { s = s OP a[j] }   =>   t = neutral;  for j { t = t OP a[j] }
                                              s = x[i] OP t

`RowResults` lets one thread finish several rows of a block by wide stores.  The end of
the program consists of its last simple operations, if they store to neighbours in
neighbouring rows; rows are independent, so the order of their stores is free:

    v[team] = the values that the end of a row uses     by the first member of each team
    barrier
    out[row .. row + width - 1] = f(v[...])             ``width`` rows by each thread
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import takewhile
from math import gcd

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, as_map
from gpucodegen.passes.gpu.block_programs import with_buffers_first
from gpucodegen.passes.gpu.blocks.barrier_phases import STORES, Phases
from gpucodegen.passes.gpu.blocks.row_distribution import (
    Interleaved,
    KeptElements,
    LaneGroup,
    RowDistribution,
    shared_width,
)
from gpucodegen.passes.gpu.blocks.thread_reductions import (
    Reduction,
    combination,
    neutral,
)
from gpucodegen.passes.gpu.blocks.work_distribution import RowShares
from gpucodegen.passes.gpu.nest_mapping import trip_count
from gpucodegen.passes.gpu.reduction_problems import (
    RowProgram,
    grid_extents,
    placed,
    rows_of,
)
from gpucodegen.passes.outlining.gpu_launch import SHARED, KernelBody, thread_index
from gpucodegen.passes.outlining.vector_width import address_of
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.reductions import Rows, RowTeams, plan_rows

TOGETHER = 4
"""Elements of a member in flight at least: where they are not side by side, too."""


def with_epilogue_initialisation(program: RowProgram) -> tuple[Operation, ...]:
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
    """The loop with neutral initial values, and the combination with its totals."""
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


@dataclass(frozen=True, slots=True)
class RowResults:
    """A program cut in two: ``body`` runs for each row, ``end`` for several at once.

    ``given``: values that the end uses of the body, each with its shared buffer.
    """

    program: RowProgram
    plan: RowTeams
    body: tuple[Operation, ...]
    end: tuple[Operation, ...] = ()
    given: tuple[tuple[Value, Value], ...] = ()

    @staticmethod
    def of(b: Builder, program: RowProgram, plan: RowTeams) -> RowResults:
        """The cut of a program, whose end may be empty; buffers are allocated."""
        whole = RowResults(program, plan, program.body)
        if not _lie_in_lines(program, plan):
            return whole
        body = with_epilogue_initialisation(program)
        end = _end(program, body)
        if not any(op.name in STORES for op in end):
            return whole
        first = body[: len(body) - len(end)]
        again = _made_again(first, end)
        made = {v for op in first if op not in again for v in op.results}
        used = dict.fromkeys(v for op in (*again, *end) for v in op.operands)
        given: list[tuple[Value, Value]] = []
        for value in filter(made.__contains__, used):
            ty = MemRefType((plan.count,), value.type, memory_space=SHARED)
            given.append((value, b.allocate("memref.alloca", ty, "results")))
        return RowResults(program, plan, first, (*again, *end), tuple(given))

    @property
    def buffers(self) -> list[Operation]:
        """Operations that tell analyses about the buffers."""
        return [Operation("memref.alloca", (), (buffer,)) for _, buffer in self.given]

    def row(self, team: Index) -> tuple[Operation, ...]:
        """The program of a row; it stores the end's inputs for its group."""
        map_, operands = as_map([team])
        puts = (affine.store(value, to, map_, operands) for value, to in self.given)
        return (*self.body, *puts)

    def store(self, b: Builder, thread: Index, block: Index) -> None:
        """Append the barrier and the ends of all rows of the block."""
        if not self.end:
            return
        if self.given:
            b.add("gpu.barrier")
        chain, width = self.program.chain, self._width
        counts = [trip_count(loop) for loop in chain]
        (rows, _, _), taken = grid_extents(counts), thread * width
        number, along = block * self.plan.count + taken, chain[-1].iv
        are_whole = rows.constant is not None and rows.constant % self.plan.count == 0

        def emit(i: Builder, ahead: int, count: int) -> None:
            place = placed(i, chain, counts, number + ahead)[0]
            nexts = (Index.of(place[along]) + n for n in range(count))
            lanes = [{**place, along: i.index(iv, along.name)} for iv in nexts]
            at = Index.of(along) - lanes[0][along] + taken + ahead
            side = Interleaved(along, self.program.nest.definitions)
            side.emit(i, (*self._taken(at), *self.end), lanes)

        def singly(i: Builder) -> None:
            for n in range(width):
                i.guard([rows - 1 - n - number], lambda j, n=n: emit(j, n, 1))

        def ends(i: Builder) -> None:
            full = [] if are_whole else [rows - width - number]
            i.guard(full, lambda j: emit(j, 0, width), singly if width > 1 else None)

        b.guard([Index.of(self.plan.count // width - 1) - thread], ends)

    def _taken(self, at: Index) -> list[Operation]:
        """Loads of the rows' values."""
        map_, operands = as_map([at])
        return [
            affine.load(buffer, map_, operands).with_(results=(value,))
            for value, buffer in self.given
        ]

    @property
    def _width(self) -> int:
        """Rows that one access stores."""
        loop, definitions = self.program.chain[-1], self.program.nest.definitions
        width = shared_width(self.end, loop.iv, loop.lower, definitions)
        return gcd(width, self.plan.count)


def _lie_in_lines(program: RowProgram, plan: RowTeams) -> bool:
    """Whether the rows of a block are neighbours along the innermost parallel loop."""
    if plan.count == 1 or not program.chain:
        return False
    *outer, inner = program.chain
    if any(len(loop.uppers) > 1 for loop in program.chain):
        return False
    count = trip_count(inner).constant
    fills = count is not None and count % plan.count == 0
    return inner.step == 1 and (fills or not outer)


def _end(program: RowProgram, body: Sequence[Operation]) -> list[Operation]:
    """The last operations that are simple, and store to neighbours only."""
    along, definitions = program.chain[-1].iv, program.nest.definitions

    def belongs(op: Operation) -> bool:
        if op.regions or op.name == "affine.load" or has_no_effect(op):
            return not op.regions
        address = address_of(op, definitions) if op.name == "affine.store" else None
        return address is not None and address.factor(along) == 1

    return [*takewhile(belongs, reversed(body))][::-1]


def _made_again(
    first: Sequence[Operation], end: Sequence[Operation]
) -> list[Operation]:
    """Operations that the end recomputes instead of loading their results."""
    makers = {v: op for op in first for v in op.results}
    again: list[Operation] = []

    def is_cheap(op: Operation) -> bool:
        inside = [makers[v] for v in op.operands if v in makers]
        return not op.regions and has_no_effect(op) and all(map(is_cheap, inside))

    wanted = {v for op in end for v in op.operands}
    for op in reversed(first):
        if not wanted.isdisjoint(op.results) and is_cheap(op):
            again.insert(0, op)
            wanted.update(op.operands)
    return again


def team_per_row(program: RowProgram) -> KernelBody:
    """The kernel of a program that a thread group shares.

    Where members synchronise in memory, each row has a block of its own.
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
    """The kernel of a plan; None if members synchronise in shared blocks."""
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
    rows, *others = grid_extents(counts)
    values, limits = placed(b, program.chain, counts, number)
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
    members = LaneGroup(((Index.of(member), plan.size),), is_warp=plan.count > 1)
    deal = RowDistribution(
        members, program.nest.definitions, problem.width, kept, TOGETHER
    )

    def run(inner: Builder) -> None:
        dealing = RowShares(analysis, deal, program.order)
        Phases(analysis, members, dealing).operations(inner, body)
        kept.drop([op.result for op in buffers] + program.nest.own_buffers)

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
    grid = (blocks, *others)
    return KernelBody(
        (*b.operations, *buffers, *operations), grid, (plan.threads, 1, 1)
    )


def _written(operations: Sequence[Operation]) -> frozenset[Value]:
    inner = (o for op in operations for o in op.walk())
    return frozenset(o.operands[1] for o in inner if o.name == "affine.store")


def _alive(op: Operation, dead: set[int]) -> list[Operation]:
    """The operation without the dead stores in it."""
    if not dead:
        return [op]
    return rewrite_bottom_up(op, lambda o: [] if id(o) in dead else None)
