"""The kernels of a time loop, and the host's loop around them.

    second = buffer like A, for each carried array A
    for t0 = lower to upper step 2 * steps
      launch the kernel for the steps from t0          (A, .. -> second, ..)
      launch the kernel for the steps from t0 + steps  (second, .. -> A, ..)

No step is after the last one: the last launches may make fewer steps, and the very last
one none, then it only copies.  So the result is in the program's arrays.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.analysis.work import Middles
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.blocks.phases import Divide, Phases
from gpucodegen.passes.gpu.gpu_launch import KernelBody
from gpucodegen.passes.gpu.kinds.nest import Mapper
from gpucodegen.passes.gpu.rows.team import Team
from gpucodegen.passes.gpu.stencils.sweeps import LocalSweep
from gpucodegen.passes.gpu.stencils.tiles import Block, Grid
from gpucodegen.passes.gpu.stencils.time_nest import TimeNest
from gpucodegen.passes.gpu.stencils.transfers import Transfers
from gpucodegen.passes.loops.framework.ranges import LoopRange, with_range
from gpucodegen.tiling.machine.gpu.time_tiles import TimeTiles
from gpucodegen.tiling.proof.dependences import Dependence


def launch_tiles(nest: TimeNest, plan: TimeTiles, mapper: Mapper) -> list[Operation]:
    """The operations of the host in place of a time loop."""
    b = Builder(nest.loop.operation.location)
    tiled = _Tiled(nest, plan, Grid.over(b, nest, plan), mapper)
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
    mapper: Mapper

    def launch(
        self, begin: Value, source: Mapping[Value, Value], target: Mapping[Value, Value]
    ) -> list[Operation]:
        """A launch of the steps from ``begin``."""
        b, first = Builder(self.nest.loop.operation.location), Index.of(begin)
        block = Block.build(b, self.nest, self.plan, self.grid)
        transfers = Transfers(block, source, target)
        for array in self.nest.arrays:
            transfers.load(b, array)
        b.add("gpu.barrier")
        self._steps(b, block, first)
        b.add("gpu.barrier")
        upper, end = self.nest.steps.upper, first + self.plan.steps
        last = [compact(end - upper), compact(upper - 1 - first)]
        for array in self.nest.arrays:
            transfers.store(b, array, last)
        counts = (*reversed(self.grid.counts), Index.of(1), Index.of(1))[:3]
        threads = (self.plan.threads, 1, 1)
        return self.mapper.launch(KernelBody(tuple(b.operations), counts, threads))

    def _steps(self, b: Builder, block: Block, first: Index) -> None:
        """The time loop, with barriers between sweeps that depend on each other."""
        left = first + (self.plan.steps - 1) - self.nest.loop.iv
        sweeps = {
            id(sweep.operation): LocalSweep(self.nest, sweep, block, left)
            for sweep in self.nest.sweeps
        }

        end = compact(first + self.plan.steps)
        steps = LoopRange((first,), (self.nest.steps.upper, end))
        loop = with_range(self.nest.loop.operation, steps)
        team = Team(((Index.of(block.thread), self.plan.threads),))
        Phases(self.nest.analysis, team, SweepsDealt(sweeps)).operations(b, [loop])


@dataclass(frozen=True, slots=True)
class SweepsDealt:
    """Sweeps of a time step, by the identity of their operation, as chunks of cells."""

    sweeps: Mapping[int, LocalSweep]

    def deal(self, op: Operation, middles: Middles) -> Divide | None:
        """The chunks of the member."""
        del middles
        found = self.sweeps.get(id(op))
        return found.build if found else None

    def is_of_one_member(
        self, found: Sequence[Dependence], before: Operation, after: Operation
    ) -> bool:
        """Chunks read cells of others."""
        del before, after
        return not found

    def note(self, op: Operation) -> None:
        """Nothing is kept from one sweep to the next."""
