"""Panels of pixels: columns that run on across the rows of an image.

The columns y, x of a convolution are one axis p = X y + x of the result, and its steps
c, h, w are one axis k of the filters, but not of the image, which the window slides
over.  Panels make up for it: ``P[k][p]`` holds the pixel that tap k sees at column p,
for a panel of columns and a block of steps at a time.  Then the rest is a product of
matrices without short rows and short loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.builder import Builder
from gpucodegen.passes.contraction.blocking import Lanes, column_axis, row_axis
from gpucodegen.passes.contraction.collapse import (
    Folded,
    Places,
    is_row_major,
    merged,
)
from gpucodegen.passes.contraction.operands import Operand
from gpucodegen.passes.contraction.ranges import Positions, Range, nested
from gpucodegen.passes.contraction.recognize import Contraction, Gather
from gpucodegen.passes.contraction.windows import slides
from gpucodegen.passes.indexing import ZERO, Index
from gpucodegen.passes.nests import Axis
from gpucodegen.tiling.cpu_plan import GATHERING_PAYS

WIDEST_STEP = 4
"""Elements between pixels beyond which whole vectors are mostly not used."""


def flattened(b: Builder, contraction: Contraction, lanes: int) -> Contraction | None:
    """The contraction over one axis of pixels and one of taps, where it slides.

    None where what is fused with it has no such axis of pixels.
    """
    right, fast = contraction.right, column_axis(contraction)
    last = len(right.indices) - 1
    step = right.coefficient(last, fast)
    row = row_axis(contraction)
    if not contraction.is_plain or row is None or row.extent < GATHERING_PAYS:
        return contraction
    if not all(map(is_row_major, (contraction.result, contraction.left))):
        return contraction
    if not slides(right) or right.dimensions_of(fast) != [last]:
        return contraction
    result, left = Folded.of(contraction.result), Folded.of(contraction.left)
    steps = contraction.reduction
    taps = _joined(steps, left)
    if taps is None or not 0 < step <= WIDEST_STEP:
        return contraction
    for slow in contraction.columns:
        pixels = None if slow is fast else merged(slow, fast, result)
        if pixels is not None:
            break
    else:
        return contraction
    column, shown = pixels
    whole, filters = taps
    places = _places(whole, steps) | _places(column, (slow, fast))
    gathered = Operand(right.memref, tuple(right.at(places)))
    gone = {slow, fast, *steps}
    rest = tuple(axis for axis in contraction.axes if axis not in gone)
    pixel_result = shown.view(b)
    found = Places.of(contraction).merged(slow, fast, column)
    moved = found.applied(b, contraction, pixel_result)
    return moved and replace(
        moved,
        axes=(*rest, column, whole),
        result=pixel_result,
        left=filters.view(b),
        right=gathered,
        columns=(*(a for a in contraction.columns if a not in gone), column),
        reduction=(whole,),
        gather=Gather(right, (slow, fast), steps, lanes),
    )


def _joined(steps: Sequence[Axis], left: Folded) -> tuple[Axis, Folded] | None:
    """All steps as one, if the left factor has them side by side."""
    whole, *rest = steps
    for fast in rest:
        found = merged(whole, fast, left)
        if found is None:
            return None
        whole, left = found
    return whole, left


def _places(whole: Axis, parts: Sequence[Axis]) -> Positions:
    """Where the parts of an axis stand, the slowest first."""
    places: Positions = {}
    inside = 1
    for part in reversed(parts):
        position = Index.of(whole.iv) // inside
        places[part.iv] = position if part is parts[0] else position % part.extent
        inside *= part.extent
    return places


def pack_pixels(
    b: Builder,
    gather: Gather,
    steps: Range,
    lanes: Lanes,
    at: Positions,
    target: tuple[Value, Sequence[Index]],
) -> None:
    """Copy a panel: row by row of the image, a vector of pixels for every tap.

    What a vector holds beyond the end of its row is written over by the next row.
    """
    (slow, fast), (buffer, front) = gather.columns, target
    first, width = lanes.first, fast.extent

    def row(inner: Builder, y: Value) -> None:
        start = Index.of(y) * width - first
        inner.loop(
            [start, 0],
            [start + width, lanes.extent],
            lambda i, lane: pixels(i, Index.of(lane), start, Index.of(y)),
            step=gather.lanes,
            hint="lane",
        )

    def pixels(inner: Builder, lane: Index, start: Index, y: Index) -> None:
        def copy(i: Builder, here: Positions) -> None:
            vector = _pixels(i, gather, here)
            cell = [*front, _flat(gather.steps, here) - steps.lower, lane]
            i.transfer_write(vector, buffer, cell, [len(front) + 1], in_bounds=False)

        place = at | {slow.iv: y, fast.iv: lane - start}
        nested(inner, _parts(gather.steps, steps), place, copy)

    end = (first + (lanes.extent - 1)) // width + 1
    b.loop(first // width, end, row, hint=slow.name)


def _pixels(b: Builder, gather: Gather, here: Positions) -> Value:
    """A vector of pixels from one on, as far as the row of the image goes."""
    right, fast = gather.operand, gather.columns[1]
    last = len(right.indices) - 1
    step = right.coefficient(last, fast)
    wide = VectorType((step * gather.lanes,), element_type(right.memref.type))
    vector = b.transfer_read(
        right.memref, right.at(here), wide, [last], in_bounds=False, hint="b"
    )
    return vector if step == 1 else b.every(vector, step)


def _parts(axes: Sequence[Axis], block: Range) -> list[Range]:
    """The ranges of the axes for a block of whole periods of the slowest."""
    slowest, *rest = axes
    period = prod(axis.extent for axis in rest)
    lower = Index.of(block.lower) // period
    uppers = [Index.of(upper) // period for upper in block.uppers]
    return [Range(slowest, lower, uppers), *map(Range.whole, rest)]


def _flat(axes: Sequence[Axis], here: Positions) -> Index:
    """Position on the joined axis."""
    flat = ZERO
    for axis in axes:
        flat = flat * axis.extent + here[axis.iv]
    return flat
