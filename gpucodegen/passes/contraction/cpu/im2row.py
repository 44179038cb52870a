"""Convolutions as matrix products: image lines copied so that pixels are contiguous.

The pixels y, x of a convolution are one axis p = X y + x of the result, and its steps
c, h, w are one axis k of the filters, but the image

    I[c][s y + d h][t x + e w]

has neither axis.  Each task therefore copies the lines that its block of steps reads,
for every w:

    L[c][w][(d h) mod s][X (y + (d h) div s) + x] = I[c][s y + d h][t x + e w]

In L, the pixels under a tap are contiguous across line ends, so register tiles read
them like matrix columns, and no pixel is repeated for each h as it is in im2col.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.contraction.collapse import (
    Folded,
    Places,
    is_row_major,
    merged,
)
from gpucodegen.passes.contraction.cpu.blocking import Blocking, column_axis, row_axis
from gpucodegen.passes.contraction.operands import (
    Operand,
    Positions,
    Range,
    nested,
    parts_of,
)
from gpucodegen.passes.contraction.recognize import Contraction
from gpucodegen.passes.contraction.windows import Image, slides
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.convolution_kernels import LINES_PAY
from gpucodegen.tiling.machine.processor import MEMORY


@dataclass(frozen=True, slots=True)
class Lines:
    """Memory for the image lines of a task: ``count`` of them, from ``first`` on."""

    cut: Blocking
    image: Image
    first: Index
    count: int
    buffer: Value

    @staticmethod
    def of(b: Builder, cut: Blocking, stripe: Index) -> Lines | None:
        """The lines that a stripe of panels reads, if operand B is an image.

        The last vector of a line may reach beyond it.
        """
        image, tiling = cut.contraction.image, cut.tiling
        if image is None:
            return None
        width, count = image.fast.extent, image.slow.extent
        if tiling.stripes > 1:
            count = min(count, (cut.share * tiling.columns + width - 2) // width + 1)
        count += image.deepest
        plain = [axis.extent for axis in image.plain]
        if image.is_cut:
            plain[0] = -(-tiling.k_chunk // image.period)
        shape = (*plain, image.taps, image.phases, count * width + tiling.lanes)
        first = cut.first_panel(stripe) * tiling.columns // width
        return Lines(cut, image, first, count, cut.buffer(b, shape, "lines"))

    def fill(self, b: Builder, at: Positions, steps: Range) -> None:
        """Copy the lines that a block of steps reads."""
        image = self.image
        plain = [Range.whole(axis) for axis in image.plain]
        if image.is_cut:
            period = image.period
            uppers = [Index.of(upper) // period for upper in steps.uppers]
            plain[0] = Range(image.plain[0], Index.of(steps.lower) // period, uppers)

        def copy(i: Builder, here: Positions) -> None:
            front = [part.inside(here) for part in plain]
            for phase in range(image.phases):
                _Phase(self, phase, front).build(i, here)

        nested(b, plain, at, copy)


@dataclass(frozen=True, slots=True)
class _Phase:
    """The lines of one phase; ``front``: indices of their copies."""

    lines: Lines
    phase: int
    front: Sequence[Index]

    def build(self, b: Builder, at: Positions) -> None:
        """Copy the lines from top to bottom: each one ends where the next begins."""
        lines, image = self.lines, self.lines.image
        below = image.below(self.phase)
        if below < 0:
            return
        left = Index.of(image.slow.extent + below) - lines.first

        def line(i: Builder, number: Value) -> None:
            place = lines.first + number
            source = image.line(at, place, self.phase)
            row, end = source.indices[image.rows], image.shape[image.rows]
            exists = [row, Index.of(end - 1) - row]
            start = Index.of(number) * image.fast.extent

            def copy(j: Builder) -> None:
                self._fetch(j, at, place)
                self._copy(j, source, start)

            is_sure = image.has_all_lines
            i.guard([] if is_sure else exists, copy, lambda j: self._clear(j, start))

        b.loop(0, [lines.count, left], line, hint=image.slow.name)

    def _fetch(self, b: Builder, at: Positions, place: Index) -> None:
        """Prefetch the same line of the next step, which may lie in the next page."""
        image = self.lines.image
        if not image.is_cut:
            return
        step = image.steps[0].iv
        later = image.line(at | {step: at[step] + 1}, place, self.phase)
        line = MEMORY.line * 8 // element_bits(self.lines.cut.contraction.element)
        for element in range(0, image.shape[image.last], line):
            cell = [*later.indices[:-1], Index.of(element)]
            b.prefetch(later.memref, cell, write=False)

    def _copy(self, b: Builder, source: Operand, start: Index) -> None:
        """A line for every tap, with zeros at its ends where it leaves the image."""
        image = self.lines.image
        for tap in range(image.taps):
            pixels = image.pixels_under(tap)
            places = {image.wide.iv: Index.of(tap)} if image.wide else {}
            line = Operand(source.memref, tuple(source.at(places)))
            self._pixels(b, line, (tap, start), pixels)
            self._zeros(b, (tap, start), range(pixels.start))
            self._zeros(b, (tap, start), range(pixels.stop, image.fast.extent))

    def _clear(self, b: Builder, start: Index) -> None:
        for tap in range(self.lines.image.taps):
            self._zeros(b, (tap, start), range(self.lines.image.fast.extent))

    def _pixels(
        self, b: Builder, source: Operand, line: tuple[int, Index], pixels: range
    ) -> None:
        """Copy some pixels, a vector at a time."""
        lanes, image = self.lines.cut.tiling.lanes, self.lines.image
        whole = image.whole_vectors(line[0], pixels, lanes)

        def vector(i: Builder, x: Value | int, *, inside: bool = True) -> None:
            cells = source.at({image.fast.iv: Index.of(x)})
            read = self._read(i, source.memref, cells, inside=inside)
            self._store(i, read, line, Index.of(x))

        if whole:
            first, end = whole.start, whole.stop
            hint = image.fast.name
            b.loop(first, end, vector, step=lanes, hint=hint)
        for x in range(whole.stop, pixels.stop, lanes):
            vector(b, x, inside=False)

    def _read(
        self, b: Builder, memref: Value, cells: Sequence[Index], *, inside: bool
    ) -> Value:
        """A vector of pixels from one on, as far as the image goes."""
        step, last = self.lines.image.step, len(cells) - 1
        ty = VectorType(
            (step * self.lines.cut.tiling.lanes,), element_type(memref.type)
        )
        vector = b.transfer_read(memref, cells, ty, [last], in_bounds=inside, hint="b")
        return vector if step == 1 else b.every(vector, step)

    def _zeros(self, b: Builder, line: tuple[int, Index], pixels: range) -> None:
        lanes, element = self.lines.cut.tiling.lanes, self.lines.cut.contraction.element
        for first in pixels[::lanes]:
            count = min(lanes, pixels.stop - first)
            zero = b.constant(0, VectorType((count,), element))
            self._store(b, zero, line, Index.of(first))

    def _store(
        self, b: Builder, vector: Value, line: tuple[int, Index], x: Index
    ) -> None:
        tap, start = line
        cell = [*self.front, Index.of(tap), Index.of(self.phase), start + x]
        b.transfer_write(vector, self.lines.buffer, cell, [len(cell) - 1])


@dataclass(frozen=True, slots=True)
class LanesInLines:
    """Lanes of a block of steps, read from copied lines."""

    lines: Lines
    steps: Range

    def cell(self, at: Positions, number: Index) -> tuple[Value, list[Index]]:
        del number
        lines, image = self.lines, self.lines.image
        here = parts_of(at[self.steps.axis.iv], image.steps)
        front = [here[axis.iv] for axis in image.plain]
        if image.is_cut:
            front[0] -= Index.of(self.steps.lower) // image.period
        reach = here[image.high.iv] * image.line_reach if image.high else ZERO
        down, phase = reach // image.line_step, reach % image.line_step
        tap = here[image.wide.iv] if image.wide else ZERO
        start = (down - lines.first) * image.fast.extent
        place = start + at[lines.cut.column.iv]
        return lines.buffer, [*front, tap, phase, place]

    def lanes(self, b: Builder, at: Positions, number: Index, columns: int) -> Value:
        ty = VectorType((columns,), self.lines.cut.contraction.element)
        return b.vector_load(*self.cell(at, number), ty, "b")


def flattened(b: Builder, contraction: Contraction) -> Contraction | None:
    """The contraction with one axis of pixels and one of taps, where it slides.

    None where fused operations have no such axis of pixels.
    """
    right, fast = contraction.right, column_axis(contraction)
    row = row_axis(contraction)
    if not contraction.is_plain or row is None or row.extent < LINES_PAY:
        return contraction
    if not all(map(is_row_major, (contraction.result, contraction.left))):
        return contraction
    if not slides(right, contraction.axes):
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
    """All steps as one axis, if operand A has them contiguous."""
    whole, *rest = steps
    for fast in rest:
        found = merged(whole, fast, left)
        if found is None:
            return None
        whole, left = found
    return whole, left
