"""Nests that reduce: teams of threads where the order of terms is free.

Long rows of which there are few are cut into parts first.  Where the order has to stay,
a thread has a row, and sums stay in registers.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gpucodegen import errors
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import VectorType
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.blocks.rows.free_reductions import Reduction
from gpucodegen.passes.gpu.blocks.rows.reduce import extent
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.kinds.reductions.column_teams import lanes_along_rows
from gpucodegen.passes.gpu.kinds.reductions.problems import (
    columns_of,
    lies_across,
    rows_of,
)
from gpucodegen.passes.gpu.kinds.reductions.program import (
    RowProgram,
    reduced_program,
    row_program,
)
from gpucodegen.passes.gpu.kinds.reductions.row_teams import team_per_row
from gpucodegen.passes.gpu.kinds.reductions.scan_parts import scan_in_parts
from gpucodegen.passes.gpu.kinds.reductions.splits import in_parts
from gpucodegen.passes.gpu.kinds.thread_mapping import thread_per_iteration
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody, through_buffers
from gpucodegen.tiling.machine.gpu.reductions import (
    plan_columns,
    plan_parts,
    plan_scan_parts,
)

LONG = 1 << 12
"""Terms in order that are worth a warning."""


def reductions_of(nest: Nest) -> list[Operation] | None:
    """The kernels of a nest that reduces, or whose rows teams can share."""
    if not nest.op.results:
        program = row_program(nest)
        return None if program is None else _mapped(program)
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
    """One free scan with nothing but scalars around it, if that pays."""
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
    """The only operation of a program that has operations in it."""
    structured = [op for op in program.body if op.regions]
    if len(structured) != 1 or len(program.reductions) != 1:
        return None
    return program.reductions[0]


def _alone_in_rows(program: RowProgram, alone: Reduction) -> list[Operation]:
    """One reduction with nothing but scalars around it."""
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
    """A warning of long sums that would be faster in any order."""
    sums = [(r.loops, r.is_free) for r in program.reductions]
    sums += [((s.loop,), s.is_free) for s in program.scans]
    for loops, is_free in sums:
        terms = prod(extent(op) or 1 for op in loops)
        if not is_free and terms >= LONG and not program.order.exact:
            errors.tell(errors.PossiblySlow(loops[-1].location, terms=terms))
