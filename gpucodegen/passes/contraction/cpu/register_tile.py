"""Register-tile microkernel: a tile of C stays in registers for a reduction block.

While a tile computes, it prefetches, in parts: some rows of the next tile of C, and of
the rows of A with which the next row of tiles begins a piece per tile of the stripe:

    for part of parts:
      prefetch C next tile[rows of the part], A next rows[rows of the part][piece]
      for k in part of the block:
        acc += column of A (x) lanes of B

Where the iteration domain is no box, tiles are whole, empty, or cross its edge.  With
the guards g of the domain and the offsets x of the elements of a tile at t,

    whole    iff  min { g(t + x) : x in tile } >= 0  for all g,
    empty    if   max { g(t + x) : x in tile } < 0   for some g.

A tile that crosses the edge is computed in a private copy, and only elements of the
domain are copied in and out.

Accumulator splitting (requires reassociation) breaks the dependence between steps:

    acc[0] = initial sum;  acc[1..] = 0
    for k in the block, by t steps:
      acc[i] += the step k + i                            for i < t
    for the remaining k of the block:  acc[0] += the step k
    acc[0] + acc[1] + ..
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import FloatType, VectorType, element_type
from gpucodegen.passes.contraction.cpu.blocking import Blocking
from gpucodegen.passes.contraction.cpu.factor_packing import Left, PackedOnUse, Right
from gpucodegen.passes.contraction.epilogue_fusion import finished, started
from gpucodegen.passes.contraction.operands import (
    Operand,
    Positions,
    Range,
    Step,
    Values,
    carried,
    coefficients,
    grid,
    in_pieces,
    nested,
)
from gpucodegen.passes.contraction.recognize import Tile
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, replace_values
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import MEMORY
from gpucodegen.tiling.machine.product_problem import InPlace, Stripes


def split_accumulators(
    b: Builder, ranges: Sequence[Range], at: Positions, acc: Value, step: Step, t: int
) -> Value:
    """The sum of all steps of the ranges, in ``t`` accumulators where they divide.

    Only the last range must divide; its remainder stands at the end of its axis.
    """
    *outer, last = ranges
    if t == 1 or not _divides(last, t):
        return carried(b, ranges, at, [acc], step)[0]
    whole = last.axis.extent - last.axis.extent % t
    full = replace(last, uppers=_ends(last, whole), stride=t)
    rest = replace(last, lower=whole)
    zero = b.constant(0, acc.type)

    def turn(i: Builder, here: Positions, now: Values) -> Values:
        first = here[last.axis.iv]
        places = (here | {last.axis.iv: first + number} for number in range(t))
        return [
            step(i, place, [one])[0] for place, one in zip(places, now, strict=True)
        ]

    def block(i: Builder, here: Positions, now: Values) -> Values:
        sums = carried(i, [full], here, now, turn)
        if whole == last.axis.extent:
            return sums
        return [*carried(i, [rest], here, sums[:1], step), *sums[1:]]

    return _added(b, carried(b, outer, at, [acc, *[zero] * (t - 1)], block))


def _divides(part: Range, t: int) -> bool:
    """Whether a range has whole groups of ``t`` steps, except at its axis' end."""
    lengths = [(Index.of(upper) - part.lower).constant for upper in part.uppers]
    known = [length for length in lengths if length is not None]
    is_whole = known == [part.axis.extent]
    return bool(known) and known[0] > t and (is_whole or known[0] % t == 0)


def _ends(part: Range, whole: int) -> list[Index | int]:
    """The upper bounds, of whole groups only."""
    extent = part.axis.extent
    ends = [upper for upper in part.uppers if Index.of(upper).constant != extent]
    is_cut = whole < extent or not ends
    return [*ends, whole] if is_cut else [*part.uppers]


def _added(b: Builder, sums: Values) -> Value:
    """The sum of all values, pairwise."""
    if len(sums) == 1:
        return sums[0]
    half, ty = len(sums) // 2, sums[0].type
    name = "arith.addf" if isinstance(element_type(ty), FloatType) else "arith.addi"
    pairs = zip(sums[:half], sums[half:], strict=True)
    return _added(b, [b.add(name, pair, [ty], hint="acc")[0] for pair in pairs])


Extents = Mapping[Axis, int]
"""Cells of a tile along the axes that it spans."""
Place = tuple[Value, Sequence[Index], Sequence[int]]
"""A buffer, the first cell of a tile there, and the dimensions that it spans."""


@dataclass(frozen=True, slots=True)
class Corners:
    """The guards of a result, and the buffer for copies of tiles across its edge."""

    guards: Sequence[Index]
    result: Operand
    copy: Value

    def split(
        self,
        b: Builder,
        at: Positions,
        extents: Extents,
        compute: Callable[[Builder, Place | None], None],
    ) -> None:
        """Compute the tile at its place (None), in a copy, or not at all."""
        least = [_extreme(guard, at, extents, min) for guard in self.guards]

        def across(i: Builder) -> None:
            first = [Index.of(0)] * len(extents)
            self._cells(i, at, extents, into=True)
            compute(i, (self.copy, first, range(len(extents))))
            self._cells(i, at, extents, into=False)

        b.guard(
            least,
            lambda i: compute(i, None),
            lambda i: i.guard(self.meets(at, extents), across),
        )

    def meets(self, at: Positions, extents: Extents) -> list[Index]:
        """Expressions that are >= 0 wherever cells of a box at ``at`` are computed."""
        return [_extreme(guard, at, extents, max) for guard in self.guards]

    def _cells(
        self, b: Builder, at: Positions, extents: Extents, *, into: bool
    ) -> None:
        def cell(i: Builder, offsets: Sequence[Value]) -> None:
            moved = zip(extents, offsets, strict=True)
            here = at | {axis.iv: at[axis.iv] + offset for axis, offset in moved}
            inside = [replace_values(guard, dict(here)) for guard in self.guards]

            def copy(j: Builder) -> None:
                there = (self.result.memref, self.result.at(here))
                source, target = there, (self.copy, offsets)
                if into:
                    j.store(j.load(*source), *target)
                else:
                    j.store(j.load(*target), *source)

            i.guard(inside, copy)

        names = [axis.name for axis in extents]
        grid(b, list(extents.values()), cell, names, parallel=False)


def _extreme(
    guard: Index,
    at: Positions,
    extents: Extents,
    choose: Callable[[int, int], int],
) -> Index:
    """The least or largest value of a guard in a tile."""
    factors = coefficients(guard)
    offsets = (
        choose(0, factors.get(axis.iv, 0) * (extent - 1))
        for axis, extent in extents.items()
    )
    return replace_values(guard, dict(at)) + sum(offsets)


FIRST, SECOND = 3, 2
"""Locality of what is fetched into the first cache, and into the second one."""
AHEAD = 8
"""Prefetch distance in steps for lanes from beyond the first-level cache."""


@dataclass(frozen=True, slots=True)
class Fetching:
    """The prefetches of a tile of ``rows x columns`` in one panel."""

    cut: Blocking
    row: Axis
    ranges: Sequence[Range]
    panel: Index
    rows: int
    columns: int

    @property
    def parts(self) -> int:
        """Parts of a reduction block, each after its prefetches; 0: no prefetching."""
        kernel = self.cut.kernel
        return kernel.parts if isinstance(kernel, Stripes) else 0

    def result(self, b: Builder, at: Positions) -> None:
        """Prefetch the next tile of the result for writing, row by row."""

        def fetch(i: Builder, number: Value) -> None:
            self._result_row(i, at, Index.of(number))

        b.loop(0, self.rows, fetch, hint="line")

    def in_parts(
        self, b: Builder, at: Positions, acc: Values, step: Step, first: Index
    ) -> Values:
        """The reduction block with prefetches; ``first``: the stripe's first panel."""
        tiling, parts, (block,) = self.cut.tiling, self.parts, self.ranges
        height, length = -(-self.rows // parts), -(-tiling.k_chunk // parts)

        exact = length * parts == tiling.k_chunk <= block.axis.extent
        ends = block.uppers[1:] if exact else block.uppers

        def part(i: Builder, number: Value, now: Values) -> Values:
            start = Index.of(block.lower) + Index.of(number) * length
            for offset in range(height):
                row = Index.of(number) * height + offset
                if tiling.fetches:
                    self._result_row(i, at, row)
                self._left_row(i, at, row, start_of=block, piece=self.panel - first)
            inside = replace(block, lower=start, uppers=[start + length, *ends])
            return carried(i, [inside], at, now, step)

        return b.carried_loop(0, parts, acc, part, hint="part")

    def _result_row(self, b: Builder, at: Positions, number: Index) -> None:
        """Prefetch a row of the next result tile: one element of each cache line.

        Rows that start inside a line end in one more.  A vector store across a line
        that misses delays all stores after it.
        """
        contraction, column = self.cut.contraction, self.cut.column
        across = isinstance(self.cut.kernel, Stripes)
        axis, size = (column, self.columns) if across else (self.row, self.rows)
        here = at | {axis.iv: at[axis.iv] + size}
        here[self.row.iv] += number
        for target in contraction.targets:
            line = MEMORY.line * 8 // element_bits(element_type(target.memref.type))
            for lane in sorted({*range(0, self.columns, line), self.columns - 1}):
                place = here | {column.iv: here[column.iv] + lane}
                b.prefetch(target.memref, target.at(place), write=True)

    def _left_row(
        self, b: Builder, at: Positions, number: Index, start_of: Range, piece: Index
    ) -> None:
        """Prefetch this panel's piece of a row of operand A below."""
        kernel, left = self.cut.kernel, self.cut.contraction.left
        size = kernel.left_lines if isinstance(kernel, Stripes) else 0
        first = Index.of(start_of.lower) + piece * (size * _line_elements(self.cut))
        below = at[self.row.iv] + self.rows + number
        for line in range(size):
            step = first + line * _line_elements(self.cut)
            place = at | {self.row.iv: below, start_of.axis.iv: step}
            b.prefetch(left.memref, left.at(place), write=False)


@dataclass(frozen=True, slots=True)
class FetchingLanes:
    """The prefetches of operand B, step by step, in one panel of ``columns``."""

    cut: Blocking
    step: Axis
    right: Right
    panel: Index
    columns: int

    def build(self, b: Builder, at: Positions) -> None:
        """Prefetch for the step in ``at`` as the kernel's plan says.

        Later tiles find the packed panel of an earlier one in the caches.
        """
        kernel = self.cut.kernel
        if isinstance(kernel, InPlace):
            if kernel.ahead:
                self._later(b, at, kernel.ahead, SECOND)
            if kernel.next_panel:
                self._beside(b, at)
        elif isinstance(kernel, Stripes) or isinstance(self.right, PackedOnUse):
            self._later(b, at, AHEAD, FIRST)

    def _later(self, b: Builder, at: Positions, ahead: int, locality: int) -> None:
        later = at | {self.step.iv: at[self.step.iv] + ahead}
        self._fetch(b, self.right.cell(later, self.panel), locality)

    def _beside(self, b: Builder, at: Positions) -> None:
        """Prefetch the lanes of the same step in the next panel.

        At the end of a block the access jumps to the next panel before the hardware
        prefetcher detects its stream.
        """
        column = self.cut.column.iv
        later = at | {column: at[column] + self.columns}
        self._fetch(b, self.right.cell(later, self.panel + 1), FIRST)

    def _fetch(
        self, b: Builder, cell: tuple[Value, list[Index]], locality: int
    ) -> None:
        memref, (*front, lane) = cell
        for first in range(0, self.columns, _line_elements(self.cut)):
            place = [*front, lane + first]
            b.prefetch(memref, place, write=False, locality=locality)


def _line_elements(cut: Blocking) -> int:
    return MEMORY.line * 8 // element_bits(cut.contraction.element)


Steps: TypeAlias = Callable[[Builder, Values], Values]
"""Adds all steps of a reduction block to an accumulator."""


@dataclass(frozen=True, slots=True)
class RowTiles:
    """Tiles of ``rows``, one below the other, in one panel of columns.

    ``outer``: ranges of outer axes inside the loop over panels.  ``copied``: finished
    rows, of the first position of these axes.
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
        """The rows that are not finished at the first outer position."""
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
        """As `tile` for a result of one row: scaled lanes are added."""
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
