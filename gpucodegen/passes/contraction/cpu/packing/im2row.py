"""Lines of an image, copied so that the pixels under a tap lie side by side.

With the pixels y, x of a convolution joined to p = X y + x, those that a tap (c, h, w)
sees at neighbouring p are no neighbours in the image,

    I[c][s y + d h][t x + e w]

Each task copies the lines that its block of steps sees, for every w:

    L[c][w][(d h) mod s][X (y + (d h) div s) + x] = I[c][s y + d h][t x + e w]

There they are, across the ends of lines too, wherever a panel begins.  So register
tiles read them like a matrix, in which no pixel is repeated for each h.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.contraction.cpu.blocking import Blocking
from gpucodegen.passes.contraction.cpu.ranges import Positions, Range, nested, parts_of
from gpucodegen.passes.contraction.recognition.image import Image
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index
from gpucodegen.tiling.machine.processor import MEMORY


@dataclass(frozen=True, slots=True)
class Lines:
    """Memory for the lines of a task: ``count`` of them, from ``first`` on."""

    cut: Blocking
    image: Image
    first: Index
    count: int
    buffer: Value

    @staticmethod
    def of(b: Builder, cut: Blocking, stripe: Index) -> Lines | None:
        """Those that a stripe of panels sees, if the right factor is an image.

        A line's last vector may reach beyond it.
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
        """Copy what a block of steps sees."""
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
        """Copy them from top to bottom: each one ends where the next begins."""
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
        """Fetch the same line of the next step: it may lie in the next page."""
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
        """Where the pixel of the first lane is."""
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
        """A vector load."""
        ty = VectorType((columns,), self.lines.cut.contraction.element)
        return b.vector_load(*self.cell(at, number), ty, "b")
