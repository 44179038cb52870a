"""A time loop taken apart: its parallel sweeps, its arrays, how far values travel.

Comes in: a nest.  Goes out: a `TimeNest`, if

* the loop counts by one, and holds parallel loops over straight code, side by side;
* every array that it writes is its own buffer, and all have one rank;
* each sweep computes, in one instance, one cell of each array that it writes, and reads
  cells of such arrays at constant distances from it;
* values travel a bounded number of cells per step (`tiling.proof.distances`).

An array is *carried* if a step may read a cell that an earlier step has written.
Others are computed anew in each step before they are read: only their last values
leave the loop.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, IntegerType, MemRefType
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.gpu.facts.mapped_loops import MappedLoop, parallel_chain
from gpucodegen.passes.gpu.stencils.cells import (
    ACCESSES,
    Axis,
    axes_of,
    indices_of,
    memref_of,
    offsets_from,
)
from gpucodegen.passes.gpu.stencils.time_nest import (
    Sweep,
    TimeNest,
    Written,
    statements_of,
)
from gpucodegen.passes.loops.framework.ranges import range_of
from gpucodegen.passes.prepare.affine.dead_code import is_pure
from gpucodegen.tiling.model.isl import Set
from gpucodegen.tiling.model.relations import Reference
from gpucodegen.tiling.proof.distances import Sides, StepHalo, step_halo
from gpucodegen.tiling.proof.flow import flow
from gpucodegen.tiling.schedule.schedule import Unit, UnitNest

DEEPEST = 3
"""Dimensions of space, as a grid has."""


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
    """Whether scalars of the loop have effects, or see arrays that change."""
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
    """The arrays, if nothing else in the loop may share memory with them."""
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
    """How far values travel per step, with every cell kept by one tile."""
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
