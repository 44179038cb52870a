"""Pass pipelines as text: ``canonicalize,tile{sizes=[32,32],relaxed=true},map-gpu``.

pipeline ::= (pass (`,` pass)*)?      pass  ::= name (`{` option (`,` option)* `}`)?
option   ::= field `=` value          value ::= word | `[` (word (`,` word)*)? `]`

The table maps command-line names to passes, whose modules are imported on first use.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from importlib import import_module

from gpucodegen import errors
from gpucodegen.passes.framework.base import ModulePass

PASSES: dict[str, str] = {
    "assign-wait-groups": "gpu.synchronization:AssignWaitGroups",
    "assume-alignments": "prepare.argument_facts:AssumeAlignments",
    "atomic-updates": "loops.histogram_privatization:AtomicUpdates",
    "bind": "nests.bindings:Bind",
    "bufferize": "prepare.tensors.bufferize:Bufferize",
    "canonicalize": "prepare.canonicalize:Canonicalize",
    "carry-stores": "loops.scalar_replacement:CarryStores",
    "check-bounds": "checks.bounds:CheckBounds",
    "check-effects": "checks.buffers:CheckEffects",
    "check-lifetimes": "checks.buffers:CheckLifetimes",
    "check-loop-steps": "checks.loop_steps:CheckLoopSteps",
    "check-memory-spaces": "checks.supported:CheckMemorySpaces",
    "check-reads": "checks.buffers:CheckReads",
    "check-shapes": "checks.shapes:CheckShapes",
    "check-size": "checks.supported:CheckSize",
    "check-transfers": "checks.races:CheckTransfers",
    "coalesce": "loops.coalesce:Coalesce",
    "contract-arrays": "loops.array_contraction:ContractArrays",
    "convert-to-cfg": "lower_affine.passes:LowerIfAndFor",
    "copies-to-loops": "prepare.memory_operations:CopiesToLoops",
    "decompose-softmax": "prepare.decompose_linalg:DecomposeSoftmax",
    "decompose-windows": "prepare.decompose_linalg:DecomposeWindows",
    "decompose-winograd": "prepare.decompose_linalg:DecomposeWinograd",
    "devirtualize-calls": "prepare.devirtualize_calls:DevirtualizeCalls",
    "distribute": "nests.distribution:Distribute",
    "elementwise-to-linalg": "prepare.linalg_on_tensors:ElementwiseToLinalg",
    "eliminate-barriers": "gpu.synchronization:EliminateBarriers",
    "expand-atomics": "prepare.expand_operations:ExpandAtomics",
    "expand-copies": "prepare.memory_operations:ExpandCopies",
    "expand-operations": "prepare.expand_operations:ExpandOperations",
    "flatten-elements": "prepare.flatten_elements:FlattenElements",
    "forall-to-loops": "prepare.tensors.forall_to_loops:ForallToLoops",
    "forward-ranks": "prepare.specialize:ForwardRanks",
    "fuse": "loops.fusion:Fuse",
    "fuse-elementwise": "loops.fusion:FuseElementwise",
    "fuse-scans": "loops.scan_fusion:FuseScans",
    "fuse-tensors": "prepare.linalg_on_tensors:FuseTensors",
    "generalize": "prepare.linalg_to_affine:Generalize",
    "heap-allocations": "prepare.memory_operations:HeapAllocations",
    "hoist-globals": "prepare.memory_operations:HoistGlobals",
    "host-gpu-to-memref": "prepare.launches_to_loops:HostGpuToMemref",
    "improve-locality": "loops.improve_locality:ImproveLocality",
    "index-to-arith": "prepare.index_types:IndexToArith",
    "inline": "prepare.inline:Inline",
    "hoist-index-values": "prepare.hoist_index_values:HoistIndexValues",
    "inline-branches": "prepare.inline:InlineBranches",
    "inline-launches": "prepare.inline_launches:InlineLaunches",
    "interchange": "loops.interchange:Interchange",
    "join-tiles": "loops.join_tiles:JoinTiles",
    "isolate-contractions": "contraction.isolate:IsolateContractions",
    "join-transfers": "gpu.synchronization:JoinTransfers",
    "keep-reachable": "framework.functions:KeepReachable",
    "launches-to-loops": "prepare.launches_to_loops:LaunchesToLoops",
    "library-calls": "prepare.devirtualize_calls:LibraryCalls",
    "linalg-to-affine": "prepare.linalg_to_affine:LinalgToAffine",
    "loops-to-index": "prepare.index_types:LoopsToIndex",
    "lower-affine": "lower_affine.passes:LowerAffine",
    "lower-affine-apply": "lower_affine.passes:LowerAffineApply",
    "lower-collectives": "gpu.lower_collectives:LowerCollectives",
    "lower-deallocations": "prepare.memory_operations:LowerDeallocations",
    "lower-if-and-for": "lower_affine.passes:LowerIfAndFor",
    "map-cpu": "cpu.map_cpu:MapCpu",
    "map-gpu": "gpu.map_gpu:MapGpu",
    "mark-overwritten": "prepare.argument_facts:MarkOverwritten",
    "mem2reg": "prepare.mem2reg:Mem2Reg",
    "memref-dependence-check": "analysis.queries:MemrefDependenceCheck",
    "normalize-loops": "loops.iteration_ranges:NormalizeLoops",
    "normalize-memrefs": "prepare.normalize_memrefs:NormalizeMemrefs",
    "normalize-transfers": "prepare.normalize_memrefs:NormalizeTransfers",
    "outline-cpu": "outlining.cpu_outliner:OutlineCpu",
    "outside-calls": "prepare.outside_calls:OutsideCalls",
    "overlap-transfers": "gpu.overlap_transfers:OverlapTransfers",
    "parallelize-reductions": "loops.parallel_totals:ParallelizeReductions",
    "peel": "loops.iteration_ranges:Peel",
    "place-allocations": "analysis.place_allocations:PlaceAllocations",
    "privatize": "loops.array_privatization:Privatize",
    "privatize-reductions": "loops.histogram_privatization:PrivatizeReductions",
    "promote": "gpu.promote:Promote",
    "propagate-aliases": "prepare.argument_facts:PropagateAliases",
    "raise-to-affine": "prepare.raise_to_affine:RaiseToAffine",
    "rebase-views": "prepare.memref_views:RebaseViews",
    "reshapes-to-casts": "prepare.memref_views:ReshapesToCasts",
    "restructure": "loops.restructure:Restructure",
    "sink-into-loops": "loops.sinking:SinkIntoLoops",
    "skew": "loops.restructure:Skew",
    "slices-to-views": "prepare.memref_views:SlicesToViews",
    "specialize-ranks": "prepare.specialize:SpecializeRanks",
    "split-at-wraps": "loops.iteration_ranges:SplitAtWraps",
    "split-index-set": "loops.iteration_ranges:SplitIndexSet",
    "split-reduction": "loops.split_reduction:SplitReduction",
    "stablehlo-to-linalg": "prepare.stablehlo.convert:StablehloToLinalg",
    "tile": "loops.rectangular_tiling:Tile",
    "tile-bands": "loops.rectangular_tiling:TileBands",
    "tosa-to-linalg": "prepare.tosa.convert:TosaToLinalg",
    "unroll": "loops.unroll:Unroll",
    "unroll-and-jam": "loops.unroll:UnrollAndJam",
    "vector-contract": "prepare.linalg_on_tensors:VectorContract",
    "vectorize": "vectorize.vectorize:Vectorize",
    "vectors-to-memory": "prepare.vectors.vectors_to_memory:VectorsToMemory",
    "verify-kernels": "checks.races:VerifyKernels",
    "verify-shuffles": "checks.supported:VerifyShuffles",
    "wavefront": "loops.wavefront:Wavefront",
    "widen-integers": "prepare.widen_integers:WidenIntegers",
}


RENAMED = {
    "check-exchanges": "verify-shuffles",
    "keep-in-flight": "assign-wait-groups",
    "known-callees": "devirtualize-calls",
    "least-barriers": "eliminate-barriers",
    "partial-updates": "privatize-reductions",
}
"""Names of earlier versions, which are refused with the present ones."""


def pass_class(name: str) -> type[ModulePass]:
    """The class of a pass, or UnknownPass with the nearest names.

    >>> pass_class("tile").__name__
    'Tile'
    """
    home = PASSES.get(name)
    if home is None:
        known = errors.one_of(sorted(PASSES))
        advice = errors.did_you_mean(name, list(PASSES), f"Known passes: {known}")
        if name in RENAMED:
            advice = f"It is called {RENAMED[name]} now"
        raise errors.UnknownPass(name=name, known=known, advice=advice)
    module, _, attribute = home.partition(":")
    return getattr(import_module(f"gpucodegen.passes.{module}"), attribute)


_TOKEN = re.compile(r"\s*(?:([\w.-]+)|([{}\[\],=])|(\S))")
Value = str | list[str]


def parse_pipeline(text: str) -> tuple[ModulePass, ...]:
    """Passes of a pipeline text, in order.

    >>> [str(p) for p in parse_pipeline("canonicalize, tile{sizes=[4,8]}")]
    ['canonicalize', 'tile{sizes=[4,8]}']
    """
    tokens = [m.group(1) or m.group(2) or m.group(3) for m in _TOKEN.finditer(text)]
    tokens = [token for token in tokens if token]
    passes: list[ModulePass] = []
    while tokens:
        passes.append(_pass(tokens))
        if tokens:
            _expect(tokens, ",", "between passes")
    return tuple(passes)


def _expect(tokens: list[str], wanted: str, where: str) -> None:
    found = tokens.pop(0) if tokens else "end of text"
    if found != wanted:
        raise errors.InvalidPassOption(
            name="pipeline",
            problem=f"expected '{wanted}' {where}, found '{found}'",
            hint="Write passes as name{field=value,..},name",
        )


def _pass(tokens: list[str]) -> ModulePass:
    name = tokens.pop(0)
    kind = pass_class(name)
    options: dict[str, Value] = {}
    if tokens[:1] == ["{"]:
        tokens.pop(0)
        while tokens[:1] != ["}"]:
            field = tokens.pop(0) if tokens else ""
            _expect(tokens, "=", f"after option '{field}'")
            options[field] = _value(tokens)
            if tokens[:1] != ["}"]:
                _expect(tokens, ",", "between options")
        tokens.pop(0)
    return kind(**_converted(name, kind, options))


def _value(tokens: list[str]) -> Value:
    if tokens[:1] != ["["]:
        return tokens.pop(0) if tokens else ""
    tokens.pop(0)
    values: list[str] = []
    while tokens[:1] != ["]"]:
        values.append(tokens.pop(0) if tokens else "")
        if tokens[:1] != ["]"]:
            _expect(tokens, ",", "in a list")
    tokens.pop(0)
    return values


def _converted(
    name: str, kind: type[ModulePass], options: dict[str, Value]
) -> dict[str, object]:
    known = {field.name: str(field.type) for field in fields(kind)}
    converted: dict[str, object] = {}
    for option, value in options.items():
        convert = _CONVERSIONS.get(known.get(option, ""))
        if convert is None:
            listed = ", ".join(known) or "none"
            hint = errors.did_you_mean(option, list(known), f"Options: {listed}")
            problem = f"unknown option '{option}'"
            raise errors.InvalidPassOption(name=name, problem=problem, hint=hint)
        try:
            converted[option] = convert(value)
        except (KeyError, TypeError, ValueError) as bad:
            problem = f"option '{option}' cannot be {value!r}"
            hint = f"Give a value of type {known[option]}"
            raise errors.InvalidPassOption(
                name=name, problem=problem, hint=hint
            ) from bad
    return converted


def _integer(value: Value) -> int:
    return int(value) if isinstance(value, str) else int(*value)


def _integers(value: Value) -> tuple[int, ...]:
    return tuple(map(int, [value] if isinstance(value, str) else value))


def _words(value: Value) -> tuple[str, ...]:
    return (value,) if isinstance(value, str) else tuple(value)


def _number_or_word(word: str) -> int | str:
    return int(word) if word.removeprefix("-").isdigit() else word


_TRUTH = {"true": True, "false": False}

_CONVERSIONS: dict[str, Callable[[Value], object]] = {
    "int": _integer,
    "bool": lambda value: _TRUTH[str(value)],
    "str": str,
    "tuple[int, ...]": _integers,
    "tuple[str, ...]": _words,
    "tuple[int | str, ...]": lambda value: tuple(map(_number_or_word, _words(value))),
}
