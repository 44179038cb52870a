"""From affine nests on buffers to GPU kernels and their launches."""

from __future__ import annotations

from gpucodegen.options import Options
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.gpu.expose_parallelism import (
    ROWS_OF_THREADS,
    ExposeParallelism,
    FuseRows,
)
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.passes.gpu.predicate_padding import PredicatePadding
from gpucodegen.passes.loops.array_contraction import ContractArrays
from gpucodegen.passes.loops.array_privatization import Privatize
from gpucodegen.passes.loops.coalesce import CoalesceRows
from gpucodegen.passes.loops.fusion import FuseElementwise
from gpucodegen.passes.loops.histogram_privatization import AtomicUpdates
from gpucodegen.passes.loops.join_tiles import JoinTiles
from gpucodegen.passes.loops.rectangular_tiling import Tile
from gpucodegen.passes.loops.scan_fusion import FuseScans
from gpucodegen.passes.loops.selection_keys import PackSelections
from gpucodegen.passes.loops.sinking import SinkIntoLoops
from gpucodegen.passes.prepare.argument_facts import MarkOverwritten
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.machine.gpu.product_plan import planned_for


def mapped(options: Options) -> list[ModulePass]:
    """Passes: parallelize updates, privatize scalars, fuse nests, outline kernels."""
    filling = planned_for(options.arch).processors * ROWS_OF_THREADS
    return [
        PackSelections(rows=filling),
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
    """Given tile sizes, or fusion and loop orders; ``exact`` keeps the order."""
    if options.tile_sizes:
        return [Tile(options.tile_sizes, options.reassociate, fewer=True)]
    if options.exact:
        return []
    orders = [ExposeParallelism(options.arch)] if options.time_tiles else []
    fused = [
        FuseRows(options.arch),
        FuseElementwise(options.reassociate),
        FuseScans(),
        CoalesceRows(),
    ]
    return [
        JoinTiles(),
        SinkIntoLoops(),
        PredicatePadding(),
        *fused,
        ContractArrays(),
        *orders,
    ]
