"""A contraction as CPU code: packed panels, register tiles, parallel blocks.

    for k blocks:
      pack right into panels P[panel][k..][lane]
      parallel for outer axes, row blocks, stripes of panels:
        pack the block of left rows                     (where its stride is harmful)
        for panels of the stripe:
          for row tiles of the block:
            acc = C tile
            for k in block: acc += column of left (x) lanes of right
            C tile = acc

Panels that serve one block of rows only are packed just before their row tiles, or by
the first of these while it computes, or read in place, and those of a stripe by the
task that computes it (`stripe`); then the loop over k blocks stands inside the parallel
ones.  So do the loops over outer axes, next to those over row tiles, where that saves
threads from meeting, which then share the longest of these axes, too (`OuterPanels`).

Of an image that a window slides over, each task first copies the lines that a block of
its reduction sees (`im2row`), and reads those.

The terms of each element are added in their original order, so floating-point results
differ from the nest's only by the contraction of multiply and add; where another order
is permitted, sums of small tiles have several accumulators (`accumulator_splitting`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.contraction.cpu.blocking import (
    BlockBody,
    Blocking,
    Blocks,
    column_axis,
    outer_axes,
    row_axis,
)
from gpucodegen.passes.contraction.cpu.packing.packing import (
    Panels,
    Right,
    RightInPlace,
    pack_panel,
)
from gpucodegen.passes.contraction.cpu.ranges import Positions, Range, grid, nested
from gpucodegen.passes.contraction.cpu.register_tiles.block import RowBlock
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.product_problem import (
    Candidate,
    OuterPanels,
    SharedPanels,
)


def lower(contraction: Contraction, kernel: Candidate) -> list[Operation]:
    """Operations that replace the nest."""
    builder = Builder(contraction.location)
    row, column = row_axis(contraction), column_axis(contraction)
    blocking = Blocking(contraction, kernel, row, column)
    _Lowering(blocking).build(builder)
    return builder.operations


@dataclass(frozen=True, slots=True)
class _Lowering:
    blocking: Blocking

    def build(self, b: Builder) -> None:
        outer = outer_axes(self.blocking.contraction)
        if isinstance(self.blocking.kernel, OuterPanels):
            self._panels(b, {}, ())
        elif self.blocking.tiling.outer_first:
            whole = [Range.whole(axis) for axis in outer]
            nested(b, whole, {}, lambda i, at: self._panels(i, at, ()))
        else:
            self._panels(b, {}, outer)

    def _panels(self, b: Builder, at: Positions, outer: Sequence[Axis]) -> None:
        """The tasks, after the panels that they share, if they share any."""
        cut = self.blocking
        if not isinstance(cut.kernel, SharedPanels):
            in_place = RightInPlace(cut.contraction)
            self._tasks(b, at, outer, in_place, cut.reduction_blocks)
            return
        count = cut.panels
        buffer = cut.buffer(b, (count, *cut.panel_shape), "panel")

        def block(i: Builder, where: Positions, ranges: Sequence[Range]) -> None:
            def one(j: Builder, here: Positions, body: BlockBody) -> None:
                body(j, here, ranges)

            self._pack(i, where, ranges, buffer, count)
            panels = Panels(cut.contraction, buffer, ranges, numbered=True)
            self._tasks(i, where, outer, panels, one)

        cut.reduction_blocks(b, at, block)
        b.add("memref.dealloc", (buffer,))

    def _pack(
        self,
        b: Builder,
        at: Positions,
        ranges: Sequence[Range],
        buffer: Value,
        count: int,
    ) -> None:
        """Copy all panels of one reduction block."""
        cut = self.blocking

        def pack(inner: Builder, ivs: Sequence[Value]) -> None:
            number = Index.of(ivs[0])

            def copy(i: Builder, width: int) -> None:
                lanes, target = cut.lanes(number, width), (buffer, [number])
                pack_panel(i, cut.contraction, ranges, lanes, at, target)

            inner.guard(
                [Index.of(cut.full_panels - 1) - number] if cut.rest else [],
                lambda i: copy(i, cut.tiling.columns),
                lambda i: copy(i, cut.rest),
            )

        grid(b, [count], pack, ["q"], parallel=cut.tiling.parallel)

    def _tasks(
        self,
        b: Builder,
        at: Positions,
        outer: Sequence[Axis],
        right: Right,
        reduction: Blocks,
    ) -> None:
        """The parallel loops over outer axes, blocks of rows and stripes of panels.

        Stripes differ by up to a panel, so each thread gets tasks of all of them.
        """
        cut, tiling = self.blocking, self.blocking.tiling
        parts = {
            "part": cut.kernel.parts if isinstance(cut.kernel, OuterPanels) else 1,
            "block": -(-cut.rows // tiling.row_block),
            "stripe": tiling.stripes,
        }
        split = {name: count for name, count in parts.items() if count > 1}

        def body(inner: Builder, ivs: Sequence[Value]) -> None:
            numbers = dict(zip(split, ivs[len(outer) :], strict=True))
            part, block, stripe = (Index.of(numbers.get(name, 0)) for name in parts)
            places = zip(outer, ivs, strict=False)
            where = at | {axis.iv: Index.of(iv) for axis, iv in places}
            task = RowBlock(cut, right, stripe, block * tiling.row_block, part)
            task.build(inner, where, reduction)

        axes = {axis.name: axis.extent for axis in outer}
        extents = (*axes.values(), *split.values())
        if not extents and cut.contraction.reads_around:
            b.once(lambda i: body(i, ()))
            return
        grid(b, extents, body, (*axes, *split), parallel=tiling.parallel)
