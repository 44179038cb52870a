"""Every pass by its command-line name; the modules are imported when used."""

from __future__ import annotations

from importlib import import_module

from gpucodegen import errors
from gpucodegen.passes.base import ModulePass

PASSES: dict[str, str] = {
    "bufferize": "bufferize:Bufferize",
    "canonicalize": "canonicalize:Canonicalize",
    "carry-stores": "loops.carry_stores:CarryStores",
    "check-bounds": "check_bounds:CheckBounds",
    "check-effects": "check_effects:CheckEffects",
    "check-lifetimes": "check_lifetimes:CheckLifetimes",
    "check-memory-spaces": "check_memory_spaces:CheckMemorySpaces",
    "check-reads": "check_reads:CheckReads",
    "check-shapes": "check_shapes:CheckShapes",
    "check-size": "check_size:CheckSize",
    "check-transfers": "pair_check:CheckTransfers",
    "coalesce": "loops.coalesce:Coalesce",
    "contract-arrays": "loops.contract_arrays:ContractArrays",
    "convert-to-cfg": "lower_affine:LowerIfAndFor",
    "decompose-softmax": "decompose_softmax:DecomposeSoftmax",
    "distribute": "loops.distribute:Distribute",
    "elementwise-to-linalg": "elementwise:ElementwiseToLinalg",
    "expand-copies": "expand_copies:ExpandCopies",
    "flatten-elements": "flatten_elements:FlattenElements",
    "forward-ranks": "forward_ranks:ForwardRanks",
    "fuse": "loops.fuse:Fuse",
    "generalize": "generalize:Generalize",
    "heap-allocations": "heap_allocations:HeapAllocations",
    "host-gpu-to-memref": "host_gpu:HostGpuToMemref",
    "improve-locality": "loops.improve_locality:ImproveLocality",
    "inline": "inline:Inline",
    "inline-branches": "inline_branches:InlineBranches",
    "inline-launches": "inline_launches:InlineLaunches",
    "isolate-contractions": "isolate_contractions:IsolateContractions",
    "interchange": "loops.interchange:Interchange",
    "jam-rows": "loops.jam_rows:JamRows",
    "keep-reachable": "reachable:KeepReachable",
    "launches-to-loops": "launches_to_loops:LaunchesToLoops",
    "library-calls": "library_calls:LibraryCalls",
    "linalg-to-affine": "linalg_to_affine:LinalgToAffine",
    "lower-affine": "lower_affine:LowerAffine",
    "lower-affine-apply": "lower_affine:LowerAffineApply",
    "lower-if-and-for": "lower_affine:LowerIfAndFor",
    "map-cpu": "map_cpu:MapCpu",
    "map-gpu": "map_gpu:MapGpu",
    "mark-overwritten": "mark_overwritten:MarkOverwritten",
    "mem2reg": "mem2reg:Mem2Reg",
    "memref-dependence-check": "dependence_check:MemrefDependenceCheck",
    "normalize-loops": "loops.normalize_loops:NormalizeLoops",
    "normalize-memrefs": "normalize_memrefs:NormalizeMemrefs",
    "overlap-transfers": "overlap:OverlapTransfers",
    "normalize-transfers": "normalize_transfers:NormalizeTransfers",
    "outline-cpu": "outline_cpu:OutlineCpu",
    "peel": "loops.peel:Peel",
    "place-allocations": "place_allocations:PlaceAllocations",
    "privatize": "privatize:Privatize",
    "promote": "promote:Promote",
    "propagate-aliases": "propagate_aliases:PropagateAliases",
    "raise-to-affine": "raise_to_affine:RaiseToAffine",
    "rebase-views": "rebase_views:RebaseViews",
    "restructure": "restructure:Restructure",
    "skew": "skew:Skew",
    "slices-to-views": "slices_to_views:SlicesToViews",
    "split-index-set": "loops.split_index_set:SplitIndexSet",
    "specialize-ranks": "specialize_ranks:SpecializeRanks",
    "tile": "loops.tile:Tile",
    "tile-bands": "tile_bands:TileBands",
    "unroll": "loops.unroll:Unroll",
    "unroll-and-jam": "loops.unroll_and_jam:UnrollAndJam",
    "vectorize": "vectorize:Vectorize",
    "vector-contract": "vector_contract:VectorContract",
    "verify-kernels": "verify_kernels:VerifyKernels",
    "wavefront": "wavefront:Wavefront",
}


def pass_class(name: str) -> type[ModulePass]:
    """The class of a pass, or UnknownPass with the nearest names.

    >>> pass_class("tile").__name__
    'Tile'
    """
    home = PASSES.get(name)
    if home is None:
        known = errors.one_of(sorted(PASSES))
        advice = errors.did_you_mean(name, list(PASSES), f"Known passes: {known}")
        raise errors.UnknownPass(name=name, known=known, advice=advice)
    module, _, attribute = home.partition(":")
    return getattr(import_module(f"gpucodegen.passes.{module}"), attribute)
