"""The boxes by which tensor copies store a result: whether they can, and where.

A box has `ROWS` rows of a tile, those of one warp, and as many columns as a line of
shared memory has bytes for.  What lies outside of the array is not stored, so rows and
columns that do not exist need no guards here: they must lie outside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import DialectType, MemRefType, element_bytes, element_type
from gpucodegen.passes.contraction.fusion.start import kept_at
from gpucodegen.passes.contraction.gpu.axes import Groups, Positions, unflatten
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.contraction.warpgroups.tensor_maps import (
    is_mappable,
    make_map,
    map_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.gpu.devices import WIDEST
from gpucodegen.tiling.machine.gpu.fragments import ROWS
from gpucodegen.tiling.machine.gpu.product_tiles import SPAN

SIZES = (2, 4)
"""Bytes of elements whose pairs a lane stores at once."""


@dataclass(frozen=True, slots=True)
class ResultBoxes:
    """The place of the result, and the axes that count rows and columns of a tile."""

    operand: Operand
    rows: tuple[Axis, ...]
    column: Axis

    @property
    def size(self) -> int:
        """Bytes of an element."""
        return element_bytes(element_type(self.operand.memref.type)) or 1

    @property
    def line(self) -> int:
        """Columns of a box."""
        return SPAN // self.size

    @property
    def box(self) -> tuple[int, ...]:
        """Extents of a box, along each dimension of the array."""
        found = [1] * len(self.operand.indices)
        left = ROWS
        for axis in reversed(self.rows):
            (dimension,) = self.operand.dimensions_of(axis)
            is_last = axis is self.rows[0]
            found[dimension] = left if is_last else min(axis.extent, left)
            left //= found[dimension]
        return (*found[:-1], self.line)

    @property
    def map_type(self) -> DialectType:
        """The tensor map."""
        return map_type(self.box, element_type(self.operand.memref.type))

    def make_map(self, b: Builder) -> Value:
        """The tensor map, made on the host."""
        return make_map(b, self.operand.memref, self.box, self.map_type)

    def start(self, row: Index, column: Index, batch: Positions) -> list[Index]:
        """Where the box from a row and a column on begins, the last dimension first."""
        at = batch | unflatten(row, self.rows) | {self.column.iv: column}
        return self.operand.at(at)[::-1]


def in_result_boxes(contraction: Contraction, groups: Groups) -> ResultBoxes | None:
    """The boxes of tiles of the groups; whether there are any, `can_store` says."""
    kept = kept_at(contraction)
    if kept is None or not can_store(kept, groups.rows, groups.columns):
        return None
    return ResultBoxes(kept, groups.rows, groups.columns[0])


def can_store(kept: Operand, rows: Sequence[Axis], columns: Sequence[Axis]) -> bool:
    """Whether each axis moves a dimension of its own, columns the last one.

    Dimensions are in the order of the axes, as rows of a box lie.
    """
    ty = kept.memref.type
    size = element_bytes(element_type(ty))
    if size not in SIZES or len(columns) != 1 or not is_mappable(ty):
        return False
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    if form is None or form.offset is None or form.offset * size % WIDEST:
        return False
    axes = (*rows, *columns)
    found = [kept.dimensions_of(axis) for axis in axes]
    if any(len(dimensions) != 1 for dimensions in found):
        return False
    order = [dimension for (dimension,) in found]
    steps = {kept.coefficient(d, axis) for d, axis in zip(order, axes, strict=True)}
    in_order = order == sorted(set(order)) and order[-1] == len(kept.indices) - 1
    return in_order and steps == {1}


def ends_outside(kept: Operand, axes: Sequence[Axis]) -> bool:
    """Whether positions that do not exist lie outside of the array."""
    ty = kept.memref.type
    shape = ty.shape if isinstance(ty, MemRefType) else ()

    def ends(axis: Axis) -> bool:
        dimensions = kept.dimensions_of(axis)
        extent = axis.size.constant
        return extent is not None and any(
            shape[d] == extent and (kept.indices[d] - axis.iv).constant == 0
            for d in dimensions
        )

    return all(map(ends, axes))
