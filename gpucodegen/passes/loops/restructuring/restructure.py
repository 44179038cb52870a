"""The order of isl's scheduler: fusion, skews and shifts for parallelism and reuse."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.loops.restructuring.apply import reorder_nests
from gpucodegen.passes.loops.restructuring.pieces import Movable
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.isl_scheduler import find_schedule
from gpucodegen.tiling.schedule.schedule import Schedule


@dataclass(frozen=True, slots=True)
class Restructure(ModulePass):
    """Give every nest the order that isl's scheduler finds within its limits."""

    name: ClassVar[str] = "restructure"

    def apply(self, module: Module) -> Module:
        """Reorder, or keep the order with a warning."""

        def plan(source: Movable) -> Schedule | Refusal:
            return find_schedule(source.nest)

        return reorder_nests(module, "restructuring", plan)
