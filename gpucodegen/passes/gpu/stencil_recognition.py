"""Stencil recognition: a time loop's parallel sweeps, arrays and dependence distances.

A nest is a `TimeNest` if

* the loop has step one and contains parallel loops over straight-line code, in
  sequence;
* every array that it writes is a separate buffer, and all have one rank;
* an instance of a sweep computes one element of each array that it writes, and reads
  elements of such arrays at constant distances from it;
* values travel a bounded number of elements per step (`tiling.proof.distances`).

An array is *carried* if a step may read an element that an earlier step has written.
The others are recomputed in each step before they are read, so only their last values
leave the loop.  `problem_of` gives the planner the counts, extents and margins.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce

from gpucodegen.dialects import affine
from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, IntegerType, MemRefType
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.functions import is_pure
from gpucodegen.passes.framework.indexing import Index, compact, from_map
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.nest_mapping import MappedLoop, parallel_chain
from gpucodegen.passes.nests.loop_ranges import LoopRange, range_of
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.temporal_tiling import SweepWork, TimeProblem
from gpucodegen.tiling.model.isl import Set
from gpucodegen.tiling.model.relations import Reference
from gpucodegen.tiling.proof.distances import Sides, StepHalo, step_halo
from gpucodegen.tiling.proof.flow import flow
from gpucodegen.tiling.schedule.schedule import Unit, UnitNest

ACCESSES = {"affine.load": 0, "affine.store": 1}
"""Element accesses, and the position of the array among their operands."""


@dataclass(frozen=True, slots=True)
class Axis:
    """One coordinate of a cell: the variable of a loop plus ``offset``.

    Without a loop it is ``offset`` in all instances.
    """

    loop: MappedLoop | None
    offset: int

    @property
    def lower(self) -> Index:
        return (self.loop.lower if self.loop else Index.of(0)) + self.offset

    @property
    def upper(self) -> Index:
        """The coordinate after the last."""
        return (self.loop.uppers[0] if self.loop else Index.of(1)) + self.offset


def memref_of(op: Operation) -> Value:
    return op.operands[ACCESSES[op.name]]


def indices_of(op: Operation) -> list[Index]:
    return from_map(affine.map_of(op), op.operands[ACCESSES[op.name] + 1 :])


def axes_of(
    indices: Sequence[Index], loops: Sequence[MappedLoop]
) -> tuple[Axis, ...] | None:
    """Indices as axes, each loop in exactly one; None for other indices."""
    axes = [_axis(index, loops) for index in indices]
    found = tuple(axis for axis in axes if axis is not None)
    used = [axis.loop for axis in found if axis.loop]
    if len(found) < len(axes) or len(used) != len(loops):
        return None
    return found if all(loop in used for loop in loops) else None


def _axis(index: Index, loops: Sequence[MappedLoop]) -> Axis | None:
    if index.constant is not None:
        return Axis(None, index.constant)
    for loop in loops:
        offset = compact(index - loop.iv).constant
        if offset is not None:
            return Axis(loop, offset)
    return None


def offsets_from(indices: Sequence[Index], axes: Sequence[Axis]) -> list[int] | None:
    """The distance of a cell from that on the axes; None if not constant."""
    found: list[int] = []
    for index, axis in zip(indices, axes, strict=True):
        start = Index.of(axis.loop.iv if axis.loop else 0)
        offset = compact(index - start).constant
        if offset is None:
            return None
        found.append(offset - axis.offset)
    return found


@dataclass(frozen=True, slots=True)
class Sweep:
    """A parallel nest of a time step.

    ``loops``: outermost first.  ``axes``: the cell that an instance computes, per
    dimension.  ``offsets``: by identity of its accesses of written arrays, the way from
    there to their cell.
    """

    operation: Operation
    loops: tuple[MappedLoop, ...]
    axes: tuple[Axis, ...]
    body: tuple[Operation, ...]
    offsets: Mapping[int, tuple[int, ...]]

    @property
    def stores(self) -> Iterator[Operation]:
        return (op for op in self.body if op.name == "affine.store")

    def neighbourhood(self, dimension: int) -> Sides:
        """The largest distances of its accesses from the computed cell."""
        ways = [way[dimension] for way in self.offsets.values()]
        return Sides(max(0, -min(ways)), max(0, *ways))


@dataclass(frozen=True, slots=True)
class Written:
    """An array that the loop writes, and the sweeps that write it."""

    memref: Value
    stores: tuple[tuple[Sweep, Operation], ...]
    carried: bool

    @property
    def type(self) -> MemRefType:
        ty = self.memref.type
        assert isinstance(ty, MemRefType)
        return ty

    def bounds(self, dimension: int) -> tuple[list[Index], list[Index]]:
        """First cells and ends along a dimension, of each sweep that writes it."""
        lowers: list[Index] = []
        uppers: list[Index] = []
        for sweep, store in self.stores:
            axis, way = sweep.axes[dimension], sweep.offsets[id(store)][dimension]
            lowers.append(axis.lower + way)
            uppers.append(axis.upper + way)
        return lowers, uppers


@dataclass(frozen=True, slots=True)
class TimeNest:
    """A time loop around sweeps and scalar operations."""

    loop: affine.For
    steps: LoopRange
    sweeps: tuple[Sweep, ...]
    arrays: tuple[Written, ...]
    reach: StepHalo
    analysis: NestAnalysis

    @property
    def rank(self) -> int:
        """Dimensions of space."""
        return self.arrays[0].type.rank

    def margins(self, sweep: Sweep) -> tuple[Sides, ...]:
        """The margins of a sweep, per dimension."""
        return self.reach.margins[statements_of(sweep.operation, self.analysis)[0]]

    def meetings(self) -> set[int]:
        """The sweeps, by identity, before which the threads of a block synchronise.

        Between two barriers, no sweep depends on another one, as in `barrier_phases`;
        after the last sweep of a step follows the first of the next.
        """
        found: set[int] = set()
        while True:
            since: list[Operation] = []
            missing: set[int] = set()
            for sweep in (*self.sweeps, *self.sweeps):
                op = sweep.operation
                if id(op) in found:
                    since = []
                elif self.analysis.conflicts(since, [op]):
                    missing, since = {*missing, id(op)}, []
                since.append(op)
            if not missing:
                return found
            found |= missing


def statements_of(item: Operation, analysis: NestAnalysis) -> tuple[str, ...]:
    """The model's statements of a part of the loop."""
    own = {id(op) for op in item.walk()}
    return tuple(
        name
        for name, operations in analysis.lifted.operations.items()
        if any(id(op) in own for op in operations)
    )


DEEPEST = 3
"""Space dimensions, at most those of a grid."""


def time_nest_of(op: Operation, analysis: NestAnalysis) -> TimeNest | None:
    """The time loop that an operation is, or None."""
    if op.name != "affine.for" or op.results:
        return None
    steps = range_of(op)
    if steps.step != 1 or not steps.is_single:
        return None
    items = [o for o in inner_operations(op) if o.regions]
    written = _written(op)
    if not items or not written or _is_entangled(op, written):
        return None
    if analysis.is_parallel(op):
        return None
    found = [_sweep(item, analysis, affine.For(op).iv, written) for item in items]
    sweeps = tuple(sweep for sweep in found if sweep is not None)
    if len(sweeps) < len(found):
        return None
    arrays = _arrays(op, sweeps, written, analysis)
    travels = _reach(sweeps, analysis) if arrays else None
    if arrays is None or travels is None:
        return None
    return TimeNest(affine.For(op), steps, sweeps, arrays, travels, analysis)


def _written(op: Operation) -> list[Value]:
    stores = (memref_of(inner) for inner in op.walk() if inner.name == "affine.store")
    return list(dict.fromkeys(stores))


def _is_entangled(loop: Operation, written: Sequence[Value]) -> bool:
    """Whether scalars of the loop have effects, or read arrays that change."""
    for op in loop.walk():
        scalar = op.name not in ACCESSES and not op.regions
        if scalar and not (is_pure(op) or op.name == "affine.yield"):
            return True
        if scalar and op.name != "memref.dim" and not set(written).isdisjoint(op.used):
            return True
    between = (op for op in inner_operations(loop) if op.name in ACCESSES)
    return any(memref_of(op) in written for op in between)


def _sweep(
    item: Operation, analysis: NestAnalysis, time: Value, written: Sequence[Value]
) -> Sweep | None:
    """A nest of parallel loops with fixed bounds around straight code."""
    chain = parallel_chain(item, analysis, DEEPEST)
    if not chain or any(_is_irregular(loop, time) for loop in chain):
        return None
    body = inner_operations(chain[-1].operation)
    if any(op.regions for op in body):
        return None
    stores = [op for op in body if op.name == "affine.store"]
    axes = axes_of(indices_of(stores[0]), chain) if stores else None
    if axes is None:
        return None
    offsets: dict[int, tuple[int, ...]] = {}
    for op in body:
        if op.name in ACCESSES and memref_of(op) in written:
            indices = indices_of(op)
            way = offsets_from(indices, axes) if len(indices) == len(axes) else None
            if way is None:
                return None
            offsets[id(op)] = tuple(way)
    return Sweep(item, tuple(chain), axes, body, offsets)


def _is_irregular(loop: MappedLoop, time: Value) -> bool:
    bounds = (loop.lower, *loop.uppers)
    moving = any(time in bound.values for bound in bounds)
    return loop.step != 1 or len(loop.uppers) != 1 or moving


def _arrays(
    loop: Operation,
    sweeps: Sequence[Sweep],
    written: Sequence[Value],
    analysis: NestAnalysis,
) -> tuple[Written, ...] | None:
    """The arrays, if no other operation in the loop may access their memory."""
    used = {v for op in loop.walk() for v in op.used if isinstance(v.type, MemRefType)}
    names = {memref: analysis.lifted.names_of(memref) for memref in used}
    arrays: list[Written] = []
    for memref in written:
        own = names[memref]
        others = [names[other] for other in used if other is not memref]
        alone = all(other and own.isdisjoint(other) for other in others)
        if len(own) != 1 or not alone or not _is_plain(memref):
            return None
        stores = tuple(
            (sweep, op)
            for sweep in sweeps
            for op in sweep.stores
            if memref_of(op) is memref
        )
        carried = len(stores) > 1 or _is_carried(next(iter(own)), analysis)
        arrays.append(Written(memref, stores, carried))
    ranks = {array.type.rank for array in arrays}
    return tuple(arrays) if len(ranks) == 1 else None


def _is_plain(memref: Value) -> bool:
    ty = memref.type
    if not isinstance(ty, MemRefType) or ty.memory_space is not None:
        return False
    return isinstance(ty.element, FloatType | IntegerType)


def _is_carried(name: str, analysis: NestAnalysis) -> bool:
    """Whether a step may read a cell of an array that an earlier step has written."""
    model = analysis.model
    mine = [r for r in model.references if r.access.array == name]
    written = reduce(Set.union, (_cells(r) for r in mine if r.access.writes))
    for read in mine:
        if read.access.writes:
            continue
        found = flow(model, read)
        if found is None:
            return True
        before = model.solver.ask(
            lambda f=found: f.entering(1).range().intersect(written), None
        )
        if before is None or not model.solver.is_empty(before):
            return True
    return False


def _cells(reference: Reference) -> Set:
    return reference.relation.range()


def _reach(sweeps: Sequence[Sweep], analysis: NestAnalysis) -> StepHalo | None:
    """The distances that values travel per step, with every cell kept by one tile."""
    units: list[Unit] = []
    positions: dict[str, tuple[str, ...]] = {}
    least: dict[str, list[Sides]] = {}
    for sweep in sweeps:
        unit = Unit(statements_of(sweep.operation, analysis))
        loops = analysis.model.statement(unit.name).loops
        space = zip(sweep.loops, loops[1:], strict=True)
        names = {loop.iv: known.name for loop, known in space}
        units.append(unit)
        positions[unit.name] = (
            loops[0].name,
            *(_text(axis, names) for axis in sweep.axes),
        )
        ways = [sweep.offsets[id(store)] for store in sweep.stores]
        least[unit.name] = [
            Sides(max(0, *along), max(0, *(-way for way in along)))
            for along in zip(*ways, (0,) * len(sweep.axes), strict=True)
        ]
    nest = UnitNest(analysis.model, analysis.dependences, tuple(units))
    return step_halo(nest, positions, least)


def _text(axis: Axis, names: Mapping[Value, str]) -> str:
    start = names[axis.loop.iv] if axis.loop else "0"
    return f"{start} + {axis.offset}"


Way = tuple[int, tuple[int, ...]]


def problem_of(nest: TimeNest) -> TimeProblem:
    """The planner's input for a time loop."""
    return TimeProblem(
        tuple(_extent(nest, dimension) for dimension in range(nest.rank)),
        compact(nest.steps.upper - nest.steps.lower).constant,
        nest.reach.slopes,
        tuple(_work(nest, sweep) for sweep in nest.sweeps),
        tuple(max(1, element_bits(a.type.element) // 8) for a in nest.arrays),
        tuple(array.carried for array in nest.arrays),
    )


def _extent(nest: TimeNest, dimension: int) -> int | None:
    """The most cells that a sweep computes along a dimension, if known."""
    spans = [
        compact(sweep.axes[dimension].upper - sweep.axes[dimension].lower).constant
        for sweep in nest.sweeps
    ]
    known = [span for span in spans if span is not None]
    return max(known) if len(known) == len(spans) else None


def _work(nest: TimeNest, sweep: Sweep) -> SweepWork:
    loads = [op for op in sweep.body if ACCESSES.get(op.name) == 0]
    local = _ways(nest, sweep, loads)
    return SweepWork(
        nest.margins(sweep),
        local,
        _ways(nest, sweep, list(sweep.stores)),
        sum(op.name not in ACCESSES for op in sweep.body),
        len(loads) - len(local),
    )


def _ways(
    nest: TimeNest, sweep: Sweep, accesses: Sequence[Operation]
) -> tuple[Way, ...]:
    numbers = {array.memref: number for number, array in enumerate(nest.arrays)}
    return tuple(
        (numbers[memref_of(op)], sweep.offsets[id(op)])
        for op in accesses
        if id(op) in sweep.offsets
    )
