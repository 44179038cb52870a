"""From a parsed module to mapped kernels: which passes run, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpucodegen.ir.types import Type
from gpucodegen.options import Options

if TYPE_CHECKING:
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.runtime.machine.processor import Cpu

ArgumentTypes = tuple[Type | None, ...]


def front_passes(
    function: str,
    types: ArgumentTypes,
    handled: Iterable[str] = (),
    target: str = "",
    *,
    guard: bool = False,
) -> list[ModulePass]:
    """To affine nests on buffers, specialised to the argument types of a call.

    ``handled`` operations and library calls are run by functions of the caller.
    ``guard``: accesses that are not proven to stay inside are checked.
    """
    from gpucodegen.passes.checks.bounds import CheckBounds
    from gpucodegen.passes.checks.effects import CheckEffects
    from gpucodegen.passes.checks.lifetimes import CheckLifetimes
    from gpucodegen.passes.checks.reads import CheckReads
    from gpucodegen.passes.checks.shapes import CheckShapes
    from gpucodegen.passes.framework.reachable import KeepReachable
    from gpucodegen.passes.prepare.affine.canonicalize import Canonicalize
    from gpucodegen.passes.prepare.affine.raise_to_affine import RaiseToAffine
    from gpucodegen.passes.prepare.functions.forward_ranks import ForwardRanks
    from gpucodegen.passes.prepare.functions.inline import Inline
    from gpucodegen.passes.prepare.functions.inline_branches import InlineBranches
    from gpucodegen.passes.prepare.functions.library_calls import LibraryCalls
    from gpucodegen.passes.prepare.functions.propagate_aliases import PropagateAliases
    from gpucodegen.passes.prepare.functions.specialize import Specialize
    from gpucodegen.passes.prepare.functions.specialize_ranks import SpecializeRanks
    from gpucodegen.passes.prepare.launches.host_gpu import HostGpuToMemref
    from gpucodegen.passes.prepare.launches.inline_launches import InlineLaunches
    from gpucodegen.passes.prepare.launches.launches_to_loops import LaunchesToLoops
    from gpucodegen.passes.prepare.linalg.contract_vectors import VectorContract
    from gpucodegen.passes.prepare.linalg.decompose_softmax import DecomposeSoftmax
    from gpucodegen.passes.prepare.linalg.elementwise import ElementwiseToLinalg
    from gpucodegen.passes.prepare.linalg.generalize import Generalize
    from gpucodegen.passes.prepare.linalg.linalg_to_affine import LinalgToAffine
    from gpucodegen.passes.prepare.memory.bufferize import Bufferize
    from gpucodegen.passes.prepare.memory.flatten_elements import FlattenElements
    from gpucodegen.passes.prepare.memory.normalize_transfers import NormalizeTransfers
    from gpucodegen.passes.prepare.memory.place_allocations import PlaceAllocations
    from gpucodegen.passes.prepare.memory.rebase_views import RebaseViews
    from gpucodegen.passes.prepare.memory.slices_to_views import SlicesToViews

    return [
        CheckEffects(),
        SpecializeRanks(),
        HostGpuToMemref(),
        InlineLaunches(),
        *([LaunchesToLoops()] if target == "cpu" else []),
        Inline(),
        KeepReachable(function),
        CheckLifetimes(),
        ForwardRanks(),
        SlicesToViews(),
        RebaseViews(),
        PlaceAllocations(),
        ElementwiseToLinalg(),
        VectorContract(),
        Specialize(function, types),
        DecomposeSoftmax(),
        Generalize(),
        Bufferize(),
        LibraryCalls(tuple(handled)),
        *([CheckShapes()] if guard else []),
        LinalgToAffine(),
        NormalizeTransfers(),
        Canonicalize(),
        PropagateAliases(),
        InlineBranches(),
        RaiseToAffine(),
        FlattenElements(),
        Canonicalize(),
        CheckReads(),
        CheckBounds(function, types, guard),
    ]


def mapping_passes(target: str, options: Options) -> list[ModulePass]:
    """Tile, map, outline and prove."""
    from gpucodegen.passes.checks.kernels import VerifyKernels
    from gpucodegen.passes.checks.memory_spaces import CheckMemorySpaces
    from gpucodegen.passes.checks.size import VECTOR_BYTES, CheckSize
    from gpucodegen.passes.loops.tiling.tile import Tile
    from gpucodegen.passes.prepare.memory.heap_allocations import HeapAllocations
    from gpucodegen.passes.prepare.memory.normalize_memrefs import NormalizeMemrefs

    sizes, relaxed = options.tile_sizes, options.reassociate
    ordered = (
        [Tile(sizes, relaxed, fewer=True)] if sizes else _reordered(target, options)
    )
    isolated = _isolated(target, options)
    private, *mapped = _cpu(options) if target == "cpu" else _gpu(options)
    proven = [VerifyKernels()] if options.verify else []
    short = CheckSize(vector_bytes=VECTOR_BYTES)
    checked, normal = CheckMemorySpaces(target), NormalizeMemrefs()
    heap = [HeapAllocations()] if target == "cpu" else []
    ordered = [*isolated, private, *ordered]
    return [checked, normal, *heap, *ordered, *mapped, short, *proven]


def _isolated(target: str, options: Options) -> Sequence[ModulePass]:
    """Contractions for the CPU; given tile sizes are those of the nests as written."""
    from gpucodegen.passes.contraction.recognition.isolate import (
        IsolateContractions,
    )
    from gpucodegen.passes.prepare.affine.mem2reg import Mem2Reg

    if target != "cpu" or options.exact or options.tile_sizes:
        return []
    return [Mem2Reg(), IsolateContractions()]


def _reordered(target: str, options: Options) -> Sequence[ModulePass]:
    """Loops for the caches of the CPU; ``exact`` programs run as they are written."""
    from gpucodegen.passes.loops.cells.contract_arrays import ContractArrays
    from gpucodegen.passes.loops.order.improve_locality import ImproveLocality
    from gpucodegen.runtime.machine.processor import thread_count

    if target != "cpu" or options.exact:
        return []
    threads = options.threads or thread_count()
    return [ImproveLocality(threads=threads), ContractArrays()]


def _gpu(options: Options) -> Sequence[ModulePass]:
    """Private scalars where a warp has work, then kernels and their launches."""
    from gpucodegen.passes.gpu.blocks.threads import WARP
    from gpucodegen.passes.gpu.map_gpu import MapGpu
    from gpucodegen.passes.loops.cells.privatize import Privatize
    from gpucodegen.passes.prepare.functions.mark_overwritten import MarkOverwritten

    on_gpu = MapGpu(contractions=not options.exact)
    return [Privatize(min_iterations=WARP), MarkOverwritten(), on_gpu]


def _cpu(options: Options) -> Sequence[ModulePass]:
    """Private scalars, then loops in tiles and vectors, and kernels of them."""
    from gpucodegen.passes.cpu.outline_cpu import OutlineCpu
    from gpucodegen.passes.loops.cells.carry_stores import CarryStores
    from gpucodegen.passes.loops.cells.privatize import Privatize
    from gpucodegen.passes.loops.iterations.coalesce import Coalesce
    from gpucodegen.passes.prepare.functions.propagate_aliases import PropagateAliases
    from gpucodegen.passes.prepare.memory.expand_copies import ExpandCopies
    from gpucodegen.runtime.machine.processor import cpu

    host = cpu()
    threads = options.threads or host.threads
    return [
        Privatize(),
        ExpandCopies(host.caches.kept_by(threads)),
        *_time_tiles(options, host, threads),
        CarryStores(),
        _register_tiles(options, host, threads),
        Coalesce(),
        OutlineCpu(),
        PropagateAliases(),
        _vectors(options, host, threads),
    ]


def _time_tiles(options: Options, host: Cpu, threads: int) -> Sequence[ModulePass]:
    """Wavefronts of tiles over time loops, unless the caller chose tiles."""
    from gpucodegen.passes.loops.tiling.wavefront import Wavefront

    if not options.time_tiles or options.tile_sizes:
        return []
    return [Wavefront((), 0, threads, host.caches.second, host.caches.shared)]


def _register_tiles(options: Options, host: Cpu, threads: int) -> ModulePass:
    """Contractions, and loops that are parallel."""
    from gpucodegen.passes.cpu.map_cpu import MapCpu

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
    """Innermost loops of kernels."""
    from gpucodegen.passes.cpu.vectorize import Vectorize

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
