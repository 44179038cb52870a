"""The kernels of a time loop, and the host's loop around them.

    second = buffer like A, for each carried array A
    for t0 = lower to upper step 2 * steps
      launch the kernel for the steps from t0          (A, .. -> second, ..)
      launch the kernel for the steps from t0 + steps  (second, .. -> A, ..)

No step is after the last one: the last launches may make fewer steps, and the very last
one none, then it only copies.  So the result is in the program's arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.launches.gpu_launch import KernelBody
from gpucodegen.passes.gpu.stencils.sweeps import LocalSweep
from gpucodegen.passes.gpu.stencils.tiles import Block, Grid
from gpucodegen.passes.gpu.stencils.time_nest import TimeNest
from gpucodegen.passes.gpu.stencils.transfers import Transfers
from gpucodegen.passes.loops.framework.ranges import LoopRange, with_range
from gpucodegen.tiling.machine.gpu.temporal_tiling import TimeTiles

Launch = Callable[[KernelBody], list[Operation]]
"""The operations of the host that launch a kernel."""


def launch_tiles(nest: TimeNest, plan: TimeTiles, launch: Launch) -> list[Operation]:
    """The operations of the host in place of a time loop."""
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
    """Whether a kernel takes buffers themselves, so that others may be in their place.

    It makes views again inside, and the type of a second buffer has no layout.
    """
    passed = {value for op in launch for inner in op.walk() for value in inner.operands}
    return all(m in passed and m.type == _plain(m) for m in memrefs)


def _plain(memref: Value) -> MemRefType:
    assert isinstance(memref.type, MemRefType)
    return replace(memref.type, layout=None)


def _like(b: Builder, memref: Value) -> Value:
    """A buffer of the same extents, in rows one after the other."""
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
