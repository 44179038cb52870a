"""From affine nests on buffers to the kernels of a GPU and their launches."""

from __future__ import annotations

from gpucodegen.options import Options
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.gpu.blocks.rows.fuse_rows import FuseRows
from gpucodegen.passes.gpu.expose_parallelism import ExposeParallelism
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.passes.loops.cells.contract_arrays import ContractArrays
from gpucodegen.passes.loops.cells.privatize import Privatize
from gpucodegen.passes.loops.order.fuse_elementwise import FuseElementwise
from gpucodegen.passes.loops.scatter.atomic_updates import AtomicUpdates
from gpucodegen.passes.loops.tiling.tile import Tile
from gpucodegen.passes.prepare.functions.mark_overwritten import MarkOverwritten
from gpucodegen.tiling.machine.gpu.devices import WARP


def mapped(options: Options) -> list[ModulePass]:
    """Parallel updates, private scalars, few and long nests, then kernels."""
    return [
        AtomicUpdates(WARP, options.reassociate, options.exact),
        Privatize(min_iterations=WARP),
        *_nests(options),
        MarkOverwritten(),
        MapGpu(
            contractions=not options.exact,
            time_tiles=options.time_tiles,
            relaxed=options.reassociate,
            exact=options.exact,
            precision=options.precision,
            arch=options.arch,
            plan=tuple(item for pair in options.plan for item in pair),
            strict=not options.tuned,
        ),
    ]


def _nests(options: Options) -> list[ModulePass]:
    """Chosen tiles, or chains fused, orders; ``exact`` programs run as written."""
    if options.tile_sizes:
        return [Tile(options.tile_sizes, options.reassociate, fewer=True)]
    if options.exact:
        return []
    orders = [ExposeParallelism(options.arch)] if options.time_tiles else []
    return [FuseRows(options.arch), FuseElementwise(), ContractArrays(), *orders]
