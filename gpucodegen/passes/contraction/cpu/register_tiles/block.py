"""What one thread does of a contraction: a block of rows times a stripe of panels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.passes.contraction.cpu.blocking import Blocking, Blocks, LaneAxis
from gpucodegen.passes.contraction.cpu.packing.im2row import LanesInLines, Lines
from gpucodegen.passes.contraction.cpu.packing.packing import (
    Left,
    LeftBlock,
    LeftInPlace,
    PackedOnUse,
    Panels,
    Right,
    pack_panel,
    pack_rows,
)
from gpucodegen.passes.contraction.cpu.ranges import Positions, Range
from gpucodegen.passes.contraction.cpu.register_tiles.corners import Corners
from gpucodegen.passes.contraction.cpu.register_tiles.kernel import RowTiles
from gpucodegen.passes.contraction.cpu.register_tiles.stripe import Stripe
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.product_problem import (
    Im2Row,
    OuterPanels,
    PrivatePanels,
    Stripes,
)


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows from ``first_row``, panels of one stripe, all of the reduction.

    ``part``: that of the longest outer axis, if panels meet the rows of all of them.
    """

    cut: Blocking
    right: Right
    stripe: Index
    first_row: Index
    part: Index

    @property
    def rows(self) -> Range | None:
        """The rows of the block, if any; the last block may be shorter."""
        row, size = self.cut.row, self.cut.tiling.row_block
        if row is None:
            return None
        uppers = [self.first_row + size]
        whole = row.extent % size == 0
        return Range(row, self.first_row, uppers if whole else [*uppers, row.extent])

    def build(self, b: Builder, at: Positions, blocks: Blocks) -> None:
        """Allocate the private copies, and compute one reduction block at a time.

        Panels that their first row tile packs see all blocks before the next one does.
        """
        cut, kernel = self.cut, self.cut.kernel
        corner = None
        lines = Lines.of(b, cut, self.stripe)
        rows, panel = self._copies(b)
        if cut.contraction.guards:
            corner = cut.buffer(b, cut.tile_shape, "corner")

        def compute(i: Builder, where: Positions, ranges: Sequence[Range]) -> None:
            if (
                isinstance(kernel, Stripes)
                and panel is not None
                and self.rows is not None
            ):
                corners = self._corners(corner)
                buffers = (panel, rows, corners)
                stripe = Stripe(cut, kernel, self.stripe, self.rows, ranges, *buffers)
                stripe.build(i, where)
                return
            left, right = self._left(i, where, ranges, rows), self.right
            if lines is not None:
                (steps,) = ranges
                lines.fill(i, where, steps)
                right = LanesInLines(lines, steps)
            self._stripe(i, _Step(where, ranges, left, right, corner), panel)

        def whole(i: Builder, number: Index, columns: int) -> None:
            def block(j: Builder, where: Positions, ranges: Sequence[Range]) -> None:
                left = LeftInPlace(cut.contraction, cut.row)
                step = _Step(where, ranges, left, self.right, corner)
                self._tiles(j, step, panel, (number, columns))

            blocks(i, at, block)

        if isinstance(kernel, OuterPanels) and kernel.packs:
            cut.each_panel(b, self.stripe, whole)
        else:
            blocks(b, at, compute)
        copied = lines and lines.buffer
        for buffer in filter(None, (rows, panel, corner, copied)):
            b.add("memref.dealloc", (buffer,))

    def _copies(self, b: Builder) -> tuple[Value | None, Value | None]:
        """Memory for rows of the left factor, and for panels of the right one."""
        cut, kernel, tiling = self.cut, self.cut.kernel, self.cut.tiling
        rows = panel = None
        if tiling.left_stride:
            whole = tiling.row_block
            height = kernel.left_rows if isinstance(kernel, Stripes) else whole
            rows = cut.buffer(b, (height, tiling.left_stride), "rows")
        match kernel:
            case Stripes():
                panel = cut.buffer(b, (cut.share, *cut.panel_shape), "panels")
            case PrivatePanels() | OuterPanels() | Im2Row(packs=True):
                panel = cut.buffer(b, cut.panel_shape, "panel")
            case _:
                pass
        return rows, panel

    def _left(
        self, b: Builder, at: Positions, ranges: Sequence[Range], rows: Value | None
    ) -> Left:
        contraction = self.cut.contraction
        if rows is None or self.rows is None:
            return LeftInPlace(contraction, self.cut.row)
        (step,) = ranges
        block = LeftBlock(contraction, rows, self.rows, step)
        pack_rows(b, block, at, self.cut.tiling.lanes)
        return block

    def _stripe(self, b: Builder, step: _Step, panel: Value | None) -> None:
        """All register tiles of the block for one reduction block."""

        def panel_of(inner: Builder, number: Index, columns: int) -> None:
            self._tiles(inner, step, panel, (number, columns))

        self.cut.each_panel(b, self.stripe, panel_of)

    def _tiles(
        self, b: Builder, step: _Step, panel: Value | None, place: tuple[Index, int]
    ) -> None:
        """The register tiles of a panel for one reduction block.

        ``place``: the number of the panel, and its columns.
        """
        cut, (number, columns) = self.cut, place
        right = self._right(b, step, panel, cut.lanes(number, columns))
        corners = self._corners(step.corner)
        outer = cut.inner_ranges(self.part)
        sources = (step.left, right, corners)
        tiles = RowTiles(cut, self.rows, step.ranges, *sources, outer=outer)
        tiles.build(b, step.at, number, columns)

    def _corners(self, copy: Value | None) -> Corners | None:
        contraction = self.cut.contraction
        if copy is None:
            return None
        return Corners(contraction.guards, contraction.result, copy)

    def _right(
        self, b: Builder, step: _Step, panel: Value | None, lanes: LaneAxis
    ) -> Right:
        if panel is None:
            return step.right
        contraction = self.cut.contraction
        panels = Panels(contraction, panel, step.ranges)
        if isinstance(self.cut.kernel, OuterPanels | Im2Row) and self.cut.kernel.packs:
            return PackedOnUse(step.right, panels)
        pack_panel(b, contraction, step.ranges, lanes, step.at, (panel, []))
        return panels


@dataclass(frozen=True, slots=True)
class _Step:
    """One reduction block: where its outer axes stand, its ranges, its sources."""

    at: Positions
    ranges: Sequence[Range]
    left: Left
    right: Right
    corner: Value | None
