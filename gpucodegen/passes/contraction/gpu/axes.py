"""The axes of a contraction as four flattened indices: rows, columns, reduction, batch.

Comes in: a contraction.  Goes out: `Groups`, and the position of each axis at a
flattened index.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

from gpucodegen.ir.operation import Value
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.indexing import ZERO, Index, divided
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
    """The axes of each kind as one group, the fastest in C last.

    None where there are no rows or columns, or where a position in several axes depends
    on an extent that only a call tells.
    """
    if not contraction.rows or contraction.vector is None or contraction.guards:
        return None

    def place(axis: Axis) -> list[int]:
        return contraction.result.dimensions_of(axis)

    groups = Groups(
        tuple(sorted(contraction.rows, key=place)),
        tuple(sorted(contraction.columns, key=place)),
        contraction.reduction,
        contraction.batch,
    )
    flat = groups.rows, groups.columns, groups.reduction, groups.batch
    inner = (axis for axes in flat for axis in axes[1:])
    return None if any(axis.count is not None for axis in inner) else groups


def extent(axes: Sequence[Axis]) -> Index:
    """Number of positions of a flattened group."""
    return reduce(Index.__mul__, (axis.size for axis in axes), Index.of(1))


def unflatten(index: Index, axes: Sequence[Axis]) -> Positions:
    """Positions of the axes at a flattened index, the last axis fastest."""
    positions: Positions = {axis.iv: ZERO for axis in axes}
    longer = [axis for axis in axes if axis.extent != 1] or axes[:1]
    inner = 1
    for axis in reversed(longer):
        position, _ = divided(index, inner)
        if axis is not longer[0]:
            _, position = divided(position, axis.extent)
        positions[axis.iv] = position
        inner *= axis.extent
    return positions
