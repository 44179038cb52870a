"""Every pass by its command-line name; the modules are imported when used."""

from __future__ import annotations

from importlib import import_module

from gpucodegen import errors
from gpucodegen.passes.framework.base import ModulePass

PASSES: dict[str, str] = {
    "assume-alignments": "prepare.functions.assume_alignments:AssumeAlignments",
    "bufferize": "prepare.tensors.bufferize:Bufferize",
    "canonicalize": "prepare.affine.canonicalize:Canonicalize",
    "atomic-updates": "loops.scatter.atomic_updates:AtomicUpdates",
    "carry-stores": "loops.cells.carry_stores:CarryStores",
    "check-bounds": "checks.bounds:CheckBounds",
    "check-effects": "checks.effects:CheckEffects",
    "check-lifetimes": "checks.lifetimes:CheckLifetimes",
    "check-loop-steps": "checks.guards.loop_steps:CheckLoopSteps",
    "check-memory-spaces": "checks.memory_spaces:CheckMemorySpaces",
    "check-reads": "checks.reads:CheckReads",
    "check-exchanges": "prepare.launches.exchanges:CheckExchanges",
    "check-shapes": "checks.shapes:CheckShapes",
    "check-size": "checks.size:CheckSize",
    "check-transfers": "checks.transfer_pairs:CheckTransfers",
    "coalesce": "loops.iterations.coalesce:Coalesce",
    "contract-arrays": "loops.cells.contract_arrays:ContractArrays",
    "convert-to-cfg": "lower_affine:LowerIfAndFor",
    "decompose-softmax": "prepare.linalg.decompose_softmax:DecomposeSoftmax",
    "decompose-windows": "prepare.linalg.decompose_windows:DecomposeWindows",
    "decompose-winograd": "prepare.linalg.decompose_winograd:DecomposeWinograd",
    "distribute": "loops.order.distribute:Distribute",
    "elementwise-to-linalg": "prepare.linalg.elementwise:ElementwiseToLinalg",
    "expand-atomics": "prepare.memory.expand_atomics:ExpandAtomics",
    "expand-copies": "prepare.memory.expand_copies:ExpandCopies",
    "expand-operations": "prepare.affine.expand_operations:ExpandOperations",
    "flatten-elements": "prepare.memory.flatten_elements:FlattenElements",
    "forall-to-loops": "prepare.tensors.forall_to_loops:ForallToLoops",
    "forward-ranks": "prepare.functions.forward_ranks:ForwardRanks",
    "fuse-elementwise": "loops.order.fuse_elementwise:FuseElementwise",
    "fuse-tensors": "prepare.linalg.fuse_tensors:FuseTensors",
    "fuse": "loops.order.fuse:Fuse",
    "generalize": "prepare.linalg.generalize:Generalize",
    "heap-allocations": "prepare.memory.heap_allocations:HeapAllocations",
    "host-gpu-to-memref": "prepare.launches.host_gpu:HostGpuToMemref",
    "improve-locality": "loops.order.improve_locality:ImproveLocality",
    "inline": "prepare.functions.inline:Inline",
    "index-to-arith": "prepare.affine.index_to_arith:IndexToArith",
    "inline-branches": "prepare.functions.inline_branches:InlineBranches",
    "inline-launches": "prepare.launches.inline_launches:InlineLaunches",
    "isolate-contractions": "contraction.recognition.isolate:IsolateContractions",
    "interchange": "loops.order.interchange:Interchange",
    "join-transfers": "gpu.transfers.join:JoinTransfers",
    "keep-in-flight": "gpu.transfers.keep_in_flight:KeepInFlight",
    "keep-reachable": "framework.reachable:KeepReachable",
    "launches-to-loops": "prepare.launches.launches_to_loops:LaunchesToLoops",
    "least-barriers": "gpu.transfers.least_barriers:LeastBarriers",
    "library-calls": "prepare.functions.library_calls:LibraryCalls",
    "linalg-to-affine": "prepare.linalg.linalg_to_affine:LinalgToAffine",
    "loops-to-index": "prepare.affine.loops_to_index:LoopsToIndex",
    "lower-affine": "lower_affine:LowerAffine",
    "lower-affine-apply": "lower_affine:LowerAffineApply",
    "lower-deallocations": "prepare.memory.lower_deallocations:LowerDeallocations",
    "lower-collectives": "gpu.collectives.lower:LowerCollectives",
    "lower-if-and-for": "lower_affine:LowerIfAndFor",
    "map-cpu": "cpu.map_cpu:MapCpu",
    "map-gpu": "gpu.map_gpu:MapGpu",
    "mark-overwritten": "prepare.functions.mark_overwritten:MarkOverwritten",
    "known-callees": "prepare.functions.known_callees:KnownCallees",
    "mem2reg": "prepare.affine.mem2reg:Mem2Reg",
    "memref-dependence-check": "analysis.dependence_pairs:MemrefDependenceCheck",
    "normalize-loops": "loops.iterations.normalize_loops:NormalizeLoops",
    "normalize-memrefs": "prepare.memory.normalize_memrefs:NormalizeMemrefs",
    "outside-calls": "prepare.boundaries.outside_calls:OutsideCalls",
    "overlap-transfers": "gpu.transfers.overlap:OverlapTransfers",
    "normalize-transfers": "prepare.memory.normalize_transfers:NormalizeTransfers",
    "outline-cpu": "cpu.outline_cpu:OutlineCpu",
    "partial-updates": "loops.scatter.partial_updates:PartialUpdates",
    "peel": "loops.iterations.peel:Peel",
    "place-allocations": "prepare.memory.place_allocations:PlaceAllocations",
    "privatize": "loops.cells.privatize:Privatize",
    "promote": "gpu.transfers.promote:Promote",
    "propagate-aliases": "prepare.functions.propagate_aliases:PropagateAliases",
    "raise-to-affine": "prepare.affine.raise_to_affine:RaiseToAffine",
    "reshapes-to-casts": "prepare.memory.reshapes_to_casts:ReshapesToCasts",
    "rebase-views": "prepare.memory.rebase_views:RebaseViews",
    "restructure": "loops.restructuring.restructure:Restructure",
    "skew": "loops.order.skew:Skew",
    "slices-to-views": "prepare.memory.slices_to_views:SlicesToViews",
    "split-index-set": "loops.iterations.split_index_set:SplitIndexSet",
    "specialize-ranks": "prepare.functions.specialize_ranks:SpecializeRanks",
    "stablehlo-to-linalg": "prepare.stablehlo.convert:StablehloToLinalg",
    "tile": "loops.tiling.tile:Tile",
    "tile-bands": "loops.tiling.tile_bands:TileBands",
    "tosa-to-linalg": "prepare.tosa.convert:TosaToLinalg",
    "unroll": "loops.iterations.unroll:Unroll",
    "unroll-and-jam": "loops.iterations.unroll_and_jam:UnrollAndJam",
    "vectorize": "cpu.vectorize:Vectorize",
    "vectors-to-memory": "prepare.vectors.vectors_to_memory:VectorsToMemory",
    "vector-contract": "prepare.linalg.contract_vectors:VectorContract",
    "verify-kernels": "checks.kernels:VerifyKernels",
    "wavefront": "loops.tiling.wavefront:Wavefront",
    "widen-integers": "prepare.affine.widen_integers:WidenIntegers",
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
