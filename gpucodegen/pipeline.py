"""From a parsed module to mapped kernels: which passes run, in which order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from gpucodegen.ir.types import Type
from gpucodegen.options import Options

if TYPE_CHECKING:
    from gpucodegen.passes.base import ModulePass
    from gpucodegen.runtime.processor import Cpu

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
    from gpucodegen.passes.bufferize import Bufferize
    from gpucodegen.passes.canonicalize import Canonicalize
    from gpucodegen.passes.check_bounds import CheckBounds
    from gpucodegen.passes.check_effects import CheckEffects
    from gpucodegen.passes.check_lifetimes import CheckLifetimes
    from gpucodegen.passes.check_reads import CheckReads
    from gpucodegen.passes.check_shapes import CheckShapes
    from gpucodegen.passes.decompose_softmax import DecomposeSoftmax
    from gpucodegen.passes.elementwise import ElementwiseToLinalg
    from gpucodegen.passes.flatten_elements import FlattenElements
    from gpucodegen.passes.forward_ranks import ForwardRanks
    from gpucodegen.passes.generalize import Generalize
    from gpucodegen.passes.host_gpu import HostGpuToMemref
    from gpucodegen.passes.inline import Inline
    from gpucodegen.passes.inline_branches import InlineBranches
    from gpucodegen.passes.inline_launches import InlineLaunches
    from gpucodegen.passes.launches_to_loops import LaunchesToLoops
    from gpucodegen.passes.library_calls import LibraryCalls
    from gpucodegen.passes.linalg_to_affine import LinalgToAffine
    from gpucodegen.passes.normalize_transfers import NormalizeTransfers
    from gpucodegen.passes.place_allocations import PlaceAllocations
    from gpucodegen.passes.propagate_aliases import PropagateAliases
    from gpucodegen.passes.raise_to_affine import RaiseToAffine
    from gpucodegen.passes.reachable import KeepReachable
    from gpucodegen.passes.rebase_views import RebaseViews
    from gpucodegen.passes.slices_to_views import SlicesToViews
    from gpucodegen.passes.specialize import Specialize
    from gpucodegen.passes.specialize_ranks import SpecializeRanks
    from gpucodegen.passes.vector_contract import VectorContract

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
    from gpucodegen.passes.check_memory_spaces import CheckMemorySpaces
    from gpucodegen.passes.check_size import VECTOR_BYTES, CheckSize
    from gpucodegen.passes.heap_allocations import HeapAllocations
    from gpucodegen.passes.loops.tile import Tile
    from gpucodegen.passes.normalize_memrefs import NormalizeMemrefs
    from gpucodegen.passes.verify_kernels import VerifyKernels

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
    from gpucodegen.passes.isolate_contractions import IsolateContractions
    from gpucodegen.passes.mem2reg import Mem2Reg

    if target != "cpu" or options.exact or options.tile_sizes:
        return []
    return [Mem2Reg(), IsolateContractions()]


def _reordered(target: str, options: Options) -> Sequence[ModulePass]:
    """Loops for the caches of the CPU; ``exact`` programs run as they are written."""
    from gpucodegen.passes.loops.contract_arrays import ContractArrays
    from gpucodegen.passes.loops.improve_locality import ImproveLocality
    from gpucodegen.runtime.processor import thread_count

    if target != "cpu" or options.exact:
        return []
    threads = options.threads or thread_count()
    return [ImproveLocality(threads=threads), ContractArrays()]


def _gpu(options: Options) -> Sequence[ModulePass]:
    """Private scalars where a warp has work, then kernels and their launches."""
    from gpucodegen.passes.block_threads import WARP
    from gpucodegen.passes.map_gpu import MapGpu
    from gpucodegen.passes.mark_overwritten import MarkOverwritten
    from gpucodegen.passes.privatize import Privatize

    on_gpu = MapGpu(contractions=not options.exact)
    return [Privatize(min_iterations=WARP), MarkOverwritten(), on_gpu]


def _cpu(options: Options) -> Sequence[ModulePass]:
    """Private scalars, then loops in tiles and vectors, and kernels of them."""
    from gpucodegen.passes.expand_copies import ExpandCopies
    from gpucodegen.passes.loops.coalesce import Coalesce
    from gpucodegen.passes.outline_cpu import OutlineCpu
    from gpucodegen.passes.privatize import Privatize
    from gpucodegen.passes.propagate_aliases import PropagateAliases
    from gpucodegen.runtime.processor import cpu

    host = cpu()
    threads = options.threads or host.threads
    return [
        Privatize(),
        ExpandCopies(host.caches.second),
        *_time_tiles(options, host, threads),
        *_rows(options, host),
        _register_tiles(options, host, threads),
        Coalesce(),
        OutlineCpu(),
        PropagateAliases(),
        _vectors(options, host, threads),
    ]


def _time_tiles(options: Options, host: Cpu, threads: int) -> Sequence[ModulePass]:
    """Wavefronts of tiles over time loops, unless the caller chose tiles."""
    from gpucodegen.passes.wavefront import Wavefront

    if not options.time_tiles or options.tile_sizes:
        return []
    return [Wavefront((), 0, threads, host.caches.second, host.caches.shared)]


def _rows(options: Options, host: Cpu) -> Sequence[ModulePass]:
    """What several iterations of an outer loop do together."""
    from gpucodegen.passes.loops.carry_stores import CarryStores
    from gpucodegen.passes.loops.jam_rows import JamRows

    jam = JamRows(
        vector_bits=host.vector_bits,
        registers=host.vector_registers,
        cache=host.caches.second,
        shared=host.caches.shared_by(1),
        relaxed=options.reassociate,
        exact=options.exact,
        first_cache=host.caches.first,
    )
    return [CarryStores(), jam]


def _register_tiles(options: Options, host: Cpu, threads: int) -> ModulePass:
    """Contractions, and loops that are parallel."""
    from gpucodegen.passes.map_cpu import MapCpu

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
    )


def _vectors(options: Options, host: Cpu, threads: int) -> ModulePass:
    """Innermost loops of kernels."""
    from gpucodegen.passes.vectorize import Vectorize

    return Vectorize(
        vector_bits=host.vector_bits,
        registers=host.vector_registers,
        threads=threads,
        cache=host.caches.second,
        relaxed=options.reassociate,
        exact=options.exact,
        first_cache=host.caches.first,
        shared=host.caches.shared_by(threads),
    )
