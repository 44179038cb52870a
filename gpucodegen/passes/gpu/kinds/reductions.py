"""Nests that reduce: teams of threads where the order of terms is free.

Long rows of which there are few are cut into parts first.  Where the order has to stay,
a thread has a row, and sums stay in registers.
"""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.reductions.column_teams import lanes_along_rows
from gpucodegen.passes.gpu.reductions.free_reductions import Reduction
from gpucodegen.passes.gpu.reductions.problems import columns_of, lies_across, rows_of
from gpucodegen.passes.gpu.reductions.row_teams import team_per_row
from gpucodegen.passes.gpu.reductions.rows import RowProgram, row_program
from gpucodegen.passes.gpu.reductions.splits import in_parts
from gpucodegen.tiling.machine.gpu.reductions import plan_columns, plan_parts


def reductions_of(nest: Nest) -> list[Operation] | None:
    """The kernels of a nest that reduces; None of one that does not."""
    program = row_program(nest)
    if program is None or not program.reductions:
        return None
    if not program.is_for_teams:
        return None
    alone = _alone(program)
    return _alone_in_rows(program, alone) if alone else _teams(program)


def _teams(program: RowProgram) -> list[Operation]:
    return program.nest.mapper.launch(team_per_row(program))


def _alone(program: RowProgram) -> Reduction | None:
    """The only operation of a program that has operations in it."""
    structured = [op for op in program.body if op.regions]
    if len(structured) != 1 or len(program.reductions) != 1:
        return None
    return program.reductions[0]


def _alone_in_rows(program: RowProgram, alone: Reduction) -> list[Operation]:
    """One reduction with nothing but scalars around it."""
    across = lies_across(program, alone)
    columns = columns_of(program, alone) if across else None
    problem = columns or rows_of(program)
    parts = plan_parts(problem)
    cut = in_parts(program, alone, parts, across=problem.across) if parts > 1 else None
    if cut is not None:
        return cut
    if columns is None:
        return _teams(program)
    kernel = lanes_along_rows(program, alone, plan_columns(columns))
    return program.nest.mapper.launch(kernel)
