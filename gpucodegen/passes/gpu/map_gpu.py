"""Nests to kernels of the GPU, in every function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import definitions, in_functions, with_blocks
from gpucodegen.passes.gpu.gpu_launch import gpu_module
from gpucodegen.passes.gpu.gpu_mapper import GpuMapper
from gpucodegen.passes.prepare.affine.dead_code import without_dead_code
from gpucodegen.tiling.machine.gpu.candidates import SharedTiles
from gpucodegen.tiling.tuning.knobs import NOTHING, Knob


@dataclass(frozen=True, slots=True)
class MapGpu(ModulePass):
    """Nests become ``gpu.func`` kernels, the function launches them.

    ``tile``: rows, columns and depth of a contraction's shared tiles and the rows and
    columns of each thread; empty leaves the choice to the model.  ``contractions``
    become fused multiply-adds on shared tiles.  ``time_tiles``: stencils make several
    time steps in one launch.
    """

    name: ClassVar[str] = "map-gpu"
    tile: tuple[int, ...] = ()
    contractions: bool = True
    time_tiles: bool = True

    def apply(self, module: Module) -> Module:
        """Map every function."""
        return self._mapped(module, [])

    def knobs(self, module: Module) -> Sequence[Knob]:
        """Contractions, whose tiles no option of the compiler sets."""
        contractions: list[Operation] = []
        self._mapped(module, contractions)
        return [NOTHING] * len(contractions)

    def _mapped(self, module: Module, contractions: list[Operation]) -> Module:
        """The module of kernels; nests that are contractions are added to a list."""
        plan = SharedTiles(*self.tile) if self.tile else None
        surroundings = Surroundings.of(module)

        def map_function(op: Operation) -> list[Operation]:
            mapper = GpuMapper(
                symbol_name(op),
                definitions(op),
                plan,
                surroundings,
                self.contractions,
                self.time_tiles,
            )
            host = without_dead_code(with_blocks(op, mapper.operations))
            contractions.extend(mapper.contracted)
            if not mapper.kernels:
                return [host]
            return [gpu_module(f"{mapper.module}_kernels", mapper.kernels), host]

        return in_functions(module, map_function)
