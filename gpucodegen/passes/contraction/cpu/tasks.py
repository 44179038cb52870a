"""CPU contraction driver: packed panels, register tiles, parallel tasks.

    for k blocks:
      pack B into panels P[panel][k..][lane]
      parallel for outer axes, row blocks, stripes of panels:
        pack the block of rows of A                     (where its stride is harmful)
        for panels of the stripe:
          for row tiles of the block:
            acc = C tile
            for k in block: acc += column of A (x) lanes of B
            C tile = acc

Panels that one row block uses are packed just before their row tiles, or by the first
of these while it computes, or are read in place; those of one stripe are packed by its
task (`Stripe`).  The k loop then stands inside the parallel loops.  Outer axes move
inside, too, next to the row tiles, where that saves thread synchronisation, and threads
share the longest of these axes.  For convolutions each task first copies image lines
(`im2row`).

`RowBlock` keeps the panels of a reduction block in L2 and the rows of a register tile
in L1, so it computes neighbouring tiles of C one after the other:

    pack B into panels P[panel][k..][lane]
    for rows of the block, some at once:
      pack them                                         (where their stride is harmful)
      for row tiles of them:
        for panels of the stripe:
          C tile += rows of A (x) panel

The summation order of each element is kept, so floating-point results differ from the
nest's only by contraction to fused multiply-adds; where reassociation is permitted,
small tiles split their accumulators.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.contraction.cpu.blocking import (
    BlockBody,
    Blocking,
    Blocks,
    LaneAxis,
    column_axis,
    outer_axes,
    row_axis,
)
from gpucodegen.passes.contraction.cpu.factor_packing import (
    Left,
    LeftBlock,
    LeftInPlace,
    PackedOnUse,
    Panels,
    Right,
    RightInPlace,
    copy_lanes,
    direct_lanes,
    pack_panel,
    pack_rows,
)
from gpucodegen.passes.contraction.cpu.im2row import LanesInLines, Lines
from gpucodegen.passes.contraction.cpu.register_tile import Corners, RowTiles
from gpucodegen.passes.contraction.operands import (
    Positions,
    Range,
    grid,
    in_pieces,
    nested,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.product_problem import (
    Candidate,
    Im2Row,
    OuterPanels,
    PrivatePanels,
    SharedPanels,
    Stripes,
)


@dataclass(frozen=True, slots=True)
class Stripe:
    """One reduction block of a stripe of panels and a block of rows.

    ``panels`` holds copies of operand B, ``copied`` those of some rows of A.
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
        return self.cut.first_panel(self.number)

    def build(self, b: Builder, at: Positions) -> None:
        """Copy the panels, then compute tile by tile."""
        start = at | {self.rows.axis.iv: Index.of(self.rows.lower)}
        height = self.cut.tiling.row_block
        b.guard(self._meets(start, height), lambda i: self._computed(i, at))

    def _meets(self, at: Positions, height: int) -> list[Index]:
        """Expressions that are >= 0 where some rows have cells in the stripe."""
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
        """Pack the panels step by step, where all columns of a step are contiguous."""
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


@dataclass(frozen=True, slots=True)
class RowBlock:
    """Rows from ``first_row``, panels of one stripe, the whole reduction.

    ``part``: the part of the longest outer axis, if panels serve the rows of all of it.
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

        Panels that their first row tile packs are used for all blocks one after the
        other.
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
        """Memory for rows of operand A, and for panels of operand B."""
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
    """One reduction block: outer positions, ranges and operand sources."""

    at: Positions
    ranges: Sequence[Range]
    left: Left
    right: Right
    corner: Value | None


def lower(contraction: Contraction, kernel: Candidate) -> list[Operation]:
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
        """The tasks, after packing the panels that they share, if any."""
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
