"""Skewing: multiples of outer loops are added to inner ones, so that all permute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.loops.restructuring.apply import reorder_nests
from gpucodegen.passes.loops.restructuring.pieces import Movable
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.schedule import Schedule
from gpucodegen.tiling.schedule.skew import skewed


@dataclass(frozen=True, slots=True)
class Skew(ModulePass):
    """Skew every nest so that its loops may be tiled and interchanged.

    ``factors``: for the second loop its factor of the first, for the third those of the
    first and second, and so on; empty chooses the smallest.  Statements of different
    bodies are shifted against each other and come into common loops.
    """

    name: ClassVar[str] = "skew"
    factors: tuple[int, ...] = ()

    def apply(self, module: Module) -> Module:
        """Skew, or raise IllegalTransformation with a witness."""

        def plan(source: Movable) -> Schedule | Refusal:
            return skewed(source.nest, self.factors)

        return reorder_nests(module, "skewing", plan)
