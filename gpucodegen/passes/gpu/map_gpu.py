"""Nests to kernels of the GPU, in every function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.cpu.vectorize.accumulations import Order
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import (
    definitions,
    in_functions,
    users,
    with_blocks,
)
from gpucodegen.passes.gpu.gpu_mapper import GpuMapper
from gpucodegen.passes.gpu.launches.gpu_launch import gpu_module
from gpucodegen.passes.prepare.affine.dead_code import without_dead_code
from gpucodegen.tiling.machine.gpu.products.candidates import (
    Candidate,
    SharedTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.teams import StepTeam
from gpucodegen.tiling.tuning.knobs import NOTHING, Knob


@dataclass(frozen=True, slots=True)
class MapGpu(ModulePass):
    """Nests become ``gpu.func`` kernels, the function launches them.

    ``tile``: rows, columns and depth of a contraction's shared tiles and the rows and
    columns of each thread; empty leaves the choice to the model.  ``stages``: shared
    tiles of each factor in a contraction of such a ``tile`` where copies pass by the
    registers; 0 leaves that to the model.  ``fragments``: the last two numbers of a
    ``tile`` are rows and columns of each warp, on tensor cores.  ``contractions``
    become fused multiply-adds on shared tiles.  ``team``: blocks and threads of a block
    that walk sequential loops together; empty leaves the choice to the model.
    ``time_tiles``: without, these loops stay on the host.  ``relaxed``: sums may be
    reordered anywhere; ``exact``: nowhere.  ``precision``: of products of f32 on tensor
    cores, as the compiler's option says.
    """

    name: ClassVar[str] = "map-gpu"
    tile: tuple[int, ...] = ()
    stages: int = 0
    fragments: bool = False
    contractions: bool = True
    team: tuple[int, ...] = ()
    time_tiles: bool = True
    relaxed: bool = False
    exact: bool = False
    precision: str = "ieee"

    def apply(self, module: Module) -> Module:
        """Map every function."""
        return self._mapped(module, [])

    def knobs(self, module: Module) -> Sequence[Knob]:
        """Contractions, whose tiles no option of the compiler sets."""
        mappers: list[GpuMapper] = []
        self._mapped(module, mappers)
        return [NOTHING] * sum(mapper.contracted for mapper in mappers)

    def _mapped(self, module: Module, mappers: list[GpuMapper]) -> Module:
        """The module of kernels; the mappers of functions are added to a list."""
        kind = WarpTiles if self.fragments else SharedTiles
        plan = _tiles(kind, *self.tile) if self.tile else None
        if plan and self.stages:
            plan = replace(plan, direct=(True, True), stages=self.stages)
        surroundings = Surroundings.of(module)

        def map_function(op: Operation) -> list[Operation]:
            mapper = GpuMapper(
                symbol_name(op),
                definitions(op),
                plan,
                StepTeam(*self.team) if self.team else None,
                surroundings,
                {value: len(found) for value, found in users(op).items()},
                self.contractions,
                self.time_tiles,
                Order(self.relaxed, self.exact),
                self.precision,
            )
            mappers.append(mapper)
            host = without_dead_code(with_blocks(op, mapper.operations))
            if not mapper.kernels:
                return [host]
            return [gpu_module(f"{mapper.module}_kernels", mapper.kernels), host]

        return in_functions(module, map_function)


def _tiles(
    kind: type[SharedTiles | WarpTiles],
    rows: int,
    columns: int,
    depth: int,
    down: int,
    across: int,
    splits: int = 1,
    resident: int = 1,
    group: int = 1,
) -> Candidate:
    """The plan of a caller's numbers; how its tiles are copied is not among them."""
    return kind(rows, columns, depth, down, across, splits, resident, group)
