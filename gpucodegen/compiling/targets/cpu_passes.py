"""From affine nests on buffers to CPU kernels: cache tiles, threads, vectors."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.options import Options
from gpucodegen.passes.contraction.isolate import IsolateContractions
from gpucodegen.passes.cpu.map_cpu import MapCpu
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.loops.array_contraction import ContractArrays
from gpucodegen.passes.loops.array_privatization import Privatize
from gpucodegen.passes.loops.coalesce import Coalesce
from gpucodegen.passes.loops.histogram_privatization import PrivatizeReductions
from gpucodegen.passes.loops.improve_locality import ImproveLocality
from gpucodegen.passes.loops.iteration_ranges import SplitAtWraps
from gpucodegen.passes.loops.join_tiles import JoinTiles
from gpucodegen.passes.loops.parallel_totals import ParallelizeReductions
from gpucodegen.passes.loops.rectangular_tiling import Tile
from gpucodegen.passes.loops.requested_schedules import is_asked, is_of_time_tiles
from gpucodegen.passes.loops.scalar_replacement import CarryStores
from gpucodegen.passes.loops.wavefront import Wavefront
from gpucodegen.passes.outlining.cpu_outliner import OutlineCpu
from gpucodegen.passes.prepare.argument_facts import PropagateAliases
from gpucodegen.passes.prepare.mem2reg import Mem2Reg
from gpucodegen.passes.prepare.memory_operations import ExpandCopies, HeapAllocations
from gpucodegen.passes.vectorize import Vectorize
from gpucodegen.runtime.processor import Cpu, cpu


def mapped(options: Options) -> list[ModulePass]:
    """Passes: privatize scalars, tile and vectorize loops, outline kernels."""
    host = cpu()
    threads = options.threads or host.threads
    return [
        HeapAllocations(),
        *_contractions(options),
        Privatize(),
        *_order(options, threads),
        ExpandCopies(host.caches.kept_by(threads)),
        *_time_tiles(options, host, threads),
        CarryStores(),
        PrivatizeReductions(threads, options.reassociate, options.exact),
        ParallelizeReductions(threads, options.reassociate, options.exact),
        _register_tiles(options, host, threads),
        Coalesce(),
        OutlineCpu(),
        PropagateAliases(),
        SplitAtWraps(lanes=host.vector_bits // 32),
        _vectors(options, host, threads),
    ]


def _contractions(options: Options) -> list[ModulePass]:
    """Separate contractions into their own nests, unless tile sizes are given."""
    if options.exact or options.tile_sizes:
        return []
    return [JoinTiles(), Mem2Reg(), IsolateContractions()]


def _order(options: Options, threads: int) -> list[ModulePass]:
    """Given tile sizes, or loop orders for the caches; ``exact`` keeps the order."""
    plan = [pair for pair in options.plan if is_asked(pair[0])]
    if plan and (options.tile_sizes or options.exact):
        hint = "Ask for orders and fusions without exact and tile_sizes"
        raise errors.InvalidOption(name="plan", value=dict(plan), hint=hint)
    if options.tile_sizes:
        return [Tile(options.tile_sizes, options.reassociate, fewer=True)]
    if options.exact:
        return []
    asked = tuple(item for pair in plan for item in pair)
    improve = ImproveLocality(threads=threads, plan=asked, relaxed=options.reassociate)
    return [improve, ContractArrays()]


def _time_tiles(options: Options, host: Cpu, threads: int) -> list[ModulePass]:
    """Wavefront tiling of time loops, unless the caller gave tile sizes."""
    plan = [pair for pair in options.plan if is_of_time_tiles(pair[0])]
    if plan and (options.tile_sizes or not options.time_tiles):
        hint = "Ask for time tiles without tile_sizes and time_tiles=False"
        raise errors.InvalidOption(name="plan", value=dict(plan), hint=hint)
    if not options.time_tiles or options.tile_sizes:
        return []
    return [
        Wavefront(
            threads=threads,
            cache=host.caches.second,
            shared=host.caches.shared,
            plan=tuple(item for pair in plan for item in pair),
            strict=not options.tuned,
        )
    ]


def _register_tiles(options: Options, host: Cpu, threads: int) -> ModulePass:
    """Register tiles of contractions and of parallel loops."""
    rows, columns, k_block = (*options.register_tile, 0, 0, 0)[:3]
    return MapCpu(
        threads=threads,
        vector_bits=host.vector_bits,
        registers=host.vector_registers,
        cache=host.caches.second,
        rows=rows,
        columns=columns,
        k_block=k_block,
        contractions=not options.exact,
        relaxed=options.reassociate,
        narrowest=host.word_parts,
        first_cache=host.caches.first,
        kept=host.caches.kept_by(threads),
    )


def _vectors(options: Options, host: Cpu, threads: int) -> ModulePass:
    """Vectorize the innermost loops of kernels."""
    caches = host.caches
    return Vectorize(
        vector_bits=host.vector_bits,
        registers=host.vector_registers,
        threads=threads,
        cache=caches.second,
        kept=caches.kept_by(threads),
        relaxed=options.reassociate,
        exact=options.exact,
    )
