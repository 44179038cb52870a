"""Arrays of a contraction over as few axes as each of them has side by side.

What one array has side by side, another may not: the pixels of a result are one axis
where those of the image that a window slides over are two.  A flattened position is the
same for both.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from gpucodegen.passes.contraction.gpu.axes import Groups
from gpucodegen.passes.contraction.recognition.collapse import (
    Folded,
    Places,
    collapsed,
    is_row_major,
    merge_of,
)
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.nests import Axis

Merge = Callable[[Axis, Axis, Axis], bool]
"""Puts an axis in place of two, if the arrays have them side by side."""


def side_by_side(
    b: Builder, operand: Operand, axes: Sequence[Axis]
) -> tuple[Operand, tuple[Axis, ...]]:
    """A factor, through a view, over axes none of which continues another."""
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
    """The contraction `collapsed`; what is computed of an element, is of its view.

    Extents that only a call tells stay apart.
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
    """The result, and what is fused with it, over few axes of rows and of columns."""
    if not is_row_major(contraction.result):
        return contraction, groups
    folded, places = Folded.of(contraction.result), Places.of(contraction)

    def merge(slow: Axis, fast: Axis, whole: Axis) -> bool:
        nonlocal folded, places
        found = folded.merged(slow, fast, whole)
        others = places.merged(slow, fast, whole)
        if found is None or others.seen is None:
            return False
        folded, places = found, others
        return True

    rows, columns = (_merged(axes, merge) for axes in (groups.rows, groups.columns))
    result = folded.view(b)
    moved = places.applied(b, contraction, result)
    assert moved is not None
    return replace(moved, result=result), replace(groups, rows=rows, columns=columns)


def _merged(axes: Sequence[Axis], merge: Merge) -> tuple[Axis, ...]:
    """The axes after all merges of neighbours that are possible."""
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
