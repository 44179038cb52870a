"""A contraction in tiles of rows: its factors in boxes, its result too where it can be.

Comes in: a contraction over groups of axes.  Goes out: `Tiled`, of which kernels are
made, or nothing where tensor copies cannot bring a factor.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gpucodegen.passes.contraction.fragments.factors import on_tensor_cores
from gpucodegen.passes.contraction.fusion.start import kept_at
from gpucodegen.passes.contraction.gpu.axes import Groups
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.contraction.warpgroups.boxes import (
    LINE,
    Boxes,
    in_few_dimensions,
)
from gpucodegen.passes.contraction.warpgroups.rectangles import in_rectangles
from gpucodegen.passes.contraction.warpgroups.result_boxes import (
    ResultBoxes,
    ends_outside,
    in_result_boxes,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.facts.vector_width import Definitions


@dataclass(frozen=True, slots=True)
class Tiled:
    """A contraction in tiles of rows, and the boxes of both factors."""

    contraction: Contraction
    groups: Groups
    boxes: tuple[Boxes, Boxes]
    result: ResultBoxes | None
    """None where tensor copies cannot store the result."""


def in_boxes(
    contraction: Contraction,
    groups: Groups,
    definitions: Definitions,
    tile: tuple[int, int] = (LINE, LINE),
    b: Builder | None = None,
) -> Tiled | None:
    """The contraction, its factors in boxes; None where copies cannot bring them.

    ``tile``: rows and columns of the result that a block computes.  ``b`` gets the
    views that they are boxes of.  The last axis of the reduction is that of the terms
    of a block.
    """
    narrow = on_tensor_cores(contraction)
    if narrow is None or len(groups.columns) > 1:
        return None
    for term in reversed(groups.reduction):
        others = (axis for axis in groups.reduction if axis is not term)
        over = replace(groups, reduction=(*others, term))
        inner = Builder(contraction.location)
        found = _in_boxes(inner, narrow, over, definitions, tile)
        if found is not None:
            (b or inner).operations += inner.operations
            return found
    return None


def _in_boxes(
    b: Builder,
    narrow: Contraction,
    groups: Groups,
    definitions: Definitions,
    tile: tuple[int, int],
) -> Tiled | None:
    """With blocks of terms of the last axis of the reduction."""
    whole, (*outer, term) = groups, groups.reduction
    lines, others = (*groups.rows, term), (*groups.batch, *outer)
    left = in_few_dimensions(b, narrow.left, lines, others)
    tiles = in_rectangles(replace(narrow, left=left), groups, tile[0])
    if tiles is None:
        return None
    found, groups = tiles
    made = {value: op for op in b.operations for value in op.results}
    terms = groups.reduction, {**definitions, **made}
    left = Boxes.of(found.left, groups.rows, *terms, tile[0])
    right = Boxes.of(found.right, groups.columns, *terms, tile[1])
    if left is None or right is None:
        return None
    axes, kept = (*whole.rows, *whole.columns), kept_at(narrow)
    is_clipped = kept is not None and ends_outside(kept, axes)
    result = in_result_boxes(found, groups) if is_clipped else None
    return Tiled(found, groups, (left, right), result)
