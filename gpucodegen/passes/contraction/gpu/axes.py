"""The axes of a contraction as four flattened indices: rows, columns, reduction, batch.

Comes in: a contraction.  Goes out: `Groups`, or None where rows or columns do not walk
C with one stride; the position of each axis at a flattened index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.contraction.cpu.register_tiles.tasks import column_axis, row_axis
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis

Positions = dict[Value, Index]


@dataclass(frozen=True, slots=True)
class Groups:
    """The axes as one row, one column, one reduction and one batch index."""

    rows: tuple[Axis, ...]
    columns: tuple[Axis, ...]
    reduction: tuple[Axis, ...]
    batch: tuple[Axis, ...]


def groups_of(contraction: Contraction) -> Groups | None:
    """Flatten rows and columns as far as they stay one strided dimension of C.

    None where a position in several axes depends on an extent that only a call tells.
    """
    row = row_axis(contraction)
    if row is None or contraction.guards:
        return None
    rows = _collapsible(contraction, contraction.rows, row)
    columns = _collapsible(contraction, contraction.columns, column_axis(contraction))
    chosen = {*rows, *columns, *contraction.reduction}
    batch = tuple(axis for axis in contraction.axes if axis not in chosen)
    groups = Groups(rows, columns, contraction.reduction, batch)
    flat = (rows, columns, contraction.reduction, batch)
    inner = (axis for axes in flat for axis in axes[1:])
    return None if any(axis.count is not None for axis in inner) else groups


def _collapsible(
    contraction: Contraction, axes: Sequence[Axis], inner: Axis
) -> tuple[Axis, ...]:
    """Axes around ``inner`` that together walk C with one stride, outermost first."""
    result = contraction.result
    shape = (
        result.memref.type.shape if isinstance(result.memref.type, MemRefType) else ()
    )
    group = [inner]
    dimension = result.dimensions_of(inner)[0]
    while dimension > 0 and shape[dimension] == group[0].extent:
        dimension -= 1
        found = [a for a in axes if result.coefficient(dimension, a) == 1]
        if len(found) != 1:
            break
        group.insert(0, found[0])
    return tuple(group)


def extent(axes: Sequence[Axis]) -> Index:
    """Number of positions of a flattened group."""
    return reduce(Index.__mul__, (axis.size for axis in axes), Index.of(1))


def unflatten(index: Index, axes: Sequence[Axis]) -> Positions:
    """Positions of the axes at a flattened index, the last axis fastest."""
    positions: Positions = {}
    inner = 1
    for axis in reversed(axes):
        position = index // inner if inner > 1 else index
        positions[axis.iv] = position % axis.extent if axis is not axes[0] else position
        inner *= axis.extent
    return positions
