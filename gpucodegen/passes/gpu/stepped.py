"""Sequential programs run by thread groups: grids of groups, or one cooperative kernel.

`map_lane_groups` maps parallel loops around sequential steps, such as the columns of a
triangular solve or the matrices of a batch.  A block has the iterations of some
neighbouring threads, and several threads for each, which synchronise by block barriers;
blocks are independent:

grid: iterations / lanes;  x = lane, (z, y) = member
iteration = block * lanes + lane:  its members walk the program (`barrier_phases`)

`map_stepped_loop` maps sequential loops around parallel ones to one kernel with
barriers between steps: one block where that is enough for the parallel loops, else
blocks that are all resident and synchronise by grid barriers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, islice
from math import prod
from typing import TypeAlias

from gpucodegen.dialects import affine
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.ir.types import I32, MemRefType, element_bytes, element_type
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import NestAnalysis, analyse
from gpucodegen.passes.analysis.work import (
    Middles,
    executions,
    expected_work,
    inside,
    iterations,
)
from gpucodegen.passes.contraction.gpu.axes import paying_contraction
from gpucodegen.passes.contraction.operands import coefficients, is_linear
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import has_no_effect
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.blocks.barrier_phases import STORES, Phases
from gpucodegen.passes.gpu.blocks.row_distribution import LaneGroup
from gpucodegen.passes.gpu.blocks.work_distribution import (
    LOADS,
    LoopShares,
    divides,
    is_straight,
    spreadable_chain,
)
from gpucodegen.passes.gpu.cooperative_grids import GridShares
from gpucodegen.passes.gpu.nest_mapping import (
    THREADS,
    MappedLoop,
    Nest,
    parallel_chain,
    trip_count,
)
from gpucodegen.passes.gpu.reduction_problems import unflattened
from gpucodegen.passes.nests.distribution import distribute
from gpucodegen.passes.outlining.gpu_launch import KernelBody, thread_index
from gpucodegen.passes.outlining.vector_width import Definitions, composed
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.machine.gpu.thread_groups import (
    UNKNOWN,
    Access,
    Extents,
    LaneTeams,
    Step,
    ThreadGroup,
    mean_step,
    plan_lanes,
    plan_steps,
)

FAR = 1 << 12
"""Assumed bytes between rows of an array of unknown extents."""


def byte_stride(access: Operation, along: Value, made: Definitions) -> int | None:
    """Bytes from one value of a variable to the next; None if they differ.

    ``made``: the operations that make the indices of an ``affine.load`` or ``store``.

    >>> import gpucodegen as gcg
    >>> (function,) = gcg.parse('''func.func @f(%A: memref<64x100xf32>) {
    ...   affine.for %i = 0 to 64 { affine.for %j = 0 to 96 {
    ...     %v = affine.load %A[%i, %j + 2] : memref<64x100xf32>
    ...   } }
    ...   return
    ... }''').operations
    >>> load = next(op for op in function.walk() if op.name == "affine.load")
    >>> [byte_stride(load, variable, {}) for variable in load.operands[1:]]
    [400, 4]
    """
    position = 1 if access.name == "affine.store" else 0
    ty = access.operands[position].type
    given = from_map(affine.map_of(access), access.operands[position + 1 :])
    indices = [composed(index, made) for index in given]
    involved = [index for index in indices if along in index.values]
    size = element_bytes(element_type(ty))
    if size is None or not isinstance(ty, MemRefType):
        return None
    if not all(map(is_linear, involved)):
        return None
    factors = [coefficients(index).get(along, 0) for index in indices]
    return size * sum(f * s for f, s in zip(factors, _strides(ty), strict=True))


def _strides(ty: MemRefType) -> Sequence[int]:
    """Elements from one index to the next per dimension; estimates where dynamic."""
    form = strided_form(ty)
    strides = (None,) * len(ty.shape) if form is None else form.strides
    dense = [prod(n or FAR for n in ty.shape[at + 1 :]) for at in range(len(ty.shape))]
    return [d if s is None else s for d, s in zip(dense, strides, strict=True)]


PARTS = 4
"""Parts of the outermost loop in whose middles a step is measured: it may shrink."""
TYPICAL = 1 << 10
"""Assumed value of an unknown extent when orders of loops are compared."""
ACCESSES = frozenset({"affine.load", "affine.store"})


@dataclass(frozen=True, slots=True)
class Steps:
    """Reads the steps of nests.

    ``across``: what tells neighbouring programs apart.  ``assumed``: what values from
    outside of the nest are that bounds of loops depend on.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.passes.analysis.queries import analyse
    >>> module = gcg.parse('''func.func @f(%A: memref<65x64xf32>) {
    ...   affine.for %i = 0 to 64 { affine.for %j = 0 to 64 {
    ...     %above = affine.load %A[%i, %j] : memref<65x64xf32>
    ...     affine.store %above, %A[%i + 1, %j] : memref<65x64xf32>
    ...   } }
    ...   return
    ... }''')
    >>> nest = next(op for op in module.walk() if op.name == "affine.for")
    >>> (step,) = Steps(analyse([nest])).of([nest])
    >>> step.extents, step.times, [access.along for access in step.accesses]
    ((64,), 64.0, [4, 4])
    """

    analysis: NestAnalysis
    across: Value | None = None
    assumed: int = TYPICAL

    def of(self, operations: Sequence[Operation]) -> list[Step]:
        """The steps of a program, in the mean over the parts of its outermost loops."""
        made = {v: op for o in operations for op in o.walk() for v in op.results}
        strides: Strides = {}
        seen = (
            [
                step
                for op in operations
                for step in self._found([op], part, made, strides)
            ]
            for part in range(PARTS)
        )
        return [mean_step(each) for each in zip(*seen, strict=True)]

    def _found(
        self,
        operations: Sequence[Operation],
        part: int,
        made: Definitions,
        strides: Strides,
    ) -> Iterator[Step]:
        """The steps of operations, in one part of the outermost loop."""
        for op in operations:
            given: Middles = dict.fromkeys(_open(op), self.assumed)
            is_loop = op.name == "affine.for"
            middles = inside(op, given, part, PARTS) if is_loop else given
            yield from self._walked(op, _Place(middles, made, strides))

    def _walked(self, op: Operation, place: _Place) -> Iterator[Step]:
        chain = spreadable_chain(op, self.analysis)
        if chain or not self._is_shared(op):
            if chain or any(o.name in ACCESSES for o in op.walk()):
                yield self._step(op, chain, place)
            return
        within = place.inside(op) if op.name == "affine.for" else place
        for body in op.blocks:
            for are_plain, run in groupby(body.operations, lambda o: not o.regions):
                some = list(run)
                if not are_plain:
                    for inner in some:
                        yield from self._walked(inner, within)
                elif any(o.name in ACCESSES for o in some):
                    yield self._iteration(some, None, (), within)

    def _is_shared(self, op: Operation) -> bool:
        """Whether an operation contains parallel work."""
        return any(
            self.analysis.is_parallel(o) for o in op.walk() if o.name == "affine.for"
        )

    def _step(self, op: Operation, chain: Sequence[Operation], place: _Place) -> Step:
        extents: list[int | None] = []
        for loop in chain:
            run = iterations(loop, place.middles)
            extents.append(None if run is None else len(run))
            place = replace(place, middles=inside(loop, place.middles))
        if not chain:
            return self._iteration([op], None, (), place)
        step = self._iteration(
            chain[-1].body.operations[:-1],
            affine.For(chain[-1]).iv,
            tuple(extents),
            place,
        )
        dealt = 1 if divides(chain) else step.dealt
        return replace(step, dealt=dealt, is_straight=is_straight(chain))

    def _iteration(
        self,
        body: Sequence[Operation],
        along: Value | None,
        extents: Extents,
        place: _Place,
    ) -> Step:
        middles = place.middles
        counts = executions(body, middles) or {}
        waits = sum(counts.get(id(op), 0) for op in _leading(body))
        accesses = (o for op in body for o in op.walk() if o.name in ACCESSES)
        return Step(
            extents,
            sum(expected_work(op, middles) or 1 for op in body),
            max(1, waits),
            tuple(
                Access(
                    place.stride(o, along),
                    place.stride(o, self.across),
                    counts.get(id(o)) or 1,
                )
                for o in accesses
            ),
            times=place.times,
        )


Strides: TypeAlias = dict[tuple[int, Value], int | None]
"""`byte_stride` by the identity of the access and the variable."""


@dataclass(frozen=True, slots=True)
class _Place:
    """Known values at an operation, and its execution count.

    ``strides``: those that are computed, of all places.
    """

    middles: Middles
    made: Definitions
    strides: Strides
    times: float = 1

    def stride(self, access: Operation, along: Value | None) -> int | None:
        """`byte_stride`, 0 along no variable."""
        if along is None:
            return 0
        key = id(access), along
        if key not in self.strides:
            self.strides[key] = byte_stride(access, along, self.made)
        return self.strides[key]

    def inside(self, op: Operation) -> _Place:
        """In the body of an ``affine.for``; a known variable stays."""
        run = iterations(op, self.middles)
        times = self.times * (TYPICAL if run is None else len(run))
        is_known = affine.For(op).iv in self.middles
        middles = self.middles if is_known else inside(op, self.middles)
        return replace(self, middles=middles, times=times)


def _open(op: Operation) -> set[Value]:
    """Values from outside that decide trip counts."""
    loops = [o for o in op.walk() if o.name == "affine.for"]
    variables = {affine.For(o).iv for o in loops}
    made = {value for o in op.walk() for value in o.results}
    return {value for o in loops for value in o.operands} - variables - made


def _leading(operations: Sequence[Operation]) -> Iterator[Operation]:
    """The first load of each block that also stores, which waits for earlier loads.

    Loads of other blocks overlap.
    """
    loads = (op for op in operations if op.name == "affine.load")
    if any(op.name == "affine.store" for op in operations):
        yield from islice(loads, 1)
    for op in operations:
        for block in op.blocks:
            yield from _leading(block.operations)


STRUCTURE = frozenset({"affine.for", "affine.if"})
PLAIN = STORES | LOADS | {"affine.yield"}
"""Operations that each thread may run, besides pure ones."""
ROUNDS = 3
"""Rounds of loop distribution: each goes one level further in."""


def map_stepped_loop(nest: Nest) -> list[Operation] | None:
    """A cooperative kernel for sequential loops around parallel ones."""
    op = nest.op
    if not nest.mapper.time_tiles:
        return None
    if op.name != "affine.for" or op.results or not is_plain(op, nest.analysis):
        return None
    surroundings = nest.mapper.surroundings
    made, _ = distributed(op, nest.context, surroundings, nest.analysis)
    nest = nest.of(made)
    if nest.mapper.contractions and _multiplies(nest.op, nest.analysis):
        return None
    steps = Steps(nest.analysis, assumed=UNKNOWN).of([nest.op])
    if not any(step.extents for step in steps):
        return None
    mapper = nest.mapper
    device, choose = mapper.device, mapper.plans.of("team")
    team = mapper.team or plan_steps(steps, device=device, choose=choose)
    return _launched(nest, team)


def distributed(
    op: Operation,
    context: Sequence[Operation],
    surroundings: Surroundings,
    analysis: NestAnalysis,
    around: int = 0,
) -> tuple[Operation, NestAnalysis]:
    """The nest with parallel loops around parallel loops distributed.

    An outermost loop stays one, as do the loops ``around`` separate programs.
    ``analysis``: of the nest; the new one is returned.
    """
    for _ in range(ROUNDS):
        is_whole = not around and spreadable_chain(op, analysis)
        made = op if is_whole else _distributed(op, analysis, around)
        if made is op:
            break
        op, analysis = made, analyse([made], context, surroundings)
    return op, analysis


def is_plain(op: Operation, analysis: NestAnalysis) -> bool:
    """Whether all threads may run it: loops, conditions, accesses, arithmetic.

    Buffers are private to a thread, so they may only be allocated inside parallel
    loops.
    """
    if op.name == "affine.for" and analysis.is_parallel(op):
        return True
    if op.name not in STRUCTURE:
        made = any(isinstance(value.type, MemRefType) for value in op.results)
        return not made and (op.name in PLAIN or has_no_effect(op))
    return all(is_plain(inner, analysis) for inner in op.nested)


def _distributed(op: Operation, analysis: NestAnalysis, around: int) -> Operation:
    """The nest with parallel loops around parallel loops distributed."""

    def rewritten(operations: Sequence[Operation], around: int) -> list[Operation]:
        return [new for inner in operations for new in one(inner, around)]

    def one(inner: Operation, around: int) -> list[Operation]:
        chain = spreadable_chain(inner, analysis)
        if chain and not around:
            last = chain[-1].body.operations
            has_more = any(spreadable_chain(o, analysis) for o in last)
            return distribute(inner, analysis) if has_more else [inner]
        if inner.name not in STRUCTURE:
            return [inner]
        regions = tuple(
            type(region)(
                tuple(
                    b.with_operations(rewritten(b.operations, max(0, around - 1)))
                    for b in region.blocks
                )
            )
            for region in inner.regions
        )
        same = all(
            old.operations == new.operations
            for before, after in zip(inner.regions, regions, strict=True)
            for old, new in zip(before.blocks, after.blocks, strict=True)
        )
        return [inner if same else inner.with_(regions=regions)]

    (made,) = one(op, around)
    return made


def _multiplies(op: Operation, analysis: NestAnalysis) -> bool:
    """Whether a parallel nest is a contraction, whose kernel is better."""
    if spreadable_chain(op, analysis):
        return paying_contraction(op) is not None
    return any(_multiplies(inner, analysis) for inner in op.nested)


def _launched(nest: Nest, plan: ThreadGroup) -> list[Operation]:
    """The kernel, and the memory word of its grid barrier."""
    location = nest.op.location
    before, after, b = Builder(location), Builder(location), Builder(location)
    *_, warps, lanes = plan.positions
    block = (lanes, warps, 1)
    positions = [
        (Index.of(thread_index(b, "thread_id", name, f"t{name}")), extent)
        for name, extent in (("y", block[1]), ("x", block[0]))
    ]
    arrived: Value | None = None
    number: Value | None = None
    if plan.blocks > 1:
        arrived = before.allocate("memref.alloc", MemRefType((1,), I32), "arrived")
        before.store(before.constant(0, I32), arrived, [0])
        after.add("memref.dealloc", (arrived,))
        number = thread_index(b, "block_id", "x", "b")
        positions.insert(0, (Index.of(number), plan.blocks))
    team = LaneGroup(tuple(positions), arrived=arrived)
    around = nest.mapper.surroundings
    analysis = analyse([nest.op], nest.context, around, fine=True)
    shares, blocks = LoopShares(analysis, team), Index.of(plan.blocks)
    if number is None:
        Phases(analysis, team, shares).operations(b, [nest.op])
    else:
        counted = GridShares(shares, number, plan.blocks)
        Phases(analysis, team, counted).operations(b, [nest.op])
        blocks = counted.grid(before, nest.op)
    grid = (blocks, Index.of(1), Index.of(1))
    kernel = KernelBody(tuple(b.operations), grid, block, most_blocks=plan.blocks)
    return [*before.operations, *nest.mapper.launch(kernel), *after.operations]


@dataclass(frozen=True, slots=True)
class LanePrograms:
    """Parallel loops, and the sequential program in each of their iterations.

    ``neighbours``: how many iterations a block may have.
    """

    chain: Sequence[MappedLoop]
    body: Sequence[Operation]
    steps: Sequence[Step]
    counts: Sequence[int]
    neighbours: Sequence[int]

    @property
    def number(self) -> int:
        return prod(self.counts)


def map_lane_groups(nest: Nest) -> list[Operation] | None:
    """A kernel with a thread group per iteration; None where a thread is better."""
    if not nest.mapper.time_tiles:
        return None
    surroundings = nest.mapper.surroundings
    found = lane_programs(nest.op, nest.context, surroundings, nest.analysis)
    if found is None:
        return None
    plan = plan_lanes(
        found.number,
        found.neighbours,
        found.steps,
        device=nest.mapper.device,
        choose=nest.mapper.plans.of("lanes"),
    )
    return None if plan.members == 1 else nest.mapper.launch(_kernel(nest, found, plan))


def lane_programs(
    op: Operation,
    context: Sequence[Operation],
    surroundings: Surroundings,
    analysis: NestAnalysis,
) -> LanePrograms | None:
    """The programs of a nest, if there are parallel loops inside of sequential ones.

    ``analysis``: of the nest.
    """
    outer = parallel_chain(op, analysis, len(THREADS))
    if not outer or any(len(loop.uppers) > 1 for loop in outer):
        return None
    if any(loop.operation.name != "affine.for" for loop in outer):
        return None
    around = len(outer)
    op, analysis = distributed(op, context, surroundings, analysis, around)
    chain = parallel_chain(op, analysis, len(outer))
    body = inner_operations(chain[-1].operation)
    counts = [trip_count(loop).constant for loop in chain]
    known = [count for count in counts if count]
    if len(known) < len(counts) or not all(is_plain(o, analysis) for o in body):
        return None
    steps = Steps(analysis, chain[-1].iv).of(body)
    if not any(step.extents and step.times > 1 for step in steps):
        return None
    most = min(WARP, known[-1])
    if _steer(body, analysis, {loop.iv for loop in chain}):
        most = 1
    divisors = [n for n in range(1, most + 1) if known[-1] % n == 0]
    return LanePrograms(chain, body, steps, known, divisors)


def _steer(
    operations: Sequence[Operation], analysis: NestAnalysis, values: set[Value]
) -> bool:
    """Whether values decide the control flow of a thread group, which may diverge."""
    for op in operations:
        is_dealt = op.name == "affine.for" and analysis.is_parallel(op)
        if op.regions and not is_dealt:
            bodies = (b.operations for b in op.blocks)
            if not values.isdisjoint(op.operands):
                return True
            if any(_steer(body, analysis, values) for body in bodies):
                return True
        elif not values.isdisjoint(op.used):
            values |= {*op.results}
    return False


def _kernel(nest: Nest, found: LanePrograms, plan: LaneTeams) -> KernelBody:
    b = Builder(nest.op.location)
    warps, inside = plan.positions
    lane = thread_index(b, "thread_id", "x", "lane")
    members = [
        (Index.of(thread_index(b, "thread_id", name, f"t{name}")), extent)
        for name, extent in (("z", warps), ("y", inside))
    ]
    block = thread_index(b, "block_id", "x", "b")
    counts = [Index.of(count) for count in found.counts]
    number = Index.of(block) * plan.lanes + lane
    values, _ = unflattened(b, found.chain, counts, number)
    around = nest.mapper.surroundings
    analysis = analyse(found.body, nest.context, around, fine=True)
    team = LaneGroup(tuple(members))
    inner = Builder(nest.op.location)
    Phases(analysis, team, LoopShares(analysis, team)).operations(inner, found.body)
    program = [substitute_values(op, values) for op in inner.operations]
    blocks = Index.of(found.number // plan.lanes)
    return KernelBody(
        (*b.operations, *program),
        (blocks, Index.of(1), Index.of(1)),
        (plan.lanes, inside, warps),
    )
