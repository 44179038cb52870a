"""Whether a nest goes through the cells of a result, and may do so tile by tile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.contraction.recognition.domain import Domain
from gpucodegen.passes.contraction.recognition.operands import Operand, is_linear
from gpucodegen.passes.cpu.vectorize.operations import ELEMENTWISE, lane_bits
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.passes.framework.nests import Axis


def fits(op: Operation) -> bool:
    """Whether a tile in registers can do what an operation does to one cell."""
    if op.name in affine.ACCESSES:
        scalars = (*op.operands[:1], *op.results)
        values = [v for v in scalars if not isinstance(v.type, MemRefType)]
    else:
        values = [*op.operands, *op.results]
        if op.name not in ELEMENTWISE and op.name != "arith.constant":
            return False
    return all(lane_bits(value.type) is not None for value in values)


def aligned(
    place: Operand, anchor: Operand, own: Sequence[Axis], axes: Sequence[Axis]
) -> dict[Axis, Axis] | None:
    """The loop of a nest for each axis, if the same cells are accessed.

    Every axis of the anchor goes with one loop of as many iterations, which stands in
    the same index with the same factor; all loops but those of one iteration do.
    """
    if place.memref is not anchor.memref:
        return None
    loops: dict[Axis, Axis] = {}
    for mine, theirs in zip(place.indices, anchor.indices, strict=True):
        moving = [loop for loop in own if loop.iv in mine.values]
        wanted = [axis for axis in axes if axis.iv in theirs.values]
        if len(moving) != len(wanted) or len(moving) > 1:
            return None
        for loop, axis in zip(moving, wanted, strict=True):
            if loop in loops.values() or loop.extent != axis.extent:
                return None
            loops[axis] = loop
        moved = {loops[axis].iv: Index.of(axis.iv) for axis in wanted}
        if (replace_values(mine, moved) - theirs).constant != 0:
            return None
    left = (loop for loop in own if loop not in loops.values())
    is_whole = all(loop.extent == 1 for loop in left) and len(loops) == len(axes)
    return loops if is_whole and all(axis.extent for axis in axes) else None


def has_guards(
    guards: Sequence[Index], nest: Domain, loops: Mapping[Axis, Axis]
) -> bool:
    """Whether a nest goes through the cells whose guards are >= 0, and no others.

    Every guard of the one is a guard of the other.
    """
    moved = {loop.iv: Index.of(axis.iv) for axis, loop in loops.items()}
    own = [replace_values(guard, moved) for guard in nest.guards]

    def are_among(some: Sequence[Index], others: Sequence[Index]) -> bool:
        return all(any((a - b).constant == 0 for b in others) for a in some)

    return are_among(guards, own) and are_among(own, guards)


def is_in_rows(
    place: Operand, axes: Sequence[Axis], result: Operand, *, whole: bool
) -> bool:
    """Whether tiles are read and stored as those of the result are, row by row.

    Each axis moves one index of row-major memory, in steps of one, and each index
    moves with one axis; what walks the last dimension of the result, walks the last
    one here.  ``whole``: every axis moves the place.
    """
    ty, last = place.memref.type, len(place.indices) - 1
    if not isinstance(ty, MemRefType) or ty.layout is not None or None in ty.shape:
        return False
    if not all(map(is_linear, place.indices)):
        return False
    fastest = [a for a in axes if result.dimensions_of(a) == [len(result.indices) - 1]]
    for axis in axes:
        dimensions = place.dimensions_of(axis)
        if [place.coefficient(d, axis) for d in dimensions] != [1][: len(dimensions)]:
            return False
        if whole and not dimensions:
            return False
        if axis in fastest and dimensions not in ([], [last]):
            return False
    return all(sum(a.iv in i.values for a in axes) <= 1 for i in place.indices)
