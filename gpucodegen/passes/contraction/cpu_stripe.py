"""Rows that meet all panels of a stripe in turn.

The panels of a reduction block stay in the second cache, the rows of a register tile in
the first one:

    pack right into panels P[panel][k..][lane]
    for row tiles of the block:
      pack the rows of the tile                         (where their stride is harmful)
      for panels of the stripe:
        C tile += left rows (x) panel

Neighbouring tiles of C are then computed one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.blocking import Blocking
from gpucodegen.passes.contraction.cpu_kernel import RowTiles, each_tile
from gpucodegen.passes.contraction.packing import (
    Left,
    LeftBlock,
    LeftInPlace,
    Panels,
    copy_lanes,
    direct_lanes,
    pack_panel,
    pack_rows,
)
from gpucodegen.passes.contraction.ranges import Positions, Range, nested
from gpucodegen.passes.indexing import Index


@dataclass(frozen=True, slots=True)
class Stripe:
    """One reduction block of a stripe of panels and a block of rows.

    ``panels`` holds copies of the right factor, ``copied`` of the rows of one tile.
    """

    cut: Blocking
    number: Index
    rows: Range
    ranges: Sequence[Range]
    panels: Value
    copied: Value | None

    @property
    def first(self) -> Index:
        """The number of the first panel."""
        return self.number * self.cut.share

    def build(self, b: Builder, at: Positions) -> None:
        """Copy the panels, then compute tile by tile."""
        self._pack(b, at)
        contraction = self.cut.contraction
        right = Panels(contraction, self.panels, self.ranges, True, self.first)

        def across(i: Builder, here: Positions, height: int) -> None:
            left = self._left(i, here, height)
            tiles = RowTiles(
                self.cut, self.rows, self.ranges, left, right, None, self.first
            )

            def one(j: Builder, panel: Index, columns: int) -> None:
                tiles.tile(j, here, panel, (height, columns))

            self.cut.each_panel(i, self.number, one)

        each_tile(b, self.cut.plan, self.rows, at, across)

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

    def _left(self, b: Builder, at: Positions, height: int) -> Left:
        """The rows of a tile, in place or copied."""
        contraction, row = self.cut.contraction, self.rows.axis
        if self.copied is None:
            return LeftInPlace(contraction, row)
        first = at[row.iv]
        (step,) = self.ranges
        tile = Range(row, first, [first + height])
        block = LeftBlock(contraction, self.copied, tile, step)
        pack_rows(b, block, at, self.cut.plan.lanes)
        return block
