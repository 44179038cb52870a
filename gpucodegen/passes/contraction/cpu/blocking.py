"""Blocking of a CPU contraction: the role of each axis and the number of panels.

The column axis of a panel is the contiguous axis of the result, which vector lanes run
along; the row axis of a register tile has unit step in the result; the others are outer
axes.  `Blocking` derives panels, stripes of panels (one per task) and reduction blocks
from the sizes of the kernel's plan.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeAlias

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.contraction.operands import Positions, Range, nested
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.product_problem import Candidate, OuterPanels, Tiling


def row_axis(contraction: Contraction) -> Axis | None:
    """The row axis to keep in registers: the longest with unit step in the result.

    Among equal ones, the axis of the smallest stride.
    """
    result = contraction.result
    usable = [
        axis
        for axis in contraction.rows
        if all(result.coefficient(d, axis) == 1 for d in result.dimensions_of(axis))
    ]
    return max(usable, key=lambda a: (a.extent, result.dimensions_of(a)), default=None)


def column_axis(contraction: Contraction) -> Axis:
    """The vector axis: the axis of the result's contiguous dimension."""
    column = contraction.vector
    assert column is not None
    return column


def outer_axes(contraction: Contraction) -> tuple[Axis, ...]:
    """Axes of the result that are in neither the register tile nor the panel."""
    row, column = row_axis(contraction), column_axis(contraction)
    inside = (*contraction.reduction, row, column)
    return tuple(axis for axis in contraction.axes if axis not in inside)


BlockBody: TypeAlias = Callable[[Builder, Positions, Sequence[Range]], None]
"""Gets the positions of the outer reduction axes, and the ranges of one block."""
PanelBody: TypeAlias = Callable[[Builder, Index, int], None]
"""Gets the number of a panel and its columns."""
Blocks: TypeAlias = Callable[[Builder, Positions, BlockBody], None]
"""Calls a body for every block of the reduction."""


@dataclass(frozen=True, slots=True)
class LaneAxis:
    """``extent`` elements of the vector axis, from position ``first``.

    ``register``: elements per vector register.
    """

    axis: Axis
    first: Index
    extent: int
    register: int


@dataclass(frozen=True, slots=True)
class Blocking:
    """A contraction, its kernel, and the axes of its register tile, if it has rows."""

    contraction: Contraction
    kernel: Candidate
    row: Axis | None
    column: Axis

    @property
    def tiling(self) -> Tiling:
        return self.kernel.tiling

    @property
    def rows(self) -> int:
        return 1 if self.row is None else self.row.extent

    @property
    def full_panels(self) -> int:
        """Panels of ``tiling.columns`` columns."""
        return self.column.extent // self.tiling.columns

    @property
    def rest(self) -> int:
        """Columns of the last, partial panel, or 0."""
        return self.column.extent % self.tiling.columns

    @property
    def panels(self) -> int:
        """Number of panels, including a partial one."""
        return self.full_panels + (1 if self.rest else 0)

    @property
    def share(self) -> int:
        """Panels of the largest stripe."""
        bounds = [self._bound(n) for n in range(self.tiling.stripes)]
        return max(b - a for a, b in pairwise([*bounds, self.panels]))

    def first_panel(self, stripe: Index) -> Index:
        """The number of the first panel of a stripe.

        Stripes have about the same number of columns: panel p begins stripe s of S if
        it is the one whose first column is nearest to s columns / S.
        """
        twice = 2 * self.tiling.stripes * self.tiling.columns
        if 2 * self.column.extent % twice == 0:
            return stripe * (2 * self.column.extent // twice)
        return (stripe * (2 * self.column.extent) + twice // 2) // twice

    def _bound(self, stripe: int) -> int:
        found = self.first_panel(Index.of(stripe)).constant
        assert found is not None
        return found

    @property
    def panel_shape(self) -> tuple[int, ...]:
        inside = self.contraction.reduction[self.tiling.k_position + 1 :]
        steps = (self.tiling.k_chunk, *(axis.extent for axis in inside))
        return (*steps, self.tiling.columns)

    @property
    def tile_shape(self) -> tuple[int, ...]:
        columns = self.tiling.columns
        return (columns,) if self.row is None else (self.tiling.rows, columns)

    def inner_ranges(self, part: Index) -> list[Range]:
        """The outer axes that are looped around the row tiles of each panel.

        ``part``: the task's part of the longest of them.
        """
        if not isinstance(self.kernel, OuterPanels):
            return []
        axes, parts = outer_axes(self.contraction), self.kernel.parts
        longest = max(axes, key=lambda axis: axis.extent)
        size = -(-longest.extent // parts)
        ends = [(part + 1) * size, *([longest.extent] if longest.extent % size else [])]
        cut = Range(longest, part * size, ends)
        return [cut if axis is longest else Range.whole(axis) for axis in axes]

    def lanes(self, number: Index, width: int) -> LaneAxis:
        first = number * self.tiling.columns
        return LaneAxis(self.column, first, width, self.tiling.lanes)

    def vector(self, *shape: int) -> VectorType:
        return VectorType(shape, self.contraction.element)

    def buffer(self, b: Builder, shape: Sequence[int], hint: str) -> Value:
        ty = MemRefType(tuple(shape), self.contraction.element)
        return b.allocate("memref.alloc", ty, hint)

    def each_panel(self, b: Builder, stripe: Index, body: PanelBody) -> None:
        """Loop over a stripe's panels; the last stripe has the partial one."""
        full, stripes, width = (
            self.full_panels,
            self.tiling.stripes,
            self.tiling.columns,
        )
        if full == stripes == 1:
            body(b, ZERO, width)
        elif full:
            first, end = self.first_panel(stripe), self.first_panel(stripe + 1)
            ends = [full] if stripes == 1 else [end, full] if self.rest else [end]
            b.loop(first, ends, lambda i, q: body(i, Index.of(q), width), hint="q")
        if self.rest:
            last = stripe - (self.tiling.stripes - 1)
            b.guard([last], lambda i: body(i, Index.of(full), self.rest))

    def reduction_blocks(self, b: Builder, at: Positions, body: BlockBody) -> None:
        """Loops over reduction blocks; the body gets the ranges of a block."""
        axes, position = self.contraction.reduction, self.tiling.k_position
        axis, chunk = axes[position], self.tiling.k_chunk
        rest = [Range.whole(a) for a in axes[position + 1 :]]

        def block(inner: Builder, where: Positions) -> None:
            if chunk >= axis.extent:
                body(inner, where, [Range.whole(axis), *rest])
                return

            def inside(i: Builder, start: Value) -> None:
                ends: list[Index | int] = [Index.of(start) + chunk]
                if axis.extent % chunk:
                    ends.append(axis.extent)
                body(i, where, [Range(axis, start, ends), *rest])

            inner.loop(0, axis.extent, inside, step=chunk, hint="kb")

        nested(b, [Range.whole(a) for a in axes[:position]], at, block)
