"""Reduction kernels: a thread group per row where the order of terms is free.

Few long rows are split into parts first.  Where the order of terms must be kept, each
thread reduces a row with its sums in registers.  For rows that are strided in memory,
lanes run along neighbouring rows and members along each row:

    lane = thread mod 32 has ``width`` rows, member = thread / 32
    partial = the terms of these rows at positions member, member + members, ..
    shared[member][rows] = partial;  barrier
    the first lanes combine the members and finish their rows
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field, replace
from math import prod

from gpucodegen import errors
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.ir.types import MemRefType, VectorType, element_bytes
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.blocks.row_distribution import (
    Interleaved,
    Lane,
    LaneGroup,
    Row,
    RowDistribution,
    Totals,
)
from gpucodegen.passes.gpu.blocks.thread_reductions import (
    Reduction,
    combination,
    extent,
    lane_totals,
    made_for,
)
from gpucodegen.passes.gpu.nest_mapping import Nest, thread_per_iteration, trip_count
from gpucodegen.passes.gpu.reduction_problems import (
    RowProgram,
    columns_of,
    grid_extents,
    lies_across,
    placed,
    reduced_program,
    row_program,
    rows_of,
)
from gpucodegen.passes.gpu.row_reductions import team_per_row
from gpucodegen.passes.gpu.split_reductions import in_parts, scan_in_parts
from gpucodegen.passes.outlining.gpu_launch import (
    SHARED,
    KernelBody,
    thread_index,
    through_buffers,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.reductions import (
    ColumnTeams,
    plan_columns,
    plan_parts,
    plan_scan_parts,
)


@dataclass(frozen=True, slots=True)
class _Columns(RowDistribution):
    """Distributes positions of rows over members, each of which has several rows."""

    along: Value = field(kw_only=True)
    rows: tuple[Lane, ...] = field(kw_only=True)

    @property
    def lanes(self) -> int:
        return len(self.rows)

    def varying(self, row: Row) -> Value:
        del row
        return self.along

    def places(self, b: Builder, row: Row, first: Index, around: Lane) -> list[Lane]:
        """One position of all rows of the lane."""
        here = {**around, row.iv: b.index(first, row.iv.name)}
        return [{**lane, **here} for lane in self.rows]


def lanes_along_rows(
    program: RowProgram, reduction: Reduction, plan: ColumnTeams
) -> KernelBody:
    """The kernel of a program with one reduction and scalar operations around it."""
    *outer, inner = program.chain
    b = Builder(program.nest.op.location)
    thread = thread_index(b, "thread_id", "x", "t")
    lane = b.index(Index.of(thread) % plan.lanes, "lane")
    member = b.index(Index.of(thread) // plan.lanes, "member")
    counts = [trip_count(loop) for loop in outer]
    block = Index.of(thread_index(b, "block_id", "x", "bx"))
    group = Index.of(thread_index(b, "block_id", "y", "by")) if outer else Index.of(0)
    around, _ = placed(b, outer, counts, group, "yz")
    count = trip_count(inner)
    position = block * plan.rows + Index.of(lane) * plan.width
    last = compact(count - plan.width)
    inside = last.constant is not None and (last.constant + plan.width) % plan.rows == 0
    at = position if inside else Index.of(b.smallest([position, last], "row"))
    rows: list[Lane] = [
        {
            **around,
            inner.iv: b.index(inner.lower + (at + v) * inner.step, inner.iv.name),
        }
        for v in range(plan.width)
    ]
    finish = _Finish(program, reduction, plan, inner.iv, lane, member)
    limits = [] if inside else [compact(last - position)]
    finish.build(b, rows, limits)
    blocks = (count + (plan.rows - 1)) // plan.rows
    grid = (blocks, *grid_extents(counts)[:2])
    operations = tuple(substitute_values(op, around) for op in b.operations)
    return KernelBody(operations, grid, (plan.threads, 1, 1))


@dataclass(frozen=True, slots=True)
class _Finish:
    """The threads' program once they know their rows."""

    program: RowProgram
    reduction: Reduction
    plan: ColumnTeams
    along: Value
    lane: Value
    member: Value

    def build(self, b: Builder, rows: Sequence[Lane], limits: Sequence[Index]) -> None:
        body = self.program.body
        loop = self.reduction.loops[0]
        at = body.index(loop)
        lanes = [dict(row) for row in rows]
        rest = Interleaved(self.along, self.program.nest.definitions)
        needed = made_for(body[:at], loop)
        rest.emit(b, needed, lanes)
        team = LaneGroup(((Index.of(self.member), self.plan.members),))
        columns = _Columns(
            team, self.program.nest.definitions, along=self.along, rows=tuple(lanes)
        )
        totals = lane_totals(b, self.reduction, columns)
        buffers = self._shared(b, totals)
        first = [Index.of(0) - self.member] if self.plan.members > 1 else []

        def ends(inner: Builder) -> None:
            rest.emit(inner, [op for op in body[:at] if op not in needed], lanes)
            whole = self._over_members(inner, totals, buffers)
            self._results(inner, lanes, whole)
            rest.emit(inner, body[at + 1 :], lanes)

        b.guard([*first, *limits], ends)

    def _shared(self, b: Builder, totals: Totals) -> list[Value]:
        """Each total's buffer, filled by all members, and a barrier."""
        if self.plan.members == 1:
            return []
        count, buffers = len(self.reduction.totals), list[Value]()
        for number in range(count):
            values = totals[number::count]
            ty = values[0].type
            shape = (self.plan.members, self.plan.rows)
            buffer = b.allocate(
                "memref.alloca", MemRefType(shape, ty, memory_space=SHARED), "partial"
            )
            vector = VectorType((self.plan.width,), ty)
            (wide,) = b.add("vector.from_elements", values, [vector])
            b.vector_store(wide, buffer, self._place(self.member), self._bytes(vector))
            buffers.append(buffer)
        b.add("gpu.barrier")
        return buffers

    def _place(self, member: Value) -> list[Index]:
        return [Index.of(member), Index.of(self.lane) * self.plan.width]

    def _bytes(self, vector: VectorType) -> int:
        return self.plan.width * (element_bytes(vector.element) or 1)

    def _over_members(
        self, b: Builder, totals: Totals, buffers: Sequence[Value]
    ) -> Totals:
        """The totals of all members, in their order."""
        if not buffers:
            return totals
        count, width = len(self.reduction.totals), self.plan.width

        def body(i: Builder, iv: Value, values: Totals) -> Totals:
            made = list(values)
            for number, (accumulation, buffer) in enumerate(
                zip(self.reduction.totals, buffers, strict=True)
            ):
                vector = VectorType((width,), values[number].type)
                bytes_ = self._bytes(vector)
                wide = i.vector_load(buffer, self._place(iv), vector, "", bytes_)
                for lane in range(width):
                    at = lane * count + number
                    new = values[at].renewed()
                    other = i.element(wide, lane)
                    i.operations.append(
                        combination(accumulation, values[at], other, new)
                    )
                    made[at] = new
            return made

        return b.carried_loop(1, self.plan.members, totals, body, hint="m")

    def _results(self, b: Builder, lanes: Sequence[Lane], totals: Totals) -> None:
        count = len(self.reduction.totals)
        for number, accumulation in enumerate(self.reduction.totals):
            initial = self.reduction.initial[number]
            result = self.reduction.results[number]
            for lane, total in zip(lanes, totals[number::count], strict=True):
                lane[result] = new = result.renewed()
                start = lane.get(initial, initial)
                b.operations.append(combination(accumulation, start, total, new))


LONG = 1 << 12
"""Number of sequential terms that is worth a warning."""


def map_reductions(nest: Nest) -> list[Operation] | None:
    """The kernels of a nest that reduces, or whose rows thread groups can share."""
    if not nest.op.results:
        program = row_program(nest)
        if program is None or program.is_elementwise:
            return None
        return _mapped(program)
    if any(isinstance(value.type, VectorType) for value in nest.op.results):
        return None
    before, inside, after = through_buffers(nest.op, nest.op.results)
    program = reduced_program(nest, inside)
    mapped = program and _mapped(program)
    return [*before, *mapped, *after] if mapped else None


def _mapped(program: RowProgram) -> list[Operation] | None:
    _tell_of_order(program)
    mapper, alone = program.nest.mapper, _alone(program)
    if program.is_for_teams and alone:
        return _alone_in_rows(program, alone)
    if cut := _scan_in_parts(program):
        return cut
    if program.is_for_teams and not lies_across(program):
        return mapper.launch(team_per_row(program))
    return mapper.launch(_in_order(program)) if program.reductions else None


def _scan_in_parts(program: RowProgram) -> list[Operation] | None:
    """A program with one free scan and scalar operations, if splitting pays."""
    structured = [op for op in program.body if op.regions]
    if not program.is_for_teams or [s.loop for s in program.scans] != structured:
        return None
    (scan,) = program.scans
    across = lies_across(program)
    problem = columns_of(program, structured) if across else rows_of(program)
    parts = (
        1 if problem is None else plan_scan_parts(problem, program.nest.mapper.device)
    )
    if parts == 1:
        return None
    return scan_in_parts(program, scan, parts, across=across)


def _alone(program: RowProgram) -> Reduction | None:
    """The only operation with regions of a program."""
    structured = [op for op in program.body if op.regions]
    if len(structured) != 1 or len(program.reductions) != 1:
        return None
    return program.reductions[0]


def _alone_in_rows(program: RowProgram, alone: Reduction) -> list[Operation]:
    """A program with one reduction and scalar operations."""
    columns = columns_of(program, alone.loops) if lies_across(program) else None
    problem, mapper = columns or rows_of(program), program.nest.mapper
    device, plans = mapper.device, mapper.plans
    parts = plan_parts(problem, device, plans.of("parts"))
    cut = in_parts(program, alone, parts, across=problem.across) if parts > 1 else None
    if cut is not None:
        return cut
    if columns is None:
        return mapper.launch(team_per_row(program))
    plan = plan_columns(columns, device, plans.of("columns"))
    return mapper.launch(lanes_along_rows(program, alone, plan))


def _in_order(program: RowProgram) -> KernelBody:
    """A thread for each row, or one thread, with sums in registers."""
    if not program.chain:
        return KernelBody(program.body, (Index.of(1),) * 3, (1, 1, 1))
    *outer, inner = program.chain
    end = inner.operation.body.operations[-1:]
    op = inner.operation.with_body((*program.body, *end))
    return thread_per_iteration([*outer, replace(inner, operation=op)])


def _tell_of_order(program: RowProgram) -> None:
    """Warn of long sums that would be faster if reassociated."""
    sums = [(r.loops, r.is_free) for r in program.reductions]
    sums += [((s.loop,), s.is_free) for s in program.scans]
    for loops, is_free in sums:
        terms = prod(extent(op) or 1 for op in loops)
        if not is_free and terms >= LONG and not program.order.exact:
            errors.tell(errors.PossiblySlow(loops[-1].location, terms=terms))
