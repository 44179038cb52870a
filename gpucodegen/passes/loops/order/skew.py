"""Skewing: multiples of outer loops are added to inner ones, so that all permute."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.loops.cells.carried_cells import holds_numbers, through_cells
from gpucodegen.passes.loops.framework import legality
from gpucodegen.passes.loops.framework.naming import FOR
from gpucodegen.passes.loops.framework.rewriting import chosen_loops, is_outermost
from gpucodegen.passes.loops.restructuring.apply import reorder_nests
from gpucodegen.passes.loops.restructuring.pieces import Movable
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.schedule import Schedule
from gpucodegen.tiling.schedule.skewing import skewed


@dataclass(frozen=True, slots=True)
class Skew(ModulePass):
    """Skew every nest so that its loops may be tiled and interchanged.

    ``factors``: for the second loop its factor of the first, for the third those of the
    first and second, and so on; empty chooses the smallest.  Statements of different
    bodies are shifted against each other and come into common loops.  Values that
    loops carry are kept in cells of local buffers meanwhile.
    """

    name: ClassVar[str] = "skew"
    factors: tuple[int, ...] = ()

    def apply(self, module: Module) -> Module:
        """Skew, or raise IllegalTransformation with a witness."""

        def plan(source: Movable) -> Schedule | Refusal:
            return skewed(source.nest, self.factors)

        def rewrite(module: Module) -> Module:
            return reorder_nests(module, "skewing", plan)

        nests = chosen_loops(module, "", "", is_outermost)
        for site in nests:
            legality.demand(holds_numbers(_loops(site.loop)), site.loop, "skewing")
        return through_cells(module, nests, _loops, rewrite)


def _loops(op: Operation) -> list[Operation]:
    return [inner for inner in op.walk() if inner.name == FOR]
