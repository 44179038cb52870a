"""One sweep of a time step on the tile of a block.

A thread computes whole chunks.  Those that hold a cell which later steps need are
computed, together with their other cells as far as all that these read lies in the box:
such a cell may have a wrong value, but then nothing reads it that is kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value, clone
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.stencils.cells import ACCESSES, memref_of
from gpucodegen.passes.gpu.stencils.chunks import Place, cells, deal
from gpucodegen.passes.gpu.stencils.tiles import Block
from gpucodegen.passes.gpu.stencils.time_nest import Sweep, TimeNest


@dataclass(frozen=True, slots=True)
class LocalSweep:
    """A sweep of a nest on a block; ``left``: steps that are left after this one."""

    nest: TimeNest
    sweep: Sweep
    block: Block
    left: Index

    def build(self, b: Builder) -> None:
        """Every chunk that is needed, dealt out to the threads."""
        plan, axes = self.block.plan, self.sweep.axes
        extents = [e if a.loop else 1 for e, a in zip(plan.box, axes, strict=True)]
        chunk = [c if a.loop else 1 for c, a in zip(plan.chunk, axes, strict=True)]

        def at(i: Builder, first: Place) -> None:
            here = self._placed(first)
            i.guard(self._needed(here, chunk), lambda n: both(n, here))

        def both(i: Builder, first: Place) -> None:
            i.guard(
                self._computable(first, chunk),
                lambda n: cells(n, first, chunk, self._cell),
                lambda n: cells(n, first, chunk, self._guarded),
            )

        deal(b, extents, chunk, self.block.thread, plan.threads, at)

    def _placed(self, first: Place) -> list[Index]:
        """The place in the box; that of an axis without a loop is fixed."""
        fixed = zip(first, self.sweep.axes, self.block.corner, strict=True)
        return [
            place if axis.loop else Index.of(axis.offset) - corner
            for place, axis, corner in fixed
        ]

    def _needed(self, first: Place, chunk: Sequence[int]) -> list[Index]:
        """Not negative if some cell of a chunk is needed after this sweep."""
        plan, found = self.block.plan, list[Index]()
        for dimension, margin in enumerate(self.nest.margins(self.sweep)):
            slope, halo = self.nest.reach.slopes[dimension], plan.halo[dimension]
            start = Index.of(halo.below - margin.below) - self.left * slope.below
            end = plan.box[dimension] - halo.above + margin.above
            stop = Index.of(end) + self.left * slope.above
            last = first[dimension] + (chunk[dimension] - 1)
            found += [last - start, stop - 1 - first[dimension]]
        return found

    def _computable(self, first: Place, chunk: Sequence[int]) -> list[Index]:
        """Not negative if all cells of a chunk are instances that read in the box."""
        found: list[Index] = []
        for dimension, axis in enumerate(self.sweep.axes):
            if axis.loop is None:
                continue
            near = self.sweep.neighbourhood(dimension)
            last = first[dimension] + (chunk[dimension] - 1)
            corner = Index.of(self.block.corner[dimension])
            found += [
                corner + first[dimension] - axis.lower,
                axis.upper - 1 - corner - last,
            ]
            if near.below:
                found.append(first[dimension] - near.below)
            if near.above:
                found.append(
                    Index.of(self.block.plan.box[dimension] - 1 - near.above) - last
                )
        return found

    def _guarded(self, b: Builder, place: Place) -> None:
        ones = [1] * len(place)
        b.guard(self._computable(place, ones), lambda i: self._cell(i, place))

    def _cell(self, b: Builder, place: Place) -> None:
        """The body of the sweep for the cell at a place of the box."""
        values: dict[Value, Value] = {}
        for at, axis in zip(self.block.cell(place), self.sweep.axes, strict=True):
            if axis.loop:
                values[axis.loop.iv] = b.index(at - axis.offset, axis.loop.iv.name)
        for op in self.sweep.body:
            way = self.sweep.offsets.get(id(op))
            if way is None:
                b.operations.append(clone(op, values))
            else:
                self._access(
                    b, op, [p + w for p, w in zip(place, way, strict=True)], values
                )

    def _access(
        self, b: Builder, op: Operation, place: Place, values: dict[Value, Value]
    ) -> None:
        """An access of a written array, of the local one in its place."""
        local = self.block.local[memref_of(op)]
        if ACCESSES[op.name]:
            stored = op.operands[0]
            b.store(values.get(stored, stored), local, place)
        else:
            values[op.result] = b.load(local, place, op.result.name)
