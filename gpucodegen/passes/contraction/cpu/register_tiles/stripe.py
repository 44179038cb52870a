"""Rows that meet all panels of a stripe in turn.

The panels of a reduction block stay in the second cache, the rows of a register tile in
the first one:

    pack right into panels P[panel][k..][lane]
    for rows of the block, some at once:
      pack them                                         (where their stride is harmful)
      for row tiles of them:
        for panels of the stripe:
          C tile += left rows (x) panel

Neighbouring tiles of C are then computed one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Value
from gpucodegen.passes.contraction.cpu.blocking import Blocking
from gpucodegen.passes.contraction.cpu.packing.packing import (
    Left,
    LeftBlock,
    LeftInPlace,
    Panels,
    copy_lanes,
    direct_lanes,
    pack_panel,
    pack_rows,
)
from gpucodegen.passes.contraction.cpu.ranges import Positions, Range, in_pieces, nested
from gpucodegen.passes.contraction.cpu.register_tiles.corners import Corners
from gpucodegen.passes.contraction.cpu.register_tiles.kernel import RowTiles
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.product_problem import Stripes


@dataclass(frozen=True, slots=True)
class Stripe:
    """One reduction block of a stripe of panels and a block of rows.

    ``panels`` holds copies of the right factor, ``copied`` of some rows at once.
    """

    cut: Blocking
    kernel: Stripes
    number: Index
    rows: Range
    ranges: Sequence[Range]
    panels: Value
    copied: Value | None
    corners: Corners | None

    @property
    def first(self) -> Index:
        """The number of the first panel."""
        return self.cut.first_panel(self.number)

    def build(self, b: Builder, at: Positions) -> None:
        """Copy the panels, then compute tile by tile."""
        start = at | {self.rows.axis.iv: Index.of(self.rows.lower)}
        height = self.cut.tiling.row_block
        b.guard(self._meets(start, height), lambda i: self._computed(i, at))

    def _meets(self, at: Positions, height: int) -> list[Index]:
        """What is >= 0 where some rows have cells in the stripe."""
        if self.corners is None:
            return []
        column, width = self.cut.column, self.cut.tiling.columns
        place = at | {column.iv: self.first * width}
        extents = {self.rows.axis: height, column: self.cut.share * width}
        return self.corners.meets(place, extents)

    def _computed(self, b: Builder, at: Positions) -> None:
        self._pack(b, at)
        if self.copied is None:
            left = LeftInPlace(self.cut.contraction, self.rows.axis)
            self._tiles(b, at, self.rows, left)
            return
        together = replace(self.rows, stride=self.kernel.left_rows)
        size = self.kernel.left_rows

        def some(i: Builder, here: Positions) -> None:
            i.guard(self._meets(here, size), lambda j: self._copied(j, here))

        nested(b, [together], at, some)

    def _copied(self, b: Builder, at: Positions) -> None:
        """Copy some rows, then compute their tiles."""
        assert self.copied is not None
        first, (step,) = at[self.rows.axis.iv], self.ranges
        ends = [first + self.kernel.left_rows, *self.rows.uppers]
        rows = replace(self.rows, lower=first, uppers=ends)
        block = LeftBlock(self.cut.contraction, self.copied, rows, step)
        pack_rows(b, block, at, self.cut.tiling.lanes)
        self._tiles(b, at, rows, block)

    def _tiles(self, b: Builder, at: Positions, rows: Range, left: Left) -> None:
        """The tiles of C in some rows: one row of tiles after the other."""
        cut, first = self.cut, self.first
        right = Panels(cut.contraction, self.panels, self.ranges, True, first)
        tiles = RowTiles(cut, self.rows, self.ranges, left, right, self.corners, first)

        def across(i: Builder, here: Positions, height: int) -> None:
            def one(j: Builder, panel: Index, columns: int) -> None:
                tiles.tile(j, here, panel, (height, columns))

            cut.each_panel(i, self.number, one)

        in_pieces(b, rows, cut.tiling.rows, at, across)

    def _pack(self, b: Builder, at: Positions) -> None:
        """Copy the panels: step by step, where all columns of a step lie together."""
        cut, contraction = self.cut, self.cut.contraction

        def whole(i: Builder, panel: Index, columns: int) -> None:
            target = self.panels, [panel - self.first]
            lanes = cut.lanes(panel, columns)
            pack_panel(i, contraction, self.ranges, lanes, at, target)

        def step(i: Builder, here: Positions) -> None:
            inside = [part.inside(here) for part in self.ranges]

            def copy(j: Builder, panel: Index, columns: int) -> None:
                target = self.panels, [panel - self.first, *inside]
                copy_lanes(j, contraction, here, cut.lanes(panel, columns), target)

            cut.each_panel(i, self.number, copy)

        if direct_lanes(contraction.right, cut.column):
            nested(b, self.ranges, at, step)
        else:
            cut.each_panel(b, self.number, whole)
