"""A contraction as CPU code: packed panels, register tiles, parallel blocks of rows.

    pack right into panels P[panel][k..][lane]          (once, or per outer iteration)
    parallel for outer axes, row blocks:
      for k blocks:
        for panels, for row tiles of the block:
          acc = C tile
          for k in block: acc += column of left (x) lanes of P
          C tile = acc

The terms of each element are added in their original order, so floating-point results
differ from the nest's only by the contraction of multiply and add.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.recognize import Contraction, Operand
from gpucodegen.passes.indexing import Index
from gpucodegen.passes.nests import Axis
from gpucodegen.tiling.cpu_plan import CpuPlan

Positions = dict[Value, Index]


def row_axis(contraction: Contraction) -> Axis | None:
    """The row axis to keep in registers: the longest with unit step in the result."""
    result = contraction.result
    usable = [
        axis
        for axis in contraction.rows
        if all(result.coefficient(d, axis) == 1 for d in result.dimensions_of(axis))
    ]
    return max(usable, key=lambda axis: axis.extent, default=None)


def column_axis(contraction: Contraction) -> Axis:
    """The vector axis: it walks the contiguous dimension of the result."""
    last = len(contraction.result.indices) - 1
    return next(
        axis
        for axis in contraction.columns
        if contraction.result.coefficient(last, axis)
    )


def lower(contraction: Contraction, plan: CpuPlan) -> list[Operation]:
    """Operations that replace the nest."""
    row = row_axis(contraction)
    assert row is not None
    builder = Builder(contraction.location)
    _Lowering(contraction, plan, row, column_axis(contraction)).build(builder)
    return builder.operations


@dataclass(frozen=True, slots=True)
class _Lowering:
    contraction: Contraction
    plan: CpuPlan
    row: Axis
    column: Axis

    @property
    def outer(self) -> tuple[Axis, ...]:
        """Axes of the result that are in neither the register tile nor the panel."""
        c = self.contraction
        return tuple(
            axis for axis in c.axes if axis not in (*c.reduction, self.row, self.column)
        )

    @property
    def panels(self) -> int:
        return -(-self.column.extent // self.plan.columns)

    @property
    def panel_outer(self) -> bool:
        """Whether the panels depend on an outer axis, so are packed inside."""
        return any(self.contraction.right.mentions(axis) for axis in self.outer)

    def build(self, b: Builder) -> None:
        if self.plan.pack and not self.panel_outer:
            panel = b.allocate("memref.alloc", self._panel_type(), "panel")
            b.parallel(
                [self.panels], lambda i, ivs: self._pack(i, panel, ivs[0], {}), ["q"]
            )
            self._blocks(b, panel)
            b.add("memref.dealloc", (panel,))
        else:
            self._blocks(b, None)

    def _panel_type(self) -> MemRefType:
        extents = (axis.extent for axis in self.contraction.reduction)
        shape = (self.panels, *extents, self.plan.columns)
        return MemRefType(shape, self.contraction.element)

    def _pack(self, b: Builder, panel: Value, number: Value, at: Positions) -> None:
        """Copy one panel of ``right``: all reduction positions, ``columns`` lanes."""
        first = Index.of(number) * self.plan.columns

        def copy(inner: Builder, ivs: Positions) -> None:
            ks = [ivs[axis.iv] for axis in self.contraction.reduction]

            def lane(body: Builder, iv: Value) -> None:
                where = ivs | {self.column.iv: first + iv}
                value = body.load(
                    self.contraction.right.memref, self.contraction.right.at(where)
                )
                body.store(value, panel, [number, *ks, iv])

            limit = Index.of(self.column.extent) - first
            exact = self.column.extent % self.plan.columns == 0
            uppers = [self.plan.columns] if exact else [self.plan.columns, limit]
            inner.loop(0, uppers, lane, hint="lane")

        _loops(b, self.contraction.reduction, dict(at), copy)

    def _blocks(self, b: Builder, panel: Value | None) -> None:
        """The parallel loops around all register tiles."""
        outer = self.outer
        blocks = -(-self.row.extent // self.plan.row_block)
        extents = [axis.extent for axis in outer] + ([blocks] if blocks > 1 else [])

        def body(inner: Builder, ivs: Sequence[Value]) -> None:
            at = {a.iv: Index.of(iv) for a, iv in zip(outer, ivs, strict=False)}
            block = Index.of(ivs[-1]) if blocks > 1 else Index.of(0)
            self._block(inner, at, block * self.plan.row_block, panel)

        hints = [axis.name for axis in outer] + ["block"]
        if self.plan.parallel and extents:
            b.parallel(extents, body, hints)
        else:
            _counted(b, extents, hints, body)

    def _block(
        self, b: Builder, at: Positions, first_row: Index, panel: Value | None
    ) -> None:
        local = self.plan.pack and panel is None
        if local:
            panel = b.allocate("memref.alloc", self._panel_type(), "panel")
            target = panel
            b.loop(0, self.panels, lambda i, q: self._pack(i, target, q, at), hint="q")
        self._reduction_blocks(
            b,
            at,
            lambda i, where, bounds: self._tiles(i, where, bounds, first_row, panel),
        )
        if local and panel is not None:
            b.add("memref.dealloc", (panel,))

    def _reduction_blocks(
        self,
        b: Builder,
        at: Positions,
        body: Callable[[Builder, Positions, Sequence[_Range]], None],
    ) -> None:
        """Loops over the blocks of the reduction; ``bounds`` are the ranges left."""
        axes, position = self.contraction.reduction, self.plan.k_position
        chunk, extent = self.plan.k_chunk, axes[position].extent
        rest = [_Range(axis, 0, [axis.extent]) for axis in axes[position + 1 :]]

        def block(inner: Builder, where: Positions) -> None:
            if chunk >= extent:
                body(inner, where, [_Range(axes[position], 0, [extent]), *rest])
                return

            def inside(i: Builder, start: Value) -> None:
                end: list[Index | int] = [Index.of(start) + chunk]
                if extent % chunk:
                    end.append(extent)
                body(i, where, [_Range(axes[position], start, end), *rest])

            inner.loop(0, extent, inside, step=chunk, hint="kb")

        _loops(b, axes[:position], at, block)

    def _tiles(
        self,
        b: Builder,
        at: Positions,
        bounds: Sequence[_Range],
        first_row: Index,
        panel: Value | None,
    ) -> None:
        """All register tiles of one block of rows."""
        width, full = self.plan.columns, self.column.extent // self.plan.columns
        rest = self.column.extent - full * width

        def panel_of(inner: Builder, number: Index, columns: int) -> None:
            tile = _Tile(at, bounds, number, columns, panel)
            self._rows(inner, first_row, tile)

        if full == 1:
            panel_of(b, Index.of(0), width)
        elif full:
            b.loop(0, full, lambda i, q: panel_of(i, Index.of(q), width), hint="q")
        if rest:
            panel_of(b, Index.of(full), rest)

    def _rows(self, b: Builder, first: Index, tile: _Tile) -> None:
        """Full row tiles of a block, then the rest of the last block."""
        height, extent = self.plan.rows, self.row.extent
        full_rows = extent - extent % height
        block_end = first + self.plan.row_block

        def full(inner: Builder, row: Value) -> None:
            self._micro_kernel(inner, Index.of(row), height, tile)

        if full_rows:
            single = self.plan.row_block >= extent
            uppers: list[Index | int] = (
                [full_rows] if single else [block_end, full_rows]
            )
            b.loop(first, uppers, full, step=height, hint="r")
        if full_rows < extent:
            b.guard(
                [block_end - extent],
                lambda i: self._micro_kernel(
                    i, Index.of(full_rows), extent - full_rows, tile
                ),
            )

    def _micro_kernel(self, b: Builder, row: Index, height: int, tile: _Tile) -> None:
        """One register tile: load C, add the outer products of a reduction block."""
        c = self.contraction
        first_column = tile.panel_number * self.plan.columns
        at = tile.at | {self.row.iv: row, self.column.iv: first_column}
        where = c.result.at(at)
        dimensions = [c.result.dimensions_of(a)[0] for a in (self.row, self.column)]
        ty = VectorType((height, tile.columns), c.element)
        accumulator = b.transfer_read(
            c.result.memref, where, ty, dimensions, hint="acc"
        )

        def step(inner: Builder, ks: Positions, acc: Value) -> Value:
            column = self._column(inner, at | ks, height)
            lanes = self._lanes(inner, at | ks, ks, tile)
            return inner.outerproduct(column, lanes, acc)

        total = _carried(
            b, tile.bounds, {**_reduction_part(c, tile.at)}, accumulator, step
        )
        b.transfer_write(total, c.result.memref, where, dimensions)

    def _column(self, b: Builder, at: Positions, height: int) -> Value:
        """The rows' elements of ``left``: one strided column, or single loads."""
        left, ty = (
            self.contraction.left,
            VectorType((height,), self.contraction.element),
        )
        dimensions = left.dimensions_of(self.row)
        if len(dimensions) == 1 and left.coefficient(dimensions[0], self.row) == 1:
            return b.transfer_read(left.memref, left.at(at), ty, dimensions, hint="a")
        scalars = [
            b.load(left.memref, left.at(at | {self.row.iv: at[self.row.iv] + i}), "a")
            for i in range(height)
        ]
        (column,) = b.add("vector.from_elements", scalars, [ty], hint="a")
        return column

    def _lanes(self, b: Builder, at: Positions, ks: Positions, tile: _Tile) -> Value:
        """Consecutive elements of a packed panel, or of ``right`` itself."""
        c = self.contraction
        ty = VectorType((tile.columns,), c.element)
        if tile.panel is None:
            return b.vector_load(c.right.memref, c.right.at(at), ty, "b")
        indices = [tile.panel_number, *(ks[a.iv] for a in c.reduction), Index.of(0)]
        return b.vector_load(tile.panel, indices, ty, "b")


@dataclass(frozen=True, slots=True)
class _Range:
    """Part of an axis: from ``lower`` to the smallest of ``uppers``."""

    axis: Axis
    lower: Value | int
    uppers: Sequence[Index | int]


@dataclass(frozen=True, slots=True)
class _Tile:
    """What the register tiles of one panel share."""

    at: Positions
    bounds: Sequence[_Range]
    panel_number: Index
    columns: int
    panel: Value | None


def _reduction_part(contraction: Contraction, at: Positions) -> Positions:
    return {a.iv: at[a.iv] for a in contraction.reduction if a.iv in at}


def _loops(
    b: Builder,
    axes: Sequence[Axis],
    at: Positions,
    body: Callable[[Builder, Positions], None],
) -> None:
    """Sequential loops over whole axes."""
    if not axes:
        body(b, at)
        return
    axis, *rest = axes
    b.loop(
        0,
        axis.extent,
        lambda i, iv: _loops(i, rest, at | {axis.iv: Index.of(iv)}, body),
        hint=axis.name,
    )


def _counted(
    b: Builder,
    extents: Sequence[int],
    hints: Sequence[str],
    body: Callable[[Builder, Sequence[Value]], None],
    ivs: tuple[Value, ...] = (),
) -> None:
    """Sequential stand-in for ``Builder.parallel``."""
    if not extents:
        body(b, ivs)
        return
    b.loop(
        0,
        extents[0],
        lambda i, iv: _counted(i, extents[1:], hints[1:], body, (*ivs, iv)),
        hint=hints[0],
    )


def _carried(
    b: Builder,
    bounds: Sequence[_Range],
    ks: Positions,
    value: Value,
    step: Callable[[Builder, Positions, Value], Value],
) -> Value:
    """Nested loops over the reduction ranges that carry the accumulator."""
    if not bounds:
        return step(b, ks, value)
    first, *rest = bounds

    def body(inner: Builder, iv: Value, carried: Sequence[Value]) -> list[Value]:
        here = ks | {first.axis.iv: Index.of(iv)}
        return [_carried(inner, rest, here, carried[0], step)]

    (total,) = b.carried_loop(
        first.lower, list(first.uppers), [value], body, hint=first.axis.name
    )
    return total


def direct_lanes(right: Operand, column: Axis) -> bool:
    """Whether ``right`` itself has the vector axis contiguous."""
    last = len(right.indices) - 1
    layout = getattr(right.memref.type, "layout", None)
    return (
        layout is None
        and right.dimensions_of(column) == [last]
        and right.coefficient(last, column) == 1
    )
