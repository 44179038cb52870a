"""Contractions as inner products: vector lanes run along the reduction axis.

    [copy the low operand so that it is contiguous along the reduction]
    parallel for outer axes, blocks of the high side:
      for tiles of the high side, tiles of the low side:
        sums[tile][lane] = 0
        for reduction in steps of the lanes: sums += high[tile][..] * low[tile][..]
        result tile += horizontal sums over the lanes

The high operand is contiguous along the reduction and read in place.  The low operand
is, too, or is copied (inside the outer axes if it depends on them).  `dot_sides`
prefers the longer of rows and columns as the high side.  Sums are reassociated.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.contraction.cpu.factor_packing import (
    copy_transposed,
    direct_lanes,
)
from gpucodegen.passes.contraction.epilogue_fusion import finished, started
from gpucodegen.passes.contraction.operands import (
    Operand,
    Positions,
    Range,
    Values,
    buffer_of,
    carried,
    grid,
    nested,
)
from gpucodegen.passes.contraction.recognize import Contraction, Tile
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.product_problem import DotProducts
from gpucodegen.tiling.machine.register_tiles import split_evenly


@dataclass(frozen=True, slots=True)
class Sides:
    """The high and the low operand, and their axes of the result, if any.

    ``tall`` is the axis of the high one, ``flat`` that of the low one.
    """

    contraction: Contraction
    high: Operand
    low: Operand
    tall: Axis | None
    flat: Axis | None

    @property
    def steps(self) -> Axis:
        """The innermost reduction axis, along which the lanes run."""
        return self.contraction.reduction[-1]

    @property
    def outer(self) -> tuple[Axis, ...]:
        """Axes of the result outside the tiles."""
        inside = (*self.contraction.reduction, self.tall, self.flat)
        return tuple(a for a in self.contraction.axes if a not in inside)

    @property
    def upright(self) -> bool:
        """Whether the high side is the longer one."""
        return extent_of(self.tall) >= extent_of(self.flat)

    @property
    def copied(self) -> bool:
        """Whether the low operand is not contiguous along the steps."""
        return not is_contiguous(self.low, self.steps)

    @property
    def low_differs(self) -> bool:
        """Whether the low operand depends on the outer axes."""
        return any(self.low.mentions(axis) for axis in self.outer)

    @property
    def low_is_transposed(self) -> bool:
        """Whether the low operand is contiguous along the results."""
        low, flat = self.low, self.flat
        along = low.dimensions_of(self.steps)
        lies = flat is not None and direct_lanes(low, flat)
        return lies and [low.coefficient(d, self.steps) for d in along] == [1]


def dot_sides(contraction: Contraction) -> Sides | None:
    """The sides of a contraction that may and can run as inner products."""
    if not (contraction.reassociable and contraction.is_plain):
        return None
    rows, columns = (
        max(_unit(contraction.result, axes), key=lambda a: a.extent, default=None)
        for axes in (contraction.rows, contraction.columns)
    )
    left, right = contraction.left, contraction.right
    either = [
        Sides(contraction, left, right, rows, columns),
        Sides(contraction, right, left, columns, rows),
    ]
    either.sort(key=lambda sides: -extent_of(sides.tall))
    return next(filter(_runs, either), None)


def _runs(sides: Sides) -> bool:
    """Whether the high operand lies along the steps, and the low one does or may."""
    lies = is_contiguous(sides.high, sides.steps) and _is_spanned(sides)
    return lies and (len(sides.contraction.reduction) == 1 or not sides.copied)


def extent_of(axis: Axis | None) -> int:
    """Extent of an axis; a missing one has a single position."""
    return 1 if axis is None else axis.extent


def _unit(operand: Operand, axes: Sequence[Axis]) -> list[Axis]:
    return [
        axis
        for axis in axes
        if [operand.coefficient(d, axis) for d in operand.dimensions_of(axis)] == [1]
    ]


def _is_spanned(sides: Sides) -> bool:
    """Whether a tile of the high operand spans two of its dimensions."""
    high, tall = sides.high, sides.tall
    return tall is None or (
        bool(_unit(high, [tall]))
        and high.dimensions_of(tall) != high.dimensions_of(sides.steps)
    )


def is_contiguous(operand: Operand, axis: Axis) -> bool:
    """Whether an axis covers a dimension of contiguous elements."""
    ty, dimensions = operand.memref.type, operand.dimensions_of(axis)
    if not isinstance(ty, MemRefType) or ty.layout is not None or len(dimensions) != 1:
        return False
    (dimension,) = dimensions
    plain = operand.indices[dimension] == axis.at(axis.iv) == Index.of(axis.iv)
    inner = all(extent == 1 for extent in ty.shape[dimension + 1 :])
    return plain and inner and ty.shape[dimension] == axis.extent


def lower(sides: Sides, tile: DotProducts, lanes: int) -> list[Operation]:
    """Operations that replace the nest; threads share the high side.

    ``lanes``: lanes of a register.
    """
    builder = Builder(sides.contraction.location)
    dots = _Dots(sides, tile, lanes)
    if not sides.copied or sides.low_differs:
        dots.build(builder)
        return builder.operations

    dots.copied(builder, {}, lambda copied: copied.build(builder))
    return builder.operations


@dataclass(frozen=True, slots=True)
class _Dots:
    sides: Sides
    tile: DotProducts
    lanes: int

    def copied(self, b: Builder, at: Positions, body: Callable[[_Dots], None]) -> None:
        """Copy the low operand for one outer position, and continue with it."""
        flat, steps, low = self.sides.flat, self.sides.steps, self.sides.low
        lines = [steps] if flat is None else [flat, steps]
        copy = buffer_of(b, lines, self.sides.contraction.element, "low")

        def element(inner: Builder, here: Positions) -> None:
            value = inner.load(low.memref, low.at(here), "b")
            inner.store(value, copy.memref, copy.at(here))

        if flat is not None and self.sides.low_is_transposed:
            ranges = Range.whole(flat), Range.whole(steps)
            b.once(
                lambda i: copy_transposed(i, low, copy.memref, ranges, at, self.lanes)
            )
        else:
            nested(b, [Range.whole(axis) for axis in reversed(lines)], at, element)
        body(replace(self, sides=replace(self.sides, low=copy)))
        b.add("memref.dealloc", (copy.memref,))

    def build(self, b: Builder) -> None:
        """Blocks of the high side and the outer axes, shared by the threads."""
        tall, outer = self.sides.tall, self.sides.outer
        alone = prod(axis.extent for axis in outer) >= self.tile.threads
        parts = 1 if alone and self.sides.copied else self.tile.threads
        size = split_evenly(
            extent_of(tall), -(-extent_of(tall) // parts), self.tile.rows
        )
        blocks = -(-extent_of(tall) // size)
        extents = [axis.extent for axis in outer] + [blocks] * (blocks > 1)

        def compute(dots: _Dots, b: Builder, at: Positions, number: Index) -> None:
            if tall is None:
                dots._columns(b, at, 1)
            else:
                dots._rows(b, at, tall, number * size, size)

        def block(inner: Builder, ivs: Sequence[Value]) -> None:
            places = zip(outer, ivs, strict=False)
            at = {axis.iv: Index.of(iv) for axis, iv in places}
            number = Index.of(ivs[-1] if blocks > 1 else 0)
            if self.sides.copied:
                self.copied(inner, at, lambda dots: compute(dots, inner, at, number))
            else:
                compute(self, inner, at, number)

        if not extents:
            b.once(lambda i: block(i, ()))
            return
        names = [*(axis.name for axis in outer), "block"][: len(extents)]
        grid(b, extents, block, names, parallel=self.tile.threads > 1)

    def _rows(
        self, b: Builder, at: Positions, tall: Axis, first: Index, size: int
    ) -> None:
        """Full tiles of the block, then the remainder of the last block."""
        height = self.tile.rows
        rest = tall.extent % height
        whole = tall.extent - rest
        if whole:
            ends = [first + size] if size < tall.extent else []
            full = Range(tall, first, [*ends, whole], height)
            nested(b, [full], at, lambda i, here: self._columns(i, here, height))
        if rest:
            b.guard(
                [first + size - tall.extent],
                lambda i: self._columns(i, at | {tall.iv: Index.of(whole)}, rest),
            )

    def _columns(self, b: Builder, at: Positions, rows: int) -> None:
        flat, width = self.sides.flat, self.tile.columns
        if flat is None:
            self._tile(b, [at], rows)
            return
        rest = flat.extent % width

        def tile(inner: Builder, here: Positions, columns: int) -> None:
            first = here[flat.iv]
            self._tile(
                inner, [here | {flat.iv: first + i} for i in range(columns)], rows
            )

        if flat.extent - rest == width:
            tile(b, at | {flat.iv: Index.of(0)}, width)
        elif flat.extent > rest:
            full = Range(flat, 0, [flat.extent - rest], width)
            nested(b, [full], at, lambda i, here: tile(i, here, width))
        if rest:
            tile(b, at | {flat.iv: Index.of(flat.extent - rest)}, rest)

    def _tile(self, b: Builder, cells: Sequence[Positions], rows: int) -> None:
        """``rows`` results for each of the positions, which differ in the flat axis."""
        ty = VectorType((rows, self.tile.lanes), self.sides.contraction.element)
        zero = b.constant(0, ty)
        sums = self._sums(
            b, cells, self.sides.contraction.reduction, [zero] * len(cells)
        )
        for at, partial in zip(cells, sums, strict=True):
            self._add(b, at, partial, rows)

    def _sums(
        self, b: Builder, cells: Sequence[Positions], axes: Sequence[Axis], sums: Values
    ) -> Values:
        """Partial sums over the reduction axes; the end of the last one is masked."""
        axis, *inner_axes = axes
        if inner_axes:

            def outer(i: Builder, here: Positions, now: Values) -> Values:
                return self._sums(i, [c | here for c in cells], inner_axes, now)

            return carried(b, [Range.whole(axis)], {}, sums, outer)
        rest = axis.extent % self.tile.lanes
        whole = axis.extent - rest

        def step(i: Builder, here: Positions, now: Values) -> Values:
            return self._step(i, [c | here for c in cells], now, masked=False)

        if whole:
            full = Range(axis, 0, [whole], self.tile.lanes)
            sums = carried(b, [full], {}, sums, step)
        if rest:
            last = {axis.iv: Index.of(whole)}
            sums = self._step(b, [c | last for c in cells], sums, masked=True)
        return sums

    def _step(
        self, b: Builder, cells: Sequence[Positions], sums: Values, *, masked: bool
    ) -> Values:
        sides, ty = self.sides, sums[0].type
        assert isinstance(ty, VectorType)
        high = self._read(b, sides.high, cells[0], sides.tall, ty, masked=masked)
        return [
            b.multiply_add(
                high, self._read(b, sides.low, at, None, ty, masked=masked), total
            )
            for at, total in zip(cells, sums, strict=True)
        ]

    def _read(
        self,
        b: Builder,
        operand: Operand,
        at: Positions,
        axis: Axis | None,
        ty: VectorType,
        *,
        masked: bool,
    ) -> Value:
        """A tile along an axis of the result, or one row, repeated."""
        lanes = operand.dimensions_of(self.sides.steps)
        rows = [] if axis is None else operand.dimensions_of(axis)
        read = ty if rows else VectorType(ty.shape[1:], ty.element)
        value = b.transfer_read(
            operand.memref,
            operand.at(at),
            read,
            [*rows, *lanes],
            last_in_bounds=not masked,
            hint="a" if rows else "b",
        )
        if not rows:
            value = b.broadcast(value, ty, "b")
        return value

    def _add(self, b: Builder, at: Positions, sums: Value, rows: int) -> None:
        """Add the sums of the lanes to a column of the result."""
        contraction, tall = self.sides.contraction, self.sides.tall
        tile = Tile(at, {} if tall is None else {tall: rows})
        old = started(b, contraction, tile)
        if tall is None:
            column = b.broadcast(old, VectorType((rows,), contraction.element), "c")
            new = b.element(b.row_sums(sums, column), 0)
        else:
            new = b.row_sums(sums, old)
        finished(b, contraction, tile, new)
