"""Panels of pixels: columns that run on across the rows of an image.

The columns y, x of a convolution are one axis p = X y + x of the result, and its steps
c, h, w are one axis k of the filters, but not of the image, which the window slides
over.  Tasks copy its lines to make up for it (`lines`).  Then the rest is a product of
matrices without short rows and short loops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.passes.contraction.cpu.blocking import column_axis, row_axis
from gpucodegen.passes.contraction.cpu.ranges import parts_of
from gpucodegen.passes.contraction.recognition.collapse import (
    Folded,
    Places,
    is_row_major,
    merged,
)
from gpucodegen.passes.contraction.recognition.image import Image
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.contraction.recognition.windows import slides
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.convolution_kernels import LINES_PAY


def flattened(b: Builder, contraction: Contraction) -> Contraction | None:
    """The contraction over one axis of pixels and one of taps, where it slides.

    None where what is fused with it has no such axis of pixels.
    """
    right, fast = contraction.right, column_axis(contraction)
    row = row_axis(contraction)
    if not contraction.is_plain or row is None or row.extent < LINES_PAY:
        return contraction
    if not all(map(is_row_major, (contraction.result, contraction.left))):
        return contraction
    if not slides(right):
        return contraction
    result, left = Folded.of(contraction.result), Folded.of(contraction.left)
    steps = contraction.reduction
    taps = _joined(steps, left)
    if taps is None:
        return contraction
    for slow in contraction.columns:
        pixels = None if slow is fast else merged(slow, fast, result)
        if pixels is not None:
            break
    else:
        return contraction
    image = Image.of(contraction.unpadded or right, slow, fast, steps)
    if image is None:
        return contraction
    column, shown = pixels
    whole, filters = taps
    places = parts_of(Index.of(whole.iv), steps)
    places |= parts_of(Index.of(column.iv), (slow, fast))
    gathered = Operand(right.memref, tuple(right.at(places)))
    gone = {slow, fast, *steps}
    rest = tuple(axis for axis in contraction.axes if axis not in gone)
    pixel_result = shown.view(b)
    contraction = replace(contraction, unpadded=None)
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
        image=image,
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
