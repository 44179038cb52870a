"""One sweep of a time step on the tile of a block.

A thread computes whole chunks, if they hold a cell that later steps need.  Other cells
of theirs may get wrong values, but then nothing reads these that is kept.  Each cell
of a chunk is loaded once (`marching`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value, clone
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.stencils.cells import ACCESSES, memref_of
from gpucodegen.passes.gpu.stencils.chunks import Place, cells, deal
from gpucodegen.passes.gpu.stencils.marching import Cell, Known, Marching
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
        """The place in the box; that of an axis without a loop is fixed."""
        plan, corner = self.block.plan, self.block.corner
        return [
            first[d] + plan.rim[d].below
            if axis.loop
            else Index.of(axis.offset) - corner[d]
            for d, axis in enumerate(self.sweep.axes)
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

    def _instances(self, first: Place, chunk: Sequence[int]) -> list[Index]:
        """Not negative if all cells of a chunk are instances of the sweep."""
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
        """All cells of a chunk, row after row; what the next row reads is kept."""
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
