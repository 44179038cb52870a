"""Temporal tiling kernels: stencil time loops with several steps per launch.

    second = buffer like A, for each carried array A
    for t0 = lower to upper step 2 * steps
      launch the kernel for the steps from t0          (A, .. -> second, ..)
      launch the kernel for the steps from t0 + steps  (second, .. -> A, ..)

The last launches may run fewer steps, and the very last one none: then it only copies,
so the result is in the program's arrays.

A thread computes whole chunks of a block's tile if they hold an element that later
steps need.  Their other elements may get wrong values, which no kept element depends
on. A chunk is computed row after row along the last dimension but one (register
blocking): the loop carries the rows that are read again, and each step loads the
elements of one new row.  No instance of a parallel nest reads what another one writes,
so loads may precede all stores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.queries import NestAnalysis
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.nest_mapping import Nest
from gpucodegen.passes.gpu.stencil_recognition import (
    ACCESSES,
    Sweep,
    TimeNest,
    memref_of,
    problem_of,
    time_nest_of,
)
from gpucodegen.passes.gpu.stencil_tiles import (
    Block,
    Grid,
    Place,
    Transfers,
    cells,
    deal,
)
from gpucodegen.passes.nests.loop_ranges import LoopRange, with_range
from gpucodegen.passes.outlining.gpu_launch import KernelBody
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import GpuDevice
from gpucodegen.tiling.machine.gpu.temporal_tiling import TimeTiles, plan_time_tiles

Cell = tuple[Value, tuple[int, ...]]
"""An array, and offsets from the first cell of a row."""
Known = dict[Cell, Value]
"""The known values of cells."""
Row = Callable[[Builder, Place, Known], Known]
"""Computes a row from the kept cells; returns the cells known afterwards."""


@dataclass(frozen=True, slots=True)
class Marching:
    """How a chunk is traversed: ``rows`` along ``dimension``, ``cells`` of each.

    ``kept``: cells that a row reads and the previous row has loaded.  ``new``: those
    that it loads.
    """

    dimension: int
    rows: int
    cells: tuple[tuple[int, ...], ...]
    kept: tuple[Cell, ...]
    new: tuple[Cell, ...]

    @staticmethod
    def of(sweep: Sweep, chunk: Sequence[int]) -> Marching:
        """The traversal of a chunk of a sweep."""
        dimension = max(len(chunk) - 2, 0)
        section = [1 if d == dimension else n for d, n in enumerate(chunk)]
        cells = tuple(product(*map(range, section)))
        columns: dict[Cell, list[int]] = {}
        for memref, way in _read_first(sweep):
            for cell in cells:
                steps = [c + w for c, w in zip(cell, way, strict=True)]
                height, steps[dimension] = steps[dimension], 0
                columns.setdefault((memref, tuple(steps)), []).append(height)
        kept: list[Cell] = []
        new: list[Cell] = []
        for (memref, steps), heights in columns.items():
            before, behind = steps[:dimension], steps[dimension + 1 :]
            *earlier, last = (
                (memref, (*before, height, *behind))
                for height in range(min(heights), max(heights) + 1)
            )
            kept += earlier
            new.append(last)
        return Marching(dimension, chunk[dimension], cells, tuple(kept), tuple(new))

    def walk(
        self, b: Builder, first: Place, kept: Mapping[Cell, Value], row: Row
    ) -> None:
        """All rows; ``kept``: the kept cells of the first one."""
        if self.rows == 1:
            row(b, first, dict(kept))
            return

        def step(i: Builder, number: Value, values: Sequence[Value]) -> list[Value]:
            here = list(first)
            here[self.dimension] = here[self.dimension] + number
            known = row(i, here, dict(zip(self.kept, values, strict=True)))
            return [known[self._next(cell)] for cell in self.kept]

        b.carried_loop(0, self.rows, list(kept.values()), step, hint="row")

    def _next(self, cell: Cell) -> Cell:
        memref, steps = cell
        moved = list(steps)
        moved[self.dimension] += 1
        return memref, tuple(moved)


def _read_first(sweep: Sweep) -> list[Cell]:
    """The offsets of cells that an instance reads before it writes them."""
    written: set[Cell] = set()
    found: list[Cell] = []
    for op in sweep.body:
        if id(op) in sweep.offsets:
            cell = memref_of(op), sweep.offsets[id(op)]
            if ACCESSES[op.name]:
                written.add(cell)
            elif cell not in written:
                found.append(cell)
    return found


@dataclass(frozen=True, slots=True)
class LocalSweep:
    """A sweep of a nest on a block; ``left``: steps that remain after this one."""

    nest: TimeNest
    sweep: Sweep
    block: Block
    left: Index

    def build(self, b: Builder) -> None:
        """Every chunk that is needed, distributed over the threads."""
        plan, axes = self.block.plan, self.sweep.axes
        extents = [e if a.loop else 1 for e, a in zip(plan.core, axes, strict=True)]
        chunk = [c if a.loop else 1 for c, a in zip(plan.chunk, axes, strict=True)]

        def at(i: Builder, first: Place) -> None:
            here = self._placed(first)
            i.guard(self._needed(here, chunk), lambda n: both(n, here))

        def both(i: Builder, first: Place) -> None:
            i.guard(
                self._instances(first, chunk),
                lambda n: self._chunk(n, first, chunk),
                lambda n: cells(n, first, chunk, self._guarded),
            )

        deal(b, extents, chunk, self.block.thread, plan.threads, at)

    def _placed(self, first: Place) -> list[Index]:
        """The place in the box; fixed for an axis without a loop."""
        plan, corner = self.block.plan, self.block.corner
        return [
            first[d] + plan.rim[d].below
            if axis.loop
            else Index.of(axis.offset) - corner[d]
            for d, axis in enumerate(self.sweep.axes)
        ]

    def _needed(self, first: Place, chunk: Sequence[int]) -> list[Index]:
        """Non-negative if a cell of a chunk is needed after this sweep."""
        plan, found = self.block.plan, list[Index]()
        for dimension, margin in enumerate(self.nest.margins(self.sweep)):
            slope, halo = self.nest.reach.slopes[dimension], plan.halo[dimension]
            start = Index.of(halo.below - margin.below) - self.left * slope.below
            end = plan.box[dimension] - halo.above + margin.above
            stop = Index.of(end) + self.left * slope.above
            last = first[dimension] + (chunk[dimension] - 1)
            found += [last - start, stop - 1 - first[dimension]]
        return found

    def _instances(self, first: Place, chunk: Sequence[int]) -> list[Index]:
        """Non-negative if all cells of a chunk are instances of the sweep."""
        found: list[Index] = []
        for dimension, axis in enumerate(self.sweep.axes):
            if axis.loop is None:
                continue
            last = first[dimension] + (chunk[dimension] - 1)
            corner = Index.of(self.block.corner[dimension])
            found += [
                corner + first[dimension] - axis.lower,
                axis.upper - 1 - corner - last,
            ]
        return found

    def _chunk(self, b: Builder, first: Place, chunk: Sequence[int]) -> None:
        """All cells of a chunk, row after row; rows that are read again are kept."""
        march = Marching.of(self.sweep, chunk)
        kept = {cell: self._load(b, first, cell) for cell in march.kept}

        def row(i: Builder, here: Place, known: Known) -> Known:
            known |= {cell: self._load(i, here, cell) for cell in march.new}
            for steps in march.cells:
                self._cell(i, here, steps, known)
            return known

        march.walk(b, first, kept, row)

    def _guarded(self, b: Builder, place: Place) -> None:
        """A cell, if it is an instance."""
        alone = [1] * len(place)
        b.guard(
            self._instances(place, alone),
            lambda i: self._cell(i, place, [0] * len(place), {}),
        )

    def _load(self, b: Builder, first: Place, cell: Cell) -> Value:
        memref, steps = cell
        place = [p + s for p, s in zip(first, steps, strict=True)]
        return b.load(self.block.local[memref], place, "cell")

    def _cell(
        self, b: Builder, first: Place, steps: Sequence[int], known: Known
    ) -> None:
        """The body of the sweep for a cell some steps from the first of a chunk."""
        values: dict[Value, Value] = {}
        here = [place + step for place, step in zip(first, steps, strict=True)]
        for at, axis in zip(self.block.cell(here), self.sweep.axes, strict=True):
            if axis.loop:
                values[axis.loop.iv] = b.index(at - axis.offset, axis.loop.iv.name)
        for op in self.sweep.body:
            way = self.sweep.offsets.get(id(op))
            if way is None:
                b.operations.append(clone(op, values))
                continue
            cell = memref_of(op), tuple(s + w for s, w in zip(steps, way, strict=True))
            if not ACCESSES[op.name]:
                if cell not in known:
                    known[cell] = self._load(b, first, cell)
                values[op.result] = known[cell]
                continue
            known[cell] = values.get(op.operands[0], op.operands[0])
            place = [p + s for p, s in zip(first, cell[1], strict=True)]
            b.store(known[cell], self.block.local[cell[0]], place)


Launch = Callable[[KernelBody], list[Operation]]
"""The operations of the host that launch a kernel."""


def launch_tiles(nest: TimeNest, plan: TimeTiles, launch: Launch) -> list[Operation]:
    """The host operations in place of a time loop."""
    b = Builder(nest.loop.operation.location)
    tiled = _Tiled(nest, plan, Grid.over(b, nest, plan), launch)
    carried = [array.memref for array in nest.arrays if array.carried]
    own = {array.memref: array.memref for array in nest.arrays}
    second = own | {memref: _like(b, memref) for memref in carried}

    def pair(i: Builder, first: Value) -> None:
        there = tiled.launch(first, own, second)
        then = i.index(Index.of(first) + plan.steps, first.name)
        i.operations += there
        turned = {first: then}
        for memref in carried:
            turned |= {memref: second[memref], second[memref]: memref}
        if _takes(there, carried):
            i.operations += [clone(op, dict(turned)) for op in there]
        else:
            i.operations += tiled.launch(then, second, own)

    b.loop(nest.steps.lower, nest.steps.upper, pair, step=2 * plan.steps, hint="t0")
    for memref in carried:
        b.add("memref.dealloc", (second[memref],))
    return b.operations


def _takes(launch: Sequence[Operation], memrefs: Sequence[Value]) -> bool:
    """Whether a kernel takes the buffers themselves, so they can be exchanged.

    It recreates views inside, and the type of a second buffer has no layout.
    """
    passed = {value for op in launch for inner in op.walk() for value in inner.operands}
    return all(m in passed and m.type == _plain(m) for m in memrefs)


def _plain(memref: Value) -> MemRefType:
    assert isinstance(memref.type, MemRefType)
    return replace(memref.type, layout=None)


def _like(b: Builder, memref: Value) -> Value:
    """A row-major buffer of the same extents."""
    ty = _plain(memref)
    open_ = [d for d, extent in enumerate(ty.shape) if extent is None]
    extents = [b.extent(memref, dimension) for dimension in open_]
    return b.allocate("memref.alloc", ty, f"{memref.name}_second", extents)


@dataclass(frozen=True, slots=True)
class _Tiled:
    nest: TimeNest
    plan: TimeTiles
    grid: Grid
    enter: Launch

    def launch(
        self, begin: Value, source: Mapping[Value, Value], target: Mapping[Value, Value]
    ) -> list[Operation]:
        """A launch of the steps from ``begin``."""
        b, first = Builder(self.nest.loop.operation.location), Index.of(begin)
        block = Block.build(b, self.nest, self.plan, self.grid)
        transfers = Transfers(block, source, target)
        for array in self.nest.arrays:
            transfers.load(b, array)
        if id(self.nest.sweeps[0].operation) not in self.nest.meetings():
            b.add("gpu.barrier")
        self._steps(b, block, first)
        b.add("gpu.barrier")
        upper, end = self.nest.steps.upper, first + self.plan.steps
        last = [compact(end - upper), compact(upper - 1 - first)]
        for array in self.nest.arrays:
            transfers.store(b, array, last)
        counts = (*reversed(self.grid.counts), Index.of(1), Index.of(1))[:3]
        threads = (self.plan.threads, 1, 1)
        return self.enter(KernelBody(tuple(b.operations), counts, threads))

    def _steps(self, b: Builder, block: Block, first: Index) -> None:
        """The time loop, with barriers between sweeps that depend on each other."""
        loop = self.nest.loop
        left = first + (self.plan.steps - 1) - loop.iv
        sweeps = {id(sweep.operation): sweep for sweep in self.nest.sweeps}
        meetings = self.nest.meetings()

        def step(i: Builder) -> None:
            for op in loop.operation.body.operations:
                sweep = sweeps.get(id(op))
                if sweep is None:
                    i.operations.append(op)
                    continue
                if id(op) in meetings:
                    i.add("gpu.barrier")
                LocalSweep(self.nest, sweep, block, left).build(i)

        steps = LoopRange(
            (first,), (self.nest.steps.upper, compact(first + self.plan.steps))
        )
        b.operations.append(with_range(loop.operation.with_body(b.nested(step)), steps))


def can_tile_time(op: Operation, analysis: NestAnalysis, device: GpuDevice) -> bool:
    """Whether `map_stencil_sweeps` takes the nest in its present order."""
    found = time_nest_of(op, analysis)
    return found is not None and plan_time_tiles(problem_of(found), device) is not None


def map_stencil_sweeps(nest: Nest) -> list[Operation] | None:
    """Launches of several time steps each, on overlapped tiles."""
    if not nest.mapper.time_tiles:
        return None
    found = time_nest_of(nest.op, nest.analysis)
    if found is None:
        return None
    device, choose = nest.mapper.device, nest.mapper.plans.of("time")
    plan = plan_time_tiles(problem_of(found), device, choose)
    if plan is None:
        return None
    return launch_tiles(found, plan, nest.mapper.launch)
