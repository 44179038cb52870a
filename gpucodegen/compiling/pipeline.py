"""From a parsed module to mapped kernels: which passes run, in which order.

`FRONT` is the way to affine nests on buffers, in named stages, the same for every
target.  The record of a target has the passes that map the nests, and every mapped
kernel is proven.  This module imports all passes, so it is imported when one runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from gpucodegen.compiling.targets.registry import find
from gpucodegen.ir.types import Type
from gpucodegen.options import Options
from gpucodegen.passes.checks.bounds import CheckBounds
from gpucodegen.passes.checks.effects import CheckEffects
from gpucodegen.passes.checks.guards.loop_steps import CheckLoopSteps
from gpucodegen.passes.checks.kernels import VerifyKernels
from gpucodegen.passes.checks.lifetimes import CheckLifetimes
from gpucodegen.passes.checks.memory_spaces import CheckMemorySpaces
from gpucodegen.passes.checks.reads import CheckReads
from gpucodegen.passes.checks.shapes import CheckShapes
from gpucodegen.passes.checks.size import VECTOR_BYTES, CheckSize
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.reachable import KeepReachable
from gpucodegen.passes.gpu.collectives.lower import LowerCollectives
from gpucodegen.passes.gpu.transfers.join import JoinTransfers
from gpucodegen.passes.gpu.transfers.keep_in_flight import KeepInFlight
from gpucodegen.passes.gpu.transfers.least_barriers import LeastBarriers
from gpucodegen.passes.prepare.affine.canonicalize import Canonicalize
from gpucodegen.passes.prepare.affine.expand_operations import ExpandOperations
from gpucodegen.passes.prepare.affine.index_to_arith import IndexToArith
from gpucodegen.passes.prepare.affine.loops_to_index import LoopsToIndex
from gpucodegen.passes.prepare.affine.raise_to_affine import RaiseToAffine
from gpucodegen.passes.prepare.affine.widen_integers import WidenIntegers
from gpucodegen.passes.prepare.boundaries.outside_calls import OutsideCalls
from gpucodegen.passes.prepare.functions.assume_alignments import AssumeAlignments
from gpucodegen.passes.prepare.functions.forward_ranks import ForwardRanks
from gpucodegen.passes.prepare.functions.inline import Inline
from gpucodegen.passes.prepare.functions.inline_branches import InlineBranches
from gpucodegen.passes.prepare.functions.known_callees import KnownCallees
from gpucodegen.passes.prepare.functions.library_calls import LibraryCalls
from gpucodegen.passes.prepare.functions.propagate_aliases import PropagateAliases
from gpucodegen.passes.prepare.functions.specialize import Specialize
from gpucodegen.passes.prepare.functions.specialize_ranks import SpecializeRanks
from gpucodegen.passes.prepare.launches.exchanges import CheckExchanges
from gpucodegen.passes.prepare.launches.host_gpu import HostGpuToMemref
from gpucodegen.passes.prepare.launches.inline_launches import InlineLaunches
from gpucodegen.passes.prepare.launches.launches_to_loops import LaunchesToLoops
from gpucodegen.passes.prepare.linalg.contract_vectors import VectorContract
from gpucodegen.passes.prepare.linalg.decompose_softmax import DecomposeSoftmax
from gpucodegen.passes.prepare.linalg.decompose_windows import DecomposeWindows
from gpucodegen.passes.prepare.linalg.decompose_winograd import DecomposeWinograd
from gpucodegen.passes.prepare.linalg.elementwise import ElementwiseToLinalg
from gpucodegen.passes.prepare.linalg.fuse_tensors import FuseTensors
from gpucodegen.passes.prepare.linalg.generalize import Generalize
from gpucodegen.passes.prepare.linalg.linalg_to_affine import LinalgToAffine
from gpucodegen.passes.prepare.memory.expand_atomics import ExpandAtomics
from gpucodegen.passes.prepare.memory.flatten_elements import FlattenElements
from gpucodegen.passes.prepare.memory.lower_deallocations import LowerDeallocations
from gpucodegen.passes.prepare.memory.normalize_memrefs import NormalizeMemrefs
from gpucodegen.passes.prepare.memory.normalize_transfers import NormalizeTransfers
from gpucodegen.passes.prepare.memory.place_allocations import PlaceAllocations
from gpucodegen.passes.prepare.memory.rebase_views import RebaseViews
from gpucodegen.passes.prepare.memory.reshapes_to_casts import ReshapesToCasts
from gpucodegen.passes.prepare.memory.slices_to_views import SlicesToViews
from gpucodegen.passes.prepare.stablehlo.convert import StablehloToLinalg
from gpucodegen.passes.prepare.tensors.bufferize import Bufferize
from gpucodegen.passes.prepare.tensors.forall_to_loops import ForallToLoops
from gpucodegen.passes.prepare.tosa.convert import TosaToLinalg
from gpucodegen.passes.prepare.vectors.vectors_to_memory import VectorsToMemory

ArgumentTypes = tuple[Type | None, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """What a function is compiled for.

    ``types`` are those of the arguments, where they are known.  ``handled`` operations
    and library calls are run by functions of the caller.  ``runs_launches``: launches
    stay what they are.  ``guard``: accesses that are not proven to stay inside are
    checked where arguments decide, and with ``guards_kernels`` where data do.
    ``alignments``: bytes that divide the addresses of the arguments, 0 where that is
    not known.  A request that no call makes assumes whole arrays as devices allocate
    them, at multiples of 256.
    """

    function: str
    types: ArgumentTypes
    handled: tuple[str, ...] = ()
    runs_launches: bool = True
    guard: bool = False
    guards_kernels: bool = False
    alignments: tuple[int, ...] = ()


def text_of_others() -> Sequence[ModulePass]:
    """StableHLO and TOSA become linalg on tensors, for the interpreter too."""
    return [StablehloToLinalg(), TosaToLinalg()]


def _others(r: Request) -> Sequence[ModulePass]:
    del r
    return text_of_others()


def _calls(r: Request) -> Sequence[ModulePass]:
    launches = [LaunchesToLoops(printing=r.runs_launches)]
    plain = [IndexToArith(), ExpandOperations()]
    ranks = [CheckEffects(), *plain, SpecializeRanks()]
    calls = [KnownCallees(r.function), Inline()]
    return [*ranks, HostGpuToMemref(), InlineLaunches(), *launches, *calls]


def _memory(r: Request) -> Sequence[ModulePass]:
    kept = [KeepReachable(r.function), OutsideCalls(), LowerDeallocations()]
    checked = [CheckLifetimes(), ExpandAtomics(), ForwardRanks()]
    return [*kept, *checked, SlicesToViews(), RebaseViews(), PlaceAllocations()]


def _tensors(r: Request) -> Sequence[ModulePass]:
    named = [ElementwiseToLinalg(), VectorContract(), Specialize(r.function, r.types)]
    several = [DecomposeSoftmax(), DecomposeWinograd(), DecomposeWindows()]
    buffers = [FuseTensors(), Bufferize(), ForallToLoops()]
    return [*named, *several, Generalize(), *buffers]


def _loops(r: Request) -> Sequence[ModulePass]:
    checked = [CheckShapes(r.guards_kernels)] if r.guard else []
    return [
        LibraryCalls(r.handled),
        ReshapesToCasts(),
        *checked,
        LinalgToAffine(),
        NormalizeTransfers(),
        LoopsToIndex(),
        WidenIntegers(),
    ]


def _affine(r: Request) -> Sequence[ModulePass]:
    del r
    branches = [Canonicalize(), PropagateAliases(), InlineBranches()]
    vectors = [VectorsToMemory(), RaiseToAffine(), FlattenElements()]
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
) -> list[ModulePass]:
    """To affine nests on buffers, as a `Request` says.

    >>> front_passes("f", ())[-1].name
    'assume-alignments'
    """
    operations = tuple(handled), runs_launches, guard, guards_kernels
    request = Request(function, types, *operations, alignments)
    return [pass_ for stage in FRONT.values() for pass_ in stage(request)]


def mapping_passes(target: str, options: Options) -> list[ModulePass]:
    """Tile, map, outline and prove.

    >>> [p.name for p in mapping_passes("cuda", Options())][-4:]
    ['keep-in-flight', 'least-barriers', 'verify-kernels', 'lower-collectives']
    """
    record = find(target)
    barriers = [LeastBarriers()] if options.verify else []
    return [
        CheckMemorySpaces(target),
        *([CheckExchanges()] if record.runs_launches else []),
        NormalizeMemrefs(),
        *record.passes(options),
        CheckSize(vector_bytes=VECTOR_BYTES),
        *([JoinTransfers(), KeepInFlight(), *barriers] if record.runs_launches else []),
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
        ),
        *mapping_passes(target, options),
    ]
