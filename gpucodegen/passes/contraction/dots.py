"""A contraction as inner products: the lanes of the registers walk the reduction.

    [copy the low factor so that it is contiguous along the reduction]
    parallel for outer axes, blocks of the high side:
      for tiles of the high side, tiles of the low side:
        sums[tile][lane] = 0
        for reduction in steps of the lanes: sums += high[tile][..] * low[tile][..]
        result tile += sums added up across the lanes

The longer of rows and columns is the high side, the other one the low side.  The terms
of each element are added in another order than the nest's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.packing import direct_lanes
from gpucodegen.passes.contraction.pointwise import Tile
from gpucodegen.passes.contraction.ranges import (
    Positions,
    Range,
    Values,
    carried,
    grid,
    nested,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.contraction.start import finished, started
from gpucodegen.passes.contraction.turning import copy_turned
from gpucodegen.passes.indexing import Index
from gpucodegen.passes.nests import Axis
from gpucodegen.tiling.dot_plan import DotTile
from gpucodegen.tiling.register_tile import split_evenly


@dataclass(frozen=True, slots=True)
class Sides:
    """Which factor is high and which is low, and their axes of the result, if any."""

    contraction: Contraction
    high: Operand
    low: Operand
    tall: Axis | None
    flat: Axis | None

    @property
    def steps(self) -> Axis:
        """The innermost reduction axis: the lanes walk it."""
        return self.contraction.reduction[-1]

    @property
    def outer(self) -> tuple[Axis, ...]:
        """Axes of the result outside the tiles."""
        inside = (*self.contraction.reduction, self.tall, self.flat)
        return tuple(a for a in self.contraction.axes if a not in inside)

    @property
    def copied(self) -> bool:
        """Whether the low factor is not contiguous along the steps."""
        return not is_contiguous(self.low, self.steps)

    @property
    def turned(self) -> bool:
        """Whether it is along the results, so that squares of it can be transposed."""
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
    if extent_of(rows) >= extent_of(columns):
        sides = Sides(contraction, contraction.left, contraction.right, rows, columns)
    else:
        sides = Sides(contraction, contraction.right, contraction.left, columns, rows)
    if not is_contiguous(sides.high, sides.steps) or not _is_spanned(sides):
        return None
    movable = len(contraction.reduction) == 1 and not any(
        sides.low.mentions(axis) for axis in sides.outer
    )
    return sides if movable or not sides.copied else None


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
    """Whether a tile of the high factor lies along two of its dimensions."""
    high, tall = sides.high, sides.tall
    return tall is None or (
        bool(_unit(high, [tall]))
        and high.dimensions_of(tall) != high.dimensions_of(sides.steps)
    )


def is_contiguous(operand: Operand, axis: Axis) -> bool:
    """Whether one axis walks neighbours, from the start to the end of a dimension."""
    ty, dimensions = operand.memref.type, operand.dimensions_of(axis)
    if not isinstance(ty, MemRefType) or ty.layout is not None or len(dimensions) != 1:
        return False
    (dimension,) = dimensions
    plain = operand.indices[dimension] == axis.at(axis.iv) == Index.of(axis.iv)
    inner = all(extent == 1 for extent in ty.shape[dimension + 1 :])
    return plain and inner and ty.shape[dimension] == axis.extent


def lower(sides: Sides, tile: DotTile, lanes: int, threads: int) -> list[Operation]:
    """Operations that replace the nest; ``threads`` share the high side.

    ``lanes``: of a register.
    """
    builder = Builder(sides.contraction.location)
    if not sides.copied:
        _Dots(sides, tile, threads).build(builder)
        return builder.operations
    flat, steps = sides.flat, sides.steps
    ty = MemRefType((extent_of(flat), steps.extent), sides.contraction.element)
    buffer = builder.allocate("memref.alloc", ty, "low")
    line = Index.of(0 if flat is None else flat.iv)
    copy = Operand(buffer, (line, Index.of(steps.iv)))

    def element(inner: Builder, at: Positions) -> None:
        value = inner.load(sides.low.memref, sides.low.at(at), "b")
        inner.store(value, buffer, copy.at(at))

    axes = [steps] if flat is None else [steps, flat]
    if flat is not None and sides.turned:
        ranges = Range.whole(flat), Range.whole(steps)
        builder.loop(  # Vectors live in loops only.
            0, 1, lambda i, _: copy_turned(i, sides.low, buffer, ranges, {}, lanes)
        )
    else:
        nested(builder, [Range.whole(axis) for axis in axes], {}, element)
    _Dots(replace(sides, low=copy), tile, threads).build(builder)
    builder.add("memref.dealloc", (buffer,))
    return builder.operations


@dataclass(frozen=True, slots=True)
class _Dots:
    sides: Sides
    tile: DotTile
    threads: int

    def build(self, b: Builder) -> None:
        """Blocks of the high side and the outer axes, shared by the threads."""
        tall, outer = self.sides.tall, self.sides.outer
        size = split_evenly(
            extent_of(tall), -(-extent_of(tall) // self.threads), self.tile.rows
        )
        blocks = -(-extent_of(tall) // size)
        extents = [axis.extent for axis in outer] + [blocks] * (blocks > 1)

        def block(inner: Builder, ivs: Sequence[Value]) -> None:
            places = zip(outer, ivs, strict=False)
            at = {axis.iv: Index.of(iv) for axis, iv in places}
            if tall is None:
                self._columns(inner, at, 1)
                return
            first = Index.of(ivs[-1] if blocks > 1 else 0) * size
            self._rows(inner, at, tall, first, size)

        if not extents:  # Vectors live in loops only.
            b.loop(0, 1, lambda i, _: block(i, ()))
            return
        names = [*(axis.name for axis in outer), "block"][: len(extents)]
        grid(b, extents, block, names, parallel=self.threads > 1)

    def _rows(
        self, b: Builder, at: Positions, tall: Axis, first: Index, size: int
    ) -> None:
        """Full tiles of the block, then the rest of the last block."""
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
