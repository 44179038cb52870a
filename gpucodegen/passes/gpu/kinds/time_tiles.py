"""Time loops around stencils: several steps in one launch, where that pays."""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.gpu.kinds.nest import Nest
from gpucodegen.passes.gpu.stencils.launches import launch_tiles
from gpucodegen.passes.gpu.stencils.problem import problem_of
from gpucodegen.passes.gpu.stencils.recognition import time_nest_of
from gpucodegen.tiling.machine.gpu.temporal_tiling import plan_time_tiles


def time_tiles_of(nest: Nest) -> list[Operation] | None:
    """Launches of several time steps each, on overlapped tiles."""
    if not nest.mapper.time_tiles:
        return None
    found = time_nest_of(nest.op, nest.analysis)
    if found is None:
        return None
    device, choose = nest.mapper.device, nest.mapper.plans.of("time")
    plan = plan_time_tiles(problem_of(found), device, choose)
    if plan is None:
        return None
    return launch_tiles(found, plan, nest.mapper.launch)
