"""The register tiles of one panel: C stays in registers for a reduction block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import element_type
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.blocking import Blocking
from gpucodegen.passes.contraction.corners import Corners, Extents, Place
from gpucodegen.passes.contraction.packing import Left, Right
from gpucodegen.passes.contraction.pointwise import Tile
from gpucodegen.passes.contraction.ranges import (
    Positions,
    Range,
    Values,
    carried,
    nested,
)
from gpucodegen.passes.contraction.start import finished, started
from gpucodegen.passes.indexing import Index
from gpucodegen.passes.nests import Axis
from gpucodegen.tiling.cpu_plan import LINE
from gpucodegen.tiling.cpu_problem import CpuPlan, Packing

Step: TypeAlias = Callable[[Builder, Positions, Values], Values]
"""Adds one step of the reduction to an accumulator."""


TileBody: TypeAlias = Callable[[Builder, Positions, int], None]
"""Builds the tile whose first row a position names, of some rows."""


def each_tile(
    b: Builder, plan: CpuPlan, rows: Range, at: Positions, tile: TileBody
) -> None:
    """Full row tiles of a block, then the rest of the last block."""
    height, row = plan.rows, rows.axis
    rest = row.extent % height
    whole = row.extent - rest
    if whole:
        ends = [whole] if plan.row_block >= row.extent else [rows.uppers[0], whole]
        full = replace(rows, uppers=ends, stride=height)
        nested(b, [full], at, lambda i, here: tile(i, here, height))
    if rest:
        end, last = Index.of(rows.uppers[0]), at | {row.iv: Index.of(whole)}
        b.guard([end - row.extent], lambda i: tile(i, last, rest))


@dataclass(frozen=True, slots=True)
class RowTiles:
    """Tiles of ``rows``, one under the other, in one panel of columns."""

    cut: Blocking
    rows: Range | None
    ranges: Sequence[Range]
    left: Left
    right: Right
    corners: Corners | None = None

    def build(self, b: Builder, at: Positions, panel: Index, columns: int) -> None:
        """All row tiles of the block in one panel."""
        if self.rows is None:
            self._line(b, self._in_panel(at, panel), panel, columns)
            return

        def tile(inner: Builder, here: Positions, rows: int) -> None:
            self.tile(inner, here, panel, (rows, columns))

        each_tile(b, self.cut.plan, self.rows, at, tile)

    def tile(
        self, b: Builder, at: Positions, panel: Index, shape: tuple[int, int]
    ) -> None:
        """Load C, add the outer products of a reduction block, store C."""
        assert self.rows is not None
        row, plan, at = self.rows.axis, self.cut.plan, self._in_panel(at, panel)

        def step(inner: Builder, here: Positions, acc: Values) -> Values:
            if plan.ahead:
                self._fetch_lanes(inner, here, panel, shape[1])
            if plan.fetches_left:
                self._fetch_left(inner, here, row, shape[0])
            column = self.left.column(inner, here, shape[0])
            lanes = self.right.lanes(inner, here, panel, shape[1])
            return [inner.outerproduct(column, lanes, acc[0])]

        if plan.fetches:
            across = plan.packing is Packing.STRIPE
            axis = self.cut.column if across else row
            self._fetch(b, at | {axis.iv: at[axis.iv] + shape[across]}, row, shape)
        extents = dict(zip((row, self.cut.column), shape, strict=True))
        self._accumulate(b, at, extents, step)

    def _in_panel(self, at: Positions, panel: Index) -> Positions:
        return at | {self.cut.column.iv: panel * self.cut.plan.columns}

    def _fetch_lanes(
        self, b: Builder, at: Positions, panel: Index, columns: int
    ) -> None:
        """Fetch the lanes of a later step."""
        (step,) = self.ranges[-1:]
        later = at | {step.axis.iv: at[step.axis.iv] + self.cut.plan.ahead}
        memref, (*front, lane) = self.right.cell(later, panel)
        for first in range(0, columns, self._line_elements):
            b.prefetch(memref, [*front, lane + first], write=False)

    @property
    def _line_elements(self) -> int:
        """Elements of a cache line."""
        return LINE * 8 // element_bits(self.cut.contraction.element)

    def _fetch(
        self, b: Builder, at: Positions, row: Axis, shape: tuple[int, int]
    ) -> None:
        """Fetch the tile at a place, one element of each cache line."""
        contraction, column = self.cut.contraction, self.cut.column

        def fetch(i: Builder, number: Value) -> None:
            here = at | {row.iv: at[row.iv] + number}
            for target in contraction.targets:
                line = LINE * 8 // element_bits(element_type(target.memref.type))
                for first in range(0, shape[1], line):
                    place = here | {column.iv: at[column.iv] + first}
                    i.prefetch(target.memref, target.at(place), write=True)

        b.loop(0, shape[0], fetch, hint="line")

    def _fetch_left(self, b: Builder, at: Positions, row: Axis, height: int) -> None:
        """One element of the ``height`` rows below, which lie behind each other.

        Step k of the tile fetches their element ``height k``: all of them in time.
        """
        left, (step,) = self.cut.contraction.left, self.cut.contraction.reduction
        below = at[row.iv] + height
        place = at | {row.iv: below, step.iv: at[step.iv] * height}
        b.prefetch(left.memref, left.at(place), write=False)

    def _line(self, b: Builder, at: Positions, panel: Index, columns: int) -> None:
        """The same for a result of one row: multiples of the lanes are added."""
        ty = self.cut.vector(columns)

        def step(inner: Builder, here: Positions, acc: Values) -> Values:
            factor = self.left.column(inner, here, 1)
            factors = inner.broadcast(factor, ty, "a")
            lanes = self.right.lanes(inner, here, panel, columns)
            return [inner.multiply_add(factors, lanes, acc[0])]

        self._accumulate(b, at, {self.cut.column: columns}, step)

    def _accumulate(
        self, b: Builder, at: Positions, extents: Extents, step: Step
    ) -> None:
        """Add a reduction block to the tile of C that spans ``extents``."""
        contraction, tile = self.cut.contraction, Tile(at, extents)
        result, ty = contraction.result, self.cut.vector(*extents.values())
        own = [result.dimensions_of(axis)[0] for axis in extents]

        def compute(i: Builder, place: Place | None) -> None:
            memref, where, spanned = place or (result.memref, result.at(at), own)

            def read(j: Builder) -> Value:
                return j.transfer_read(memref, where, ty, spanned, hint="acc")

            def write(j: Builder) -> None:
                j.transfer_write(total, memref, where, spanned)

            old = started(i, contraction, tile, self.ranges, read)
            (total,) = carried(i, self.ranges, at, [old], step)
            finished(i, contraction, tile, total, self.ranges, write)

        if self.corners is None:
            compute(b, None)
        else:
            self.corners.split(b, at, extents, compute)
