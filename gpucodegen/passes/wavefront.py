"""Time tiling: wavefronts of tiles over a time loop and the space inside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.base import ModulePass
from gpucodegen.passes.restructuring.apply import reorder_nests
from gpucodegen.passes.restructuring.pieces import Movable
from gpucodegen.tiling.legality import Refusal
from gpucodegen.tiling.loops import LoopKind, loop_verdicts
from gpucodegen.tiling.schedule import Schedule
from gpucodegen.tiling.skew import find_band
from gpucodegen.tiling.wavefront import wavefront


@dataclass(frozen=True, slots=True)
class Wavefront(ModulePass):
    """Tile nests whose outermost loop is not parallel; tiles of a wavefront are.

    ``sizes``: iterations of the time loop per tile, then those of the loops inside it.
    """

    name: ClassVar[str] = "wavefront"
    sizes: tuple[int, ...] = (8, 32)

    def apply(self, module: Module) -> Module:
        """Tile, or raise IllegalTransformation with a witness."""

        def plan(source: Movable) -> Schedule | Refusal | None:
            nest = source.nest
            if loop_verdicts(nest.model, nest.dependences)[0].kind is LoopKind.PARALLEL:
                return None
            band = find_band(nest)
            return (
                band if isinstance(band, Refusal) else wavefront(nest, band, self.sizes)
            )

        return reorder_nests(module, "time tiling", plan)
