"""A contraction in tiles that are rectangles of rows, where several axes count these.

    n, y, x   =   (n0, y0, x0) * (a, b, c) + (n1, y1, x1)

A block stands at n0, y0, x0, which are of the batch then; n1, y1, x1 are the rows of
its only tile, ``a b c`` of them, in the order of a box of the left factor.  Guards say
which of these exist.
"""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.contraction.gpu.axes import Groups, Positions
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.gpu.product_tiles import rectangle


def in_rectangles(
    contraction: Contraction, groups: Groups, rows: int
) -> tuple[Contraction, Groups] | None:
    """The contraction in tiles of so many rows; None where extents are not known."""
    axes = groups.rows
    if len(axes) == 1:
        return contraction, groups
    if any(axis.count is not None for axis in axes):
        return None
    sizes = rectangle(tuple(axis.extent for axis in axes), rows)
    outer = tuple(
        _axis(axis, -(-axis.extent // size))
        for axis, size in zip(axes, sizes, strict=True)
    )
    inner = tuple(_axis(axis, size) for axis, size in zip(axes, sizes, strict=True))
    at: Positions = {
        axis.iv: Index.of(tile.iv) * size + within.iv
        for axis, size, tile, within in zip(axes, sizes, outer, inner, strict=True)
    }
    guards = tuple(
        Index.of(axis.extent - 1) - at[axis.iv]
        for axis, size in zip(axes, sizes, strict=True)
        if axis.extent % size
    )
    moved = replace(_moved(contraction, at), guards=guards)
    ordered = tuple(sorted(inner, key=moved.left.dimensions_of))
    return moved, replace(groups, rows=ordered, batch=(*groups.batch, *outer))


def _axis(of: Axis, extent: int) -> Axis:
    return Axis(Value(INDEX, of.name, of.iv.location), extent, 0, 1, of.operation)


def _moved(contraction: Contraction, at: Positions) -> Contraction:
    """With other expressions for the axes of its rows."""

    def seen(operand: Operand) -> Operand:
        return replace(operand, indices=tuple(operand.at(at)))

    start, epilogue = contraction.start, contraction.epilogue
    return replace(
        contraction,
        result=seen(contraction.result),
        left=seen(contraction.left),
        start=start and start.moved(seen),
        epilogue=epilogue and epilogue.moved(seen),
    )
