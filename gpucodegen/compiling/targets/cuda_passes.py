"""From affine nests on buffers to the kernels of a GPU and their launches."""

from __future__ import annotations

from gpucodegen.options import Options
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.gpu.blocks.threads import WARP
from gpucodegen.passes.gpu.expose_parallelism import ExposeParallelism
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.passes.loops.cells.privatize import Privatize
from gpucodegen.passes.loops.tiling.tile import Tile
from gpucodegen.passes.prepare.functions.mark_overwritten import MarkOverwritten


def mapped(options: Options) -> list[ModulePass]:
    """Private scalars where a warp has work, chosen tiles or orders, then kernels."""
    sizes = options.tile_sizes
    tiles = Tile(sizes, options.reassociate, fewer=True)
    return [
        Privatize(min_iterations=WARP),
        *([tiles] if sizes else [ExposeParallelism()] if options.time_tiles else []),
        MarkOverwritten(),
        MapGpu(contractions=not options.exact, steps=options.time_tiles),
    ]
