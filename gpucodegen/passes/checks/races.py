"""Race proofs of all kernels, and matching of DMA starts with their waits.

* A GPU kernel obeys the rules of `gpucodegen.tiling.proof.races` on its block and
  thread loops.
* A CPU kernel has no ``affine.parallel`` that carries a dependence, except between
  atomic updates.
* In any function with DMA copies, all uses of the copied elements come after the wait.

Starts and waits are matched by tag, order and count.  A proven mismatch is an error: a
start without a wait, a wait without a copy in flight, or a count that no start of the
tag has.  A possible mismatch is left to the run.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gpu import LaunchFunc
from gpucodegen.dialects.shared.dma import (
    STARTS,
    TRANSFERS,
    WAITS,
    lengths_of,
    tag_of,
)
from gpucodegen.dialects.shared.integer_ranges import HALF, WORD, IndexRanges
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value, operand_segments
from gpucodegen.ir.types import I1, INDEX
from gpucodegen.passes.analysis.lifting import (
    Lifted,
    Surroundings,
    asynchronous_copies,
    lift_function,
    lift_operations,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import definitions
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.outlining.gpu_launch import thread_index
from gpucodegen.records import dataclass
from gpucodegen.tiling.model.relations import Model, model
from gpucodegen.tiling.model.scop import statements
from gpucodegen.tiling.proof.async_copies import unmatched_waits
from gpucodegen.tiling.proof.dependences import dependences
from gpucodegen.tiling.proof.enumeration import proven
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts, nested_loops
from gpucodegen.tiling.proof.mbarriers import NotModelledError
from gpucodegen.tiling.proof.races import PROOF, Race, races, unfinished_copies, without


@dataclass(frozen=True, slots=True)
class CheckTransfers(ModulePass, name="check-transfers"):
    """Every DMA copy has its wait, and every wait its copy."""

    def apply(self, module: Module) -> Module:
        """Raise UnpairedTransfer."""
        for op in module.walk():
            is_function = op.name in {"func.func", "gpu.func"}
            if is_function and any(inner.name in TRANSFERS for inner in op.walk()):
                built = model(lift_function(op).scop)
                for error in unpaired(op, built, unfinished_copies(built)):
                    raise error
        return module


def unpaired(
    function: Operation, built: Model, unfinished: Iterable[Race]
) -> Iterator[errors.UnpairedTransfer]:
    """The UnpairedTransfer errors of a function; ``unfinished``: from `races`."""
    for copy in unfinished:
        yield _unpaired(copy.locations[0], "dma_start", "dma_wait", str(copy))
    for wait in unmatched_waits(built):
        yield _unpaired(wait.wait.node.loc, "dma_wait", "dma_start", str(wait))
    yield from _counts(function)


def _unpaired(
    location: object, what: str, partner: str, reason: str
) -> errors.UnpairedTransfer:
    place = location if isinstance(location, Location) else UNKNOWN
    return errors.UnpairedTransfer(place, what=what, partner=partner, reason=reason)


def _counts(function: Operation) -> Iterator[errors.UnpairedTransfer]:
    """Waits whose constant count differs from those of all starts on their tag."""
    numbers = _constants(function)
    started: dict[Value, set[int | None]] = {}
    for op in function.walk():
        if op.name in STARTS:
            count = numbers.get(lengths_of(op)[0])
            started.setdefault(tag_of(op).memref, set()).add(count)
    for op in function.walk():
        if op.name in WAITS:
            count, known = (
                numbers.get(lengths_of(op)[0]),
                started.get(tag_of(op).memref),
            )
            if known and count is not None and not known & {count, None}:
                others = errors.one_of([str(n) for n in sorted(known, key=str)])
                reason = f"it waits for {count} elements, {others} are under way"
                yield _unpaired(op.location, "dma_wait", "dma_start", reason)


def _constants(function: Operation) -> Mapping[Value, int]:
    return {
        op.results[0]: value.value
        for op in function.walk()
        if op.name == "arith.constant"
        for value in (op.attributes.get("value"),)
        if isinstance(value, IntegerAttr)
    }


def check_kernel(op: Operation, surroundings: Surroundings) -> None:
    """Raise an error with both source positions and a witness unless proven.

    Warns KernelUnproven of a kernel with operations that the proof does not model.
    """
    strange = _unmodelled(op, surroundings)
    if strange is not None:
        reason = f"it does not know how {strange.name} orders threads and copies"
        errors.tell(errors.KernelUnproven(strange.location, reason=reason))
        return
    try:
        for error in _failures(op, surroundings):
            raise error
    except NotModelledError as unknown:
        reason = f"it does not know {unknown}"
        errors.tell(errors.KernelUnproven(op.location, reason=reason))


def is_proven(op: Operation, surroundings: Surroundings) -> bool:
    """Whether `check_kernel` finds no error and all operations are modelled."""
    try:
        return _unmodelled(op, surroundings) is None and not any(
            _failures(op, surroundings)
        )
    except NotModelledError:
        return False


def _failures(
    op: Operation, surroundings: Surroundings
) -> Iterator[errors.CompileError]:
    if op.name == "gpu.func" or any(inner.name in TRANSFERS for inner in op.walk()):
        lifted = lift_function(op, surroundings)
        verdict = proven(lifted.scop)
        if verdict.is_complete:
            yield from _counts(op)
        else:
            yield from _broken_rules(op, lifted, verdict.arrays)
    if op.name == "func.func":
        yield from _parallel_loops(op, surroundings)


def _broken_rules(
    op: Operation, lifted: Lifted, decided: frozenset[str]
) -> Iterator[errors.CompileError]:
    """The errors that isl finds; ``decided``: arrays that break no rule."""
    built = model(without(lifted.scop, decided), PROOF)
    found = races(built, decided)
    for race in sorted(found, key=lambda r: r.witness is None):
        if race.rule != "unfinished":
            yield _race_error(race, lifted, op)
    unfinished = [race for race in found if race.rule == "unfinished"]
    yield from unpaired(op, built, unfinished)


_ENGINES = ("nvgpu.mbarrier.", "nvgpu.tma.async.", "nvgpu.warpgroup.")
"""Name prefixes of operations that synchronise by mbarriers."""
_MODELLED = frozenset(
    {
        *(
            asynchronous_copies.CREATE,
            asynchronous_copies.LOAD,
            asynchronous_copies.MULTIPLY,
        ),
        asynchronous_copies.STORE,
        *asynchronous_copies.PARTS,
        "nvgpu.warpgroup.generate.descriptor",
        "nvgpu.warpgroup.mma.init.accumulator",
    }
)
"""Those of them whose order the proof models."""


def _unmodelled(op: Operation, around: Surroundings) -> Operation | None:
    """The first operation in a kernel whose synchronisation is not modelled."""
    inside = list(op.walk()) if op.name == "gpu.func" else []
    groups = {o.result for o in inside if o.name == asynchronous_copies.CREATE}
    stores = (o for o in inside if o.name == asynchronous_copies.STORE)
    stored = {operand_segments(o, 4)[1][0] for o in stores}
    engines = (o for o in inside if o.name.startswith(_ENGINES))
    known = (groups, around, stored)
    return next((o for o in engines if not _is_modelled(o, *known)), None)


def _is_modelled(
    op: Operation, groups: set[Value], around: Surroundings, stored: set[Value]
) -> bool:
    """Whether an operation is known, unconditional and on the kernel's barriers.

    A TMA load counts as no read of its array, so no TMA store may go there.
    ``stored``: the maps of TMA stores.
    """
    if op.name == asynchronous_copies.LOAD:
        _, (barriers,), (tensor_map,), *_, mask, predicate = operand_segments(op, 7)
        is_apart = all(
            around.maps.are_apart(tensor_map, other, around.aliases) for other in stored
        )
        return is_apart and barriers in groups and not (mask or predicate)
    if op.name == asynchronous_copies.STORE:
        return asynchronous_copies.is_known(op, around.maps)
    if op.name in asynchronous_copies.PARTS:
        plain = (
            op.name == asynchronous_copies.MBARRIER_WAIT or op.operands[-1].type != I1
        )
        return plain and op.operands[0] in groups
    return op.name in _MODELLED


def _parallel_loops(
    op: Operation, surroundings: Surroundings
) -> Iterator[errors.CompileError]:
    if any(inner.name == "affine.parallel" for inner in op.walk()):
        yield from _races(lift_function(op, surroundings, trust_parallel=False))


def runs_in_parallel(
    operations: Sequence[Operation],
    context: Sequence[Operation],
    surroundings: Surroundings,
) -> bool:
    """Whether every ``affine.parallel`` in some operations is proven free of races."""
    lifted = lift_operations(operations, context, surroundings, trust_parallel=False)
    return not any(_races(lifted))


def _races(lifted: Lifted) -> Iterator[errors.CompileError]:
    """{ d in distances : d_outer = 0, d_l != 0 } = {} for each parallel loop l."""
    built = model(lifted.scop)
    declared = {
        loop.name
        for loop, _ in nested_loops(lifted.scop.body)
        if isinstance(loop.payload, Operation)
        and loop.payload.name == "affine.parallel"
    }
    ordered = tuple(d for d in dependences(built, declared) if not d.atomic)
    for verdict in loop_verdicts(built, ordered):
        dependence = verdict.decisive
        is_declared = verdict.loop.name in declared
        if is_declared and verdict.kind is not LoopKind.PARALLEL and dependence:
            yield _error(
                errors.RaceFound,
                dependence.source.access.array,
                str(dependence),
                (dependence.source.access.loc, dependence.sink.access.loc),
            )


def _race_error(race: Race, lifted: Lifted, op: Operation) -> errors.CompileError:
    """The error of a broken rule; a copy without a wait is named by its target."""
    kind = _KINDS.get(race.rule, errors.RaceFound)
    around = () if kind is errors.ThreadsApart else (op.location,)
    places = (*race.locations, *around)[:2]
    if race.witness is not None:
        return _error(kind, race.witness.array, str(race), places)
    return _error(kind, _target(race, lifted), str(race), places)


_KINDS: dict[str, type[errors.CompileError]] = {
    "divergence": errors.ThreadsApart,
    "proxy": errors.TransferOvertaken,
    "tags": errors.TransferOvertaken,
    "transfers": errors.TransferOvertaken,
}


def _target(race: Race, lifted: Lifted) -> str:
    """The array written by the statement that a race names first."""
    for statement in statements(lifted.scop.body):
        if statement.loc in race.locations and statement.tag is not None:
            return statement.accesses[-1].array
    return "memory"


def _error(
    kind: type[errors.CompileError],
    buffer: str,
    text: str,
    places: tuple[object, ...],
) -> errors.CompileError:
    located = [p if isinstance(p, Location) else UNKNOWN for p in places]
    about = "decided here" if kind is errors.ThreadsApart else "the other access"
    notes = [(located[1], about)] if len(located) > 1 else []
    return kind(located[0], notes=notes, buffer=buffer, witness=text)


@dataclass(frozen=True, slots=True)
class VerifyKernels(ModulePass, name="verify-kernels"):
    """Prove every kernel, and every function with DMA copies, free of races."""

    def apply(self, module: Module) -> Module:
        """Raise RaceFound with both positions and a witness where a proof fails."""
        surroundings = Surroundings.of(module)
        for op in module.walk():
            is_function = op.name in {"func.func", "gpu.func"}
            if not is_function or not op.regions or not op.regions[0].blocks:
                continue
            try:
                check_kernel(op, surroundings)
            except errors.RaceFound:
                bounded = within_launches(op, module)
                if bounded is None:
                    raise
                check_kernel(bounded, surroundings)
        return module


def within_launches(kernel: Operation, module: Module) -> Operation | None:
    """The kernel under the condition that its block is one of the launched grid.

    Arguments are in the ranges that the host's loops and clamps give them, and equal
    the sums of other arguments as which the host computes them. The proof of a kernel
    does not know what is computed at the launch, and most do not need it: it makes
    every question harder. None if the grid is no affine function of the arguments, or
    if there are several launches.
    """
    launches = [
        LaunchFunc(op)
        for op in module.walk()
        if op.name == "gpu.launch_func" and LaunchFunc(op).kernel[-1:] == _name(kernel)
    ]
    if len(launches) != 1 or kernel.name != "gpu.func":
        return None
    (launch,) = launches
    made = definitions(module.operation)
    passed = dict(zip(launch.arguments, Function(kernel).arguments, strict=False))
    b = Builder(kernel.location)
    limits: list[Index] = []
    ranges = IndexRanges(kernel, extent=WORD._replace(low=0, exact=False))
    for op in module.walk():
        ranges.visit(op)
    for dimension, extent in zip("xyz", launch.grid, strict=True):
        size = _in_kernel(made.get(extent), passed)
        if size is not None:
            limits.append(size - thread_index(b, "block_id", dimension, "block") - 1)
    for value, argument in passed.items():
        if value.type == INDEX:
            computed = _sum_in_kernel(made.get(value), made, passed)
            if computed is not None:
                limits += [computed - argument, Index.of(argument) - computed]
            low, high, _ = ranges.at(value)
            limits += [Index.of(argument) - low] if low > HALF.low else []
            limits += [Index.of(high) - argument] if high < HALF.high else []
    if not limits:
        return None
    *body, end = kernel.body.operations
    b.guard(limits, lambda inner: inner.operations.extend(body))
    return kernel.with_body([*b.operations, end])


def _name(kernel: Operation) -> tuple[str, ...]:
    return (symbol_name(kernel),)


def _sum_in_kernel(
    op: Operation | None, made: Mapping[Value, Operation], passed: Mapping[Value, Value]
) -> Index | None:
    """A sum or difference of kernel arguments and constants that the host computes."""
    if op is None or op.name not in ("arith.addi", "arith.subi"):
        return _in_kernel(op, passed)
    terms: list[Index] = []
    for value in op.operands:
        origin = made.get(value)
        if value in passed:
            terms.append(Index.of(passed[value]))
        elif origin is not None and origin.name == "arith.constant":
            terms.append(Index.of(origin.integer("value")))
        else:
            return None
    one, other = terms
    return one + other if op.name == "arith.addi" else one - other


def _in_kernel(extent: Operation | None, passed: Mapping[Value, Value]) -> Index | None:
    """An extent that the host computes, as a function of the kernel's arguments."""
    if extent is None or extent.name != "affine.apply":
        return None
    if not all(value in passed for value in extent.operands):
        return None
    map_ = extent.attributes.get("map")
    assert isinstance(map_, AffineMapAttr)
    return from_map(map_.map, [passed[value] for value in extent.operands])[0]
