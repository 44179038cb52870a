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

Step: TypeAlias = Callable[[Builder, Positions, Values], Values]
"""Adds one step of the reduction to an accumulator."""


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
        """Full row tiles of the block, then the rest of the last block."""
        at = at | {self.cut.column.iv: panel * self.cut.plan.columns}
        if self.rows is None:
            self._line(b, at, panel, columns)
            return
        height, row = self.cut.plan.rows, self.rows.axis
        rest = row.extent % height
        whole = row.extent - rest

        def tile(inner: Builder, first: Index | Value, count: int) -> None:
            here = at | {row.iv: Index.of(first)}
            self._tile(inner, here, panel, (count, columns), row)

        if whole:
            size = self.cut.plan.row_block
            ends = [whole] if size >= row.extent else [self.rows.uppers[0], whole]
            full = replace(self.rows, uppers=ends, stride=height)
            nested(b, [full], at, lambda i, here: tile(i, here[row.iv], height))
        if rest:
            end = Index.of(self.rows.uppers[0])
            b.guard([end - row.extent], lambda i: tile(i, Index.of(whole), rest))

    def _tile(
        self,
        b: Builder,
        at: Positions,
        panel: Index,
        shape: tuple[int, int],
        row: Axis,
    ) -> None:
        """Load C, add the outer products of a reduction block, store C."""

        def step(inner: Builder, here: Positions, acc: Values) -> Values:
            column = self.left.column(inner, here, shape[0])
            lanes = self.right.lanes(inner, here, panel, shape[1])
            return [inner.outerproduct(column, lanes, acc[0])]

        if self.cut.plan.fetches:
            self._fetch(b, at | {row.iv: at[row.iv] + shape[0]}, row, shape)
        extents = dict(zip((row, self.cut.column), shape, strict=True))
        self._accumulate(b, at, extents, step)

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
                    i.prefetch(target.memref, target.at(place))

        b.loop(0, shape[0], fetch, hint="line")

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
