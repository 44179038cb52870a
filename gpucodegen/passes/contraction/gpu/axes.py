"""Axes of a GPU contraction: flattened into rows, columns, reduction and batch.

`groups_of` maps a contraction to `Groups`, which give each axis' position at a
flattened index.  Axes that one array has contiguous may not be contiguous in another:
the pixels of a result are one axis where those of a convolved image are two.  `grid`
and `place` assign the tiles of the result to blocks.  Blocks in bands of tiles (for L2
reuse) are numbered in one dimension and have no tile below the last row of tiles;
blocks that compute several tiles take them by number.

`paying_contraction` is the only place that decides whether a GPU contraction pays.
Sums of narrow floats (f16 += f16 * f16) are kept in f32 and rounded once; where the
program rounds after every operation this is closer to the exact sum, as with fused
multiply-adds.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import reduce

from gpucodegen.ir.affine import Binary, linear_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import F32
from gpucodegen.passes.contraction.collapse import (
    Folded,
    Places,
    collapsed,
    is_row_major,
    merge_of,
)
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.recognize import Contraction, recognize
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, divided
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.outlining.gpu_launch import thread_index
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.product_tiles import Candidate
from gpucodegen.tiling.machine.gpu.product_work import blocks_of, tile_of

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

    None without rows or columns, or where a position in several axes depends on a
    dynamic extent.
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


def bound(
    b: Builder, positions: Positions, known: dict[Index, Index] | None = None
) -> Positions:
    """The positions, with those that divide as results of operations.

    Expressions over these are short where many accesses share a position.  ``known``:
    results of operations that exist; others are added.
    """
    known = {} if known is None else known
    for at in positions.values():
        if at not in known and _divides(at):
            known[at] = Index.of(b.index(at, "at"))
    return {iv: known.get(at, at) for iv, at in positions.items()}


def _divides(index: Index) -> bool:
    return any(isinstance(term, Binary) for term in linear_form(index.expr)[0])


Merge = Callable[[Axis, Axis, Axis], bool]
"""Replaces two axes by one, if the arrays have them contiguous."""


def side_by_side(
    b: Builder, operand: Operand, axes: Sequence[Axis]
) -> tuple[Operand, tuple[Axis, ...]]:
    """An operand, through a view, over axes that are not contiguous in each other."""
    if not operand.is_of_one or not is_row_major(operand):
        return operand, tuple(axes)
    folded = Folded.of(operand)

    def merge(slow: Axis, fast: Axis, whole: Axis) -> bool:
        nonlocal folded
        found = folded.merged(slow, fast, whole)
        folded = found or folded
        return found is not None

    left = _merged(axes, merge)
    return operand.seen(folded.view(b)), left


def with_few_axes(b: Builder, contraction: Contraction) -> Contraction | None:
    """The contraction `collapsed`, with operand computations on the views.

    Dynamic extents are not collapsed.
    """
    if any(axis.count is not None for axis in contraction.axes):
        return contraction
    factors = contraction.left, contraction.right
    if not all(factor.is_of_one for factor in factors):
        return collapsed(b, contraction)
    left, right = (factor.element for factor in factors)
    found = collapsed(b, replace(contraction, left=left, right=right))
    if found is None:
        return None
    left, right = (
        factor.seen(view)
        for factor, view in zip(factors, (found.left, found.right), strict=True)
    )
    return replace(found, left=left, right=right)


def with_flat_result(
    b: Builder, contraction: Contraction, groups: Groups
) -> tuple[Contraction, Groups]:
    """The contraction with few axes of rows and of columns in its result."""
    if not is_row_major(contraction.result):
        return contraction, groups
    folded, places = Folded.of(contraction.result), Places.of(contraction)

    def merge(slow: Axis, fast: Axis, whole: Axis) -> bool:
        nonlocal folded, places
        found = folded.merged(slow, fast, whole)
        others = places.merged(slow, fast, whole)
        is_kept = not places.may_change(slow, fast)
        if is_kept or found is None or others.seen is None:
            return False
        folded, places = found, others
        return True

    rows, columns = (_merged(axes, merge) for axes in (groups.rows, groups.columns))
    result = folded.view(b)
    moved = places.applied(b, contraction, result)
    assert moved is not None
    return replace(moved, result=result), replace(groups, rows=rows, columns=columns)


def _merged(axes: Sequence[Axis], merge: Merge) -> tuple[Axis, ...]:
    """The axes after all possible merges of neighbours."""
    left = list(axes[:1])
    if any(axis.count is not None for axis in axes):
        return tuple(axes)
    for fast in axes[1:]:
        whole = merge_of(left[-1], fast)
        if merge(left[-1], fast, whole):
            left[-1] = whole
        else:
            left.append(fast)
    return tuple(left)


@dataclass(frozen=True, slots=True)
class Place:
    """The tile of one block: its first row and column, positions of the batch.

    ``exists`` are >= 0 where the block has a tile.
    """

    row: Index
    column: Index
    batch: Positions
    exists: tuple[Index, ...] = ()


def grid(groups: Groups, plan: Candidate) -> tuple[Index, Index, Index]:
    """Blocks along x (columns), y (rows), z (batch); bands of tiles along x alone."""
    down, across = _tiles(groups, plan)
    if plan.group == 1:
        return across, down, extent(groups.batch)
    bands = blocks_of(_number(down), _number(across), plan.group)
    return Index.of(bands), Index.of(1), extent(groups.batch)


def tiles(groups: Groups, plan: Candidate) -> int:
    """Tiles of the whole result; all extents are known."""
    down, across = _tiles(groups, plan)
    return _number(down) * _number(across) * _number(extent(groups.batch))


def numbered(b: Builder, groups: Groups, plan: Candidate, number: Index) -> Place:
    """The tile of a number; all bands of tiles have one height."""
    down, across = map(_number, _tiles(groups, plan))
    assert down % plan.group == 0, "each number has a tile"
    image, within = ZERO, number
    if groups.batch:
        image, within = divided(number, down * across)
    y, x = (
        Index.of(b.index(at, f"b{d}"))
        for at, d in zip(tile_of(within, across, plan.group), "yx", strict=True)
    )
    batch: Positions = {}
    if groups.batch:
        batch = unflatten(Index.of(b.index(image, "bz")), groups.batch)
    return Place(y * plan.tile_rows, x * plan.tile_columns, batch)


def _tiles(groups: Groups, plan: Candidate) -> tuple[Index, Index]:
    return (
        extent(groups.rows).ceildiv(plan.tile_rows),
        extent(groups.columns).ceildiv(plan.tile_columns),
    )


def _number(tiles: Index) -> int:
    assert tiles.constant is not None, "plans of unknown extents have no bands"
    return tiles.constant


def place(b: Builder, groups: Groups, plan: Candidate) -> Place:
    """The tile of the executing block."""
    down, across = _tiles(groups, plan)
    exists: tuple[Index, ...] = ()
    if plan.group == 1:
        x, y = (Index.of(thread_index(b, "block_id", d, f"b{d}")) for d in "xy")
        y = ZERO if down.constant == 1 else y
    else:
        number = Index.of(thread_index(b, "block_id", "x", "bx"))
        found = tile_of(number, _number(across), plan.group)
        y, x = (
            Index.of(b.index(at, f"b{d}")) for at, d in zip(found, "yx", strict=True)
        )
        if _number(down) % plan.group:
            exists = (down - 1 - y,)
    batch: Positions = {}
    if groups.batch:
        z = thread_index(b, "block_id", "z", "bz")
        batch = unflatten(Index.of(z), groups.batch)
    return Place(y * plan.tile_rows, x * plan.tile_columns, batch, exists)


def paying_contraction(op: Operation) -> Contraction | None:
    """The contraction that a nest computes, if the tiled kernel runs it.

    It must have rows and columns, and a product of elements without a scale.
    """
    found = recognize(op, parametric=True)
    if found is None or found.vector is None or found.scale is not None:
        return None
    if groups_of(found) is None:
        return None
    return found if found.sums_in_registers else _in_f32(found)


def _in_f32(found: Contraction) -> Contraction:
    """The contraction with sums and operands in f32; the result keeps its type."""
    left, right = (o.converted("arith.extf", F32) for o in (found.left, found.right))
    return replace(found, left=left, right=right, element=F32)
