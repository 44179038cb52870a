"""Pass pipeline from a parsed module to mapped kernels.

`FRONT` lowers to affine nests on buffers in named stages, equal for all targets. A
target's record adds the passes that map the nests, and every mapped kernel is proven
free of races. This module imports all passes, so it is imported only when one runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpucodegen.compiling.targets.registry import find
from gpucodegen.ir.types import Type
from gpucodegen.options import Options
from gpucodegen.passes.analysis.place_allocations import PlaceAllocations
from gpucodegen.passes.checks.bounds import CheckBounds
from gpucodegen.passes.checks.buffers import CheckEffects, CheckLifetimes, CheckReads
from gpucodegen.passes.checks.loop_steps import CheckLoopSteps
from gpucodegen.passes.checks.races import VerifyKernels
from gpucodegen.passes.checks.shapes import CheckShapes
from gpucodegen.passes.checks.supported import (
    VECTOR_BYTES,
    CheckMemorySpaces,
    CheckSize,
    VerifyShuffles,
)
from gpucodegen.passes.contraction.attention.fuse_attention import FuseAttention
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import KeepReachable
from gpucodegen.passes.gpu.lower_collectives import LowerCollectives
from gpucodegen.passes.gpu.synchronization import (
    AssignWaitGroups,
    EliminateBarriers,
    JoinTransfers,
)
from gpucodegen.passes.prepare.annotations import DropAnnotations
from gpucodegen.passes.prepare.argument_facts import AssumeAlignments, PropagateAliases
from gpucodegen.passes.prepare.canonicalize import Canonicalize
from gpucodegen.passes.prepare.decompose_linalg import (
    DecomposeSoftmax,
    DecomposeWindows,
    DecomposeWinograd,
)
from gpucodegen.passes.prepare.devirtualize_calls import DevirtualizeCalls, LibraryCalls
from gpucodegen.passes.prepare.expand_operations import ExpandAtomics, ExpandOperations
from gpucodegen.passes.prepare.flatten_elements import FlattenElements
from gpucodegen.passes.prepare.hoist_index_values import HoistIndexValues
from gpucodegen.passes.prepare.index_types import IndexToArith, LoopsToIndex
from gpucodegen.passes.prepare.inline import Inline, InlineBranches
from gpucodegen.passes.prepare.inline_launches import InlineLaunches
from gpucodegen.passes.prepare.launches_to_loops import HostGpuToMemref, LaunchesToLoops
from gpucodegen.passes.prepare.linalg_on_tensors import (
    ElementwiseToLinalg,
    FuseTensors,
    VectorContract,
)
from gpucodegen.passes.prepare.linalg_to_affine import Generalize, LinalgToAffine
from gpucodegen.passes.prepare.memory_operations import (
    CopiesToLoops,
    HoistGlobals,
    LowerDeallocations,
)
from gpucodegen.passes.prepare.memref_views import (
    RebaseViews,
    ReshapesToCasts,
    SlicesToViews,
)
from gpucodegen.passes.prepare.normalize_memrefs import (
    NormalizeMemrefs,
    NormalizeTransfers,
)
from gpucodegen.passes.prepare.outside_calls import OutsideCalls
from gpucodegen.passes.prepare.raise_to_affine import RaiseToAffine
from gpucodegen.passes.prepare.specialize import (
    ForwardRanks,
    Specialize,
    SpecializeRanks,
)
from gpucodegen.passes.prepare.stablehlo.convert import StablehloToLinalg
from gpucodegen.passes.prepare.tensors.bufferize import Bufferize
from gpucodegen.passes.prepare.tensors.forall_to_loops import ForallToLoops
from gpucodegen.passes.prepare.tensors.scalarize import ScalarizeTensors
from gpucodegen.passes.prepare.tosa.convert import TosaToLinalg
from gpucodegen.passes.prepare.uplift_while import UpliftWhile
from gpucodegen.passes.prepare.vectors.vectors_to_memory import VectorsToMemory
from gpucodegen.passes.prepare.widen_integers import WidenIntegers
from gpucodegen.records import dataclass

ArgumentTypes = tuple[Type | None, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """Parameters of a compilation.

    ``types`` are known facts of the arguments. ``handled`` operations and library calls
    are run by functions of the caller. ``runs_launches``: launches are kept. ``guard``:
    accesses that are not proven to stay in bounds are checked if arguments decide, and
    with ``guards_kernels`` also if data decide. ``alignments``: known divisors of the
    arguments' addresses in bytes, 0 if unknown. The generic version assumes whole
    arrays aligned to 256 bytes, as devices allocate them. ``fuses_attention``: it is a
    kernel planned for ``arch``.
    """

    function: str
    types: ArgumentTypes
    handled: tuple[str, ...] = ()
    runs_launches: bool = True
    guard: bool = False
    guards_kernels: bool = False
    alignments: tuple[int, ...] = ()
    fuses_attention: bool = False
    arch: str = ""


def text_of_others(
    handled: Iterable[str] = (), *, on_cpu: bool = False
) -> Sequence[ModulePass]:
    """Passes that convert StableHLO and TOSA to linalg on tensors.

    ``handled``: operations and functions that the caller runs; without any, those of
    unknown dialects that only annotate are dropped. ``on_cpu``: for a CPU.
    """
    known = [StablehloToLinalg(on_cpu), TosaToLinalg()]
    return known if tuple(handled) else [DropAnnotations(), *known]


def _others(r: Request) -> Sequence[ModulePass]:
    return text_of_others(r.handled, on_cpu=not r.runs_launches)


def _calls(r: Request) -> Sequence[ModulePass]:
    launches = [LaunchesToLoops(printing=r.runs_launches)]
    plain = [IndexToArith(), ExpandOperations()]
    ranks = [CheckEffects(), *plain, SpecializeRanks()]
    calls = [DevirtualizeCalls(r.function), Inline()]
    return [*ranks, HostGpuToMemref(), InlineLaunches(), *launches, *calls]


def _memory(r: Request) -> Sequence[ModulePass]:
    kept = [KeepReachable(r.function), OutsideCalls(r.handled), LowerDeallocations()]
    checked = [CheckLifetimes(), ExpandAtomics(), ForwardRanks()]
    return [*kept, *checked, SlicesToViews(), RebaseViews(), PlaceAllocations()]


def _tensors(r: Request) -> Sequence[ModulePass]:
    scalars = [ScalarizeTensors(), UpliftWhile()]
    named = [ElementwiseToLinalg(), VectorContract(), Specialize(r.function, r.types)]
    several = [DecomposeSoftmax(), DecomposeWinograd(), DecomposeWindows()]
    buffers = [FuseTensors(), Bufferize(), HoistGlobals(), ForallToLoops()]
    addresses = r.arch, r.function, r.alignments
    attention = [FuseAttention(*addresses)] if r.fuses_attention else []
    return [*scalars, *named, *several, Generalize(), *buffers, *attention]


def _loops(r: Request) -> Sequence[ModulePass]:
    checked = [CheckShapes(r.guards_kernels)] if r.guard else []
    return [
        LibraryCalls(r.handled),
        ReshapesToCasts(),
        *checked,
        LinalgToAffine(),
        CopiesToLoops(),
        NormalizeTransfers(),
        LoopsToIndex(),
        WidenIntegers(),
    ]


def _affine(_: Request) -> Sequence[ModulePass]:
    branches = [Canonicalize(), PropagateAliases(), InlineBranches()]
    raised = [HoistIndexValues(), RaiseToAffine()]
    vectors = [VectorsToMemory(), *raised, FlattenElements()]
    return [*branches, *vectors, Canonicalize(), CheckLoopSteps()]


def _accesses(r: Request) -> Sequence[ModulePass]:
    addresses = AssumeAlignments(r.function, r.alignments)
    stated = [addresses] if r.runs_launches else []
    return [CheckReads(), CheckBounds(r.guard, r.guards_kernels), *stated]


FRONT: dict[str, Callable[[Request], Sequence[ModulePass]]] = {
    "StableHLO and TOSA become linalg on tensors": _others,
    "launches and calls become one function": _calls,
    "views and lifetimes of buffers": _memory,
    "operations on tensors become loops over buffers of known extents": _tensors,
    "library calls, and linalg as loops": _loops,
    "control flow becomes affine": _affine,
    "every access is inside, every value written before it is read": _accesses,
}
"""The stages on the way to affine nests on buffers, in order."""


def front_passes(
    function: str,
    types: ArgumentTypes,
    handled: Iterable[str] = (),
    *,
    runs_launches: bool = True,
    guard: bool = False,
    guards_kernels: bool = False,
    alignments: tuple[int, ...] = (),
    fuses_attention: bool = False,
    arch: str = "",
) -> list[ModulePass]:
    """The passes down to affine nests on buffers, as a `Request` says.

    >>> front_passes("f", ())[-1].name
    'assume-alignments'
    """
    operations = tuple(handled), runs_launches, guard, guards_kernels
    kernels = fuses_attention, arch
    request = Request(function, types, *operations, alignments, *kernels)
    return [pass_ for stage in FRONT.values() for pass_ in stage(request)]


def scheduled_passes(target: str, options: Options, function: str) -> list[ModulePass]:
    """The target's own passes, or those of the function's schedule.

    Raises InvalidOption.
    """
    passes = list(find(target).passes(options))
    given = options.schedule_of(function)
    if given is None:
        return passes
    from gpucodegen.schedule.passes import scheduled

    return scheduled(passes, given, function)


def mapping_passes(
    target: str, options: Options, function: str = ""
) -> list[ModulePass]:
    """Tile, map, outline and prove.

    >>> [p.name for p in mapping_passes("cuda", Options())][-4:]
    ['assign-wait-groups', 'eliminate-barriers', 'verify-kernels', 'lower-collectives']
    """
    record = find(target)
    barriers = [EliminateBarriers()] if options.verify else []
    return [
        CheckMemorySpaces(target),
        *([VerifyShuffles()] if record.runs_launches else []),
        NormalizeMemrefs(),
        *scheduled_passes(target, options, function),
        CheckSize(vector_bytes=VECTOR_BYTES),
        *(
            [JoinTransfers(), AssignWaitGroups(), *barriers]
            if record.runs_launches
            else []
        ),
        *([VerifyKernels()] if options.verify else []),
        *([LowerCollectives(options.verify)] if record.runs_launches else []),
    ]


def all_passes(
    function: str,
    types: ArgumentTypes,
    target: str,
    options: Options,
    alignments: tuple[int, ...] = (),
) -> list[ModulePass]:
    """From a parsed module to the mapped kernels of a function."""
    record = find(target)
    return [
        CheckSize(operations=options.max_operations),
        *front_passes(
            function,
            types,
            options.outside,
            runs_launches=record.runs_launches,
            guard=not options.unchecked,
            guards_kernels=record.guards_accesses,
            alignments=alignments,
            fuses_attention=record.runs_launches and not options.exact,
            arch=options.arch,
        ),
        *mapping_passes(target, options, function),
    ]
