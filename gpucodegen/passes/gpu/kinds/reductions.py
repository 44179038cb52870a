"""Nests that reduce: teams of threads where the order of terms is free."""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.kinds.thread_mapping import thread_per_iteration
from gpucodegen.passes.gpu.reductions.row_teams import team_per_row
from gpucodegen.passes.gpu.reductions.rows import row_program


def reductions_of(nest: Nest) -> list[Operation] | None:
    """One kernel for all rows; None of a nest that neither reduces nor repeats."""
    program = row_program(nest)
    if program is None:
        return None
    if program.reductions and program.is_for_teams:
        return nest.mapper.launch(team_per_row(program))
    return None
