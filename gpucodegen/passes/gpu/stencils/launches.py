"""The kernels of a time loop, and the host's loop around them.

    second = buffer like A, for each carried array A
    for t0 = lower to upper step 2 * steps
      launch kernel of the steps t0 .. t0 + steps - 1            (A, .. -> second, ..)
      launch kernel of the steps t0 + steps .. t0 + 2*steps - 1  (second, .. -> A, ..)

No step is after the last one: the last launches may make fewer steps, and the very last
one none, then it only copies.  So the result is in the program's arrays.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.work import Middles
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.blocks.phases import Divide, Phases
from gpucodegen.passes.gpu.blocks.teams import Team
from gpucodegen.passes.gpu.gpu_launch import KernelBody
from gpucodegen.passes.gpu.kinds.nest import Mapper
from gpucodegen.passes.gpu.stencils.sweeps import LocalSweep
from gpucodegen.passes.gpu.stencils.tiles import Block, Grid, Hull, hulls
from gpucodegen.passes.gpu.stencils.time_nest import TimeNest
from gpucodegen.passes.gpu.stencils.transfers import Transfer
from gpucodegen.passes.loops.framework.ranges import LoopRange, with_range
from gpucodegen.tiling.machine.gpu.time_tiles import TimeTiles


def launch_tiles(nest: TimeNest, plan: TimeTiles, mapper: Mapper) -> list[Operation]:
    """The operations of the host in place of a time loop."""
    b = Builder(nest.loop.operation.location)
    tiled = _Tiled(nest, plan, Grid.over(b, nest, plan), hulls(b, nest), mapper)
    own = {array.memref: array.memref for array in nest.arrays}
    carried = [array for array in nest.arrays if array.carried]
    second = own | {array.memref: _like(b, array.memref) for array in carried}

    def pair(i: Builder, first: Value) -> None:
        begin = Index.of(first)
        tiled.launch(i, begin, own, second)
        tiled.launch(i, begin + plan.steps, second, own)

    b.loop(nest.steps.lower, nest.steps.upper, pair, step=2 * plan.steps, hint="t0")
    for array in carried:
        b.add("memref.dealloc", (second[array.memref],))
    return b.operations


def _like(b: Builder, memref: Value) -> Value:
    """A buffer of the same extents, in rows one after the other."""
    assert isinstance(memref.type, MemRefType)
    ty = replace(memref.type, layout=None)
    open_ = [d for d, extent in enumerate(ty.shape) if extent is None]
    extents = [b.extent(memref, dimension) for dimension in open_]
    return b.allocate("memref.alloc", ty, f"{memref.name}_second", extents)


@dataclass(frozen=True, slots=True)
class _Tiled:
    nest: TimeNest
    plan: TimeTiles
    grid: Grid
    hulls: Mapping[Value, Hull]
    mapper: Mapper

    def launch(
        self,
        b: Builder,
        first: Index,
        source: Mapping[Value, Value],
        target: Mapping[Value, Value],
    ) -> None:
        """Launch the steps from ``first``."""
        inside = Builder(b.location)
        block = Block.build(inside, self.nest, self.plan, self.grid)
        transfers = [
            Transfer(a, self.hulls[a.memref], source[a.memref], target[a.memref])
            for a in self.nest.arrays
        ]
        for transfer in transfers:
            transfer.load(inside, block)
        inside.add("gpu.barrier")
        self._steps(inside, block, first)
        inside.add("gpu.barrier")
        end = first + self.plan.steps
        last = [
            compact(end - self.nest.steps.upper),
            compact(self.nest.steps.upper - 1 - first),
        ]
        for transfer in transfers:
            transfer.store(inside, block, last)
        counts = (*reversed(self.grid.counts), Index.of(1), Index.of(1))[:3]
        threads = (self.plan.threads, 1, 1)
        kernel = KernelBody(tuple(inside.operations), counts, threads)
        b.operations += self.mapper.launch(kernel)

    def _steps(self, b: Builder, block: Block, first: Index) -> None:
        """The time loop, with barriers between sweeps that depend on each other."""
        left = first + (self.plan.steps - 1) - self.nest.loop.iv
        sweeps = {
            id(sweep.operation): LocalSweep(self.nest, sweep, block, left)
            for sweep in self.nest.sweeps
        }

        def deal(op: Operation, middles: Middles) -> Divide | None:
            del middles
            found = sweeps.get(id(op))
            return found.build if found else None

        end = compact(first + self.plan.steps)
        steps = LoopRange((first,), (self.nest.steps.upper, end))
        loop = with_range(self.nest.loop.operation, steps)
        team = Team(Index.of(block.thread), self.plan.threads, self.plan.threads)
        Phases(self.nest.analysis, team, deal).operations(b, [loop])
