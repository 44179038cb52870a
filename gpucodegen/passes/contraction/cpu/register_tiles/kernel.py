"""The register tiles of one panel: C stays in registers for a reduction block."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import FloatType, VectorType
from gpucodegen.passes.contraction.cpu.blocking import Blocking
from gpucodegen.passes.contraction.cpu.packing.packing import Left, PackedOnUse, Right
from gpucodegen.passes.contraction.cpu.ranges import (
    Positions,
    Range,
    Step,
    Values,
    in_pieces,
    nested,
)
from gpucodegen.passes.contraction.cpu.register_tiles.accumulator_splitting import (
    split_accumulators,
)
from gpucodegen.passes.contraction.cpu.register_tiles.corners import (
    Corners,
    Extents,
    Place,
)
from gpucodegen.passes.contraction.cpu.register_tiles.fetching import (
    Fetching,
    FetchingLanes,
)
from gpucodegen.passes.contraction.fusion.pointwise import Tile
from gpucodegen.passes.contraction.fusion.start import finished, started
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index

Steps: TypeAlias = Callable[[Builder, Values], Values]
"""Adds all steps of a reduction block to an accumulator."""


@dataclass(frozen=True, slots=True)
class RowTiles:
    """Tiles of ``rows``, one under the other, in one panel of columns.

    ``outer``: ranges of outer axes inside the loop over panels.  ``copied``: rows that
    are done, of the first of their positions.
    """

    cut: Blocking
    rows: Range | None
    ranges: Sequence[Range]
    left: Left
    right: Right
    corners: Corners | None = None
    first_panel: Index = ZERO
    outer: Sequence[Range] = ()
    copied: int = 0

    def build(self, b: Builder, at: Positions, panel: Index, columns: int) -> None:
        """All row tiles of the block in one panel, for all positions of outer axes.

        The first of them may copy the panel.
        """
        if isinstance(self.right, PackedOnUse) and self.rows is not None:
            first, height = Index.of(self.rows.lower), self.cut.tiling.rows
            starts = {r.axis.iv: Index.of(r.lower) for r in self.outer}
            here = at | starts | {self.rows.axis.iv: first}
            self.tile(b, here, panel, (height, columns))
            copied = replace(self, right=self.right.panels, copied=height)
            copied.build(b, at, panel, columns)
            return
        nested(b, self.outer, at, lambda i, here: self._line(i, here, panel, columns))

    def _line(self, b: Builder, at: Positions, panel: Index, columns: int) -> None:
        """All row tiles for one position of the outer axes."""
        if self.rows is None:
            self._single(b, self._in_panel(at, panel), panel, columns)
            return

        def tile(inner: Builder, here: Positions, rows: int) -> None:
            self.tile(inner, here, panel, (rows, columns))

        in_pieces(b, self._rest(at), self.cut.tiling.rows, at, tile)

    def _rest(self, at: Positions) -> Range:
        """The rows without those that are done at the first of the outer positions."""
        assert self.rows is not None
        if not self.copied:
            return self.rows
        if not self.outer:
            return replace(self.rows, lower=Index.of(self.rows.lower) + self.copied)
        passed = sum((part.inside(at) for part in self.outer), ZERO)
        return replace(self.rows, skipped=(passed * -1 + 1) * self.copied)

    def tile(
        self, b: Builder, at: Positions, panel: Index, shape: tuple[int, int]
    ) -> None:
        """Load C, add the outer products of a reduction block, store C."""
        assert self.rows is not None
        row, at = self.rows.axis, self._in_panel(at, panel)

        fetching = Fetching(self.cut, row, self.ranges, panel, *shape)
        coming = self._coming(panel, shape[1])

        def step(inner: Builder, here: Positions, acc: Values) -> Values:
            coming.build(inner, here)
            column = self.left.column(inner, here, shape[0])
            lanes = self.right.lanes(inner, here, panel, shape[1])
            return [self._plus(inner, column, lanes, acc[0])]

        def in_parts(inner: Builder, acc: Values) -> Values:
            return fetching.in_parts(inner, at, acc, step, self.first_panel)

        if self.cut.tiling.fetches and not fetching.parts:
            fetching.result(b, at)
        extents = dict(zip((row, self.cut.column), shape, strict=True))
        self._accumulate(b, at, extents, step, in_parts if fetching.parts else None)

    def _plus(self, b: Builder, column: Value, lanes: Value, acc: Value) -> Value:
        """The accumulator with an outer product added, each term times the scale."""
        scale, ty = self.cut.contraction.scale, acc.type
        if scale is None:
            return b.outerproduct(column, lanes, acc, self.cut.contraction.words)
        assert isinstance(ty, VectorType)
        nothing = -0.0 if isinstance(ty.element, FloatType) else 0
        product = b.outerproduct(column, lanes, b.constant(nothing, ty))
        return b.multiply_add(b.broadcast(scale, ty, "scale"), product, acc)

    def _coming(self, panel: Index, columns: int) -> FetchingLanes:
        step = self.ranges[-1].axis
        return FetchingLanes(self.cut, step, self.right, panel, columns)

    def _in_panel(self, at: Positions, panel: Index) -> Positions:
        return at | {self.cut.column.iv: panel * self.cut.tiling.columns}

    def _single(self, b: Builder, at: Positions, panel: Index, columns: int) -> None:
        """The same for a result of one row: multiples of the lanes are added."""
        ty, coming = self.cut.vector(columns), self._coming(panel, columns)

        def step(inner: Builder, here: Positions, acc: Values) -> Values:
            coming.build(inner, here)
            factor = self.left.column(inner, here, 1)
            factors = inner.broadcast(factor, ty, "a")
            lanes = self.right.lanes(inner, here, panel, columns)
            scale = self.cut.contraction.scale
            if scale is not None:
                lanes = inner.multiply(factors, lanes)
                factors = inner.broadcast(scale, ty, "scale")
            return [inner.multiply_add(factors, lanes, acc[0])]

        self._accumulate(b, at, {self.cut.column: columns}, step)

    def _accumulate(
        self,
        b: Builder,
        at: Positions,
        extents: Extents,
        step: Step,
        steps: Steps | None = None,
    ) -> None:
        """Add a reduction block to the tile of C that spans ``extents``.

        ``steps``: the whole block, if it is more than each ``step``.
        """
        contraction, tile = self.cut.contraction, Tile(at, extents)
        result, ty = contraction.result, self.cut.vector(*extents.values())
        own = [result.dimensions_of(axis)[0] for axis in extents]

        def block(i: Builder, old: Value) -> Value:
            if steps is not None:
                return steps(i, [old])[0]
            count = self.cut.tiling.accumulators(ty.shape)
            return split_accumulators(i, self.ranges, at, old, step, count)

        def compute(i: Builder, place: Place | None) -> None:
            memref, where, spanned = place or (result.memref, result.at(at), own)

            def read(j: Builder) -> Value:
                return j.transfer_read(memref, where, ty, spanned, hint="acc")

            def write(j: Builder) -> None:
                j.transfer_write(total, memref, where, spanned)

            old = started(i, contraction, tile, self.ranges, read)
            total = block(i, old)
            finished(i, contraction, tile, total, self.ranges, write)

        if self.corners is None:
            compute(b, None)
        else:
            self.corners.split(b, at, extents, compute)
