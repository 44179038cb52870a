"""Factors that are images, over which a window slides.

    I[c][s y + d h][t x + e w]

with the pixels y, x of the result, the taps h, w of the window and plain steps c.  What
is outside of the array is zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.contraction.cpu.ranges import Positions
from gpucodegen.passes.contraction.recognition.operands import Operand, coefficients
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.passes.framework.nests import Axis

WIDEST_STEP = 4
"""Elements between lanes beyond which whole vectors are mostly not used."""
WIDEST_WINDOW = 16
"""Taps in a row for each of which lines are copied."""


@dataclass(frozen=True, slots=True)
class Image:
    """``operand`` over pixels ``slow``, ``fast`` and ``steps``, the slowest first."""

    operand: Operand
    slow: Axis
    fast: Axis
    steps: tuple[Axis, ...]

    @staticmethod
    def of(
        operand: Operand, slow: Axis, fast: Axis, steps: tuple[Axis, ...]
    ) -> Image | None:
        """The image, if at most one step moves along its lines, and one across."""
        last, rows = len(operand.indices) - 1, operand.dimensions_of(slow)
        if operand.dimensions_of(fast) != [last] or len(rows) != 1 or rows == [last]:
            return None
        image = Image(operand, slow, fast, steps)
        sliding = [image._moving(rows[0]), image._moving(last)]
        taps = [axis for along in sliding for axis in along]
        alone = all(len(operand.dimensions_of(axis)) == 1 for axis in taps)
        others = {slow.iv, fast.iv, *(axis.iv for axis in taps)}
        used = {v for d in (rows[0], last) for v in operand.indices[d].values}
        if max(map(len, sliding)) > 1 or not alone or not used <= others:
            return None
        steps_up = all(c > 0 for d in (*rows, last) for c in image._terms(d).values())
        fits = image.step <= WIDEST_STEP and image.taps <= WIDEST_WINDOW
        return image if steps_up and fits else None

    @property
    def period(self) -> int:
        """Steps that stay together in a block: all but the slowest axis."""
        return prod(axis.extent for axis in self.steps[1:])

    @property
    def rows(self) -> int:
        """The dimension of the lines."""
        return self.operand.dimensions_of(self.slow)[0]

    @property
    def last(self) -> int:
        """The dimension along a line."""
        return len(self.operand.indices) - 1

    @property
    def shape(self) -> Sequence[int]:
        """Extents of the array."""
        ty = self.operand.memref.type
        assert isinstance(ty, MemRefType)
        return [extent or 0 for extent in ty.shape]

    @property
    def high(self) -> Axis | None:
        """The taps across lines, h."""
        return next(iter(self._moving(self.rows)), None)

    @property
    def wide(self) -> Axis | None:
        """The taps along a line, w."""
        return next(iter(self._moving(self.last)), None)

    @property
    def plain(self) -> tuple[Axis, ...]:
        """The other steps, c."""
        return tuple(a for a in self.steps if a not in (self.high, self.wide))

    @property
    def is_cut(self) -> bool:
        """Whether blocks of steps see different parts of the image."""
        return bool(self.plain) and self.plain[0] is self.steps[0]

    @property
    def line_step(self) -> int:
        """Lines between pixels, s."""
        return self.operand.coefficient(self.rows, self.slow)

    @property
    def line_reach(self) -> int:
        """Lines between taps, d."""
        return self.operand.coefficient(self.rows, self.high) if self.high else 0

    @property
    def step(self) -> int:
        """Elements between pixels, t."""
        return self.operand.coefficient(self.last, self.fast)

    @property
    def taps(self) -> int:
        """Taps along a line."""
        return self.wide.extent if self.wide else 1

    def below(self, phase: int) -> int:
        """Lines by which taps reach further down, of those with a phase; -1: none.

        max over h of (d h) div s where (d h) mod s = phase
        """
        count = self.high.extent if self.high else 1
        reaches = [divmod(h * self.line_reach, self.line_step) for h in range(count)]
        return max((down for down, found in reaches if found == phase), default=-1)

    @property
    def phases(self) -> int:
        """One more than the largest phase of a tap, (d h) mod s."""
        return 1 + max(p for p in range(self.line_step) if self.below(p) >= 0)

    @property
    def deepest(self) -> int:
        """Lines by which taps reach further down."""
        return max(map(self.below, range(self.phases)))

    @property
    def has_all_lines(self) -> bool:
        """Whether no tap reaches beyond the first or the last line."""
        index = self.operand.indices[self.rows]
        zero = {value: Index.of(0) for value in index.values}
        first = replace_values(index, zero).constant
        assert first is not None
        down = (self.slow.extent - 1) * self.line_step
        down += (self.high.extent - 1) * self.line_reach if self.high else 0
        return first >= 0 and first + down < self.shape[self.rows]

    def line(self, at: Positions, number: Index, phase: int) -> Operand:
        """The line of a number and phase, over w and x; the other axes stand at ``at``.

        number = y + (d h) div s,  phase = (d h) mod s
        """
        here = at | {self.slow.iv: number}
        if self.high:
            here[self.high.iv] = Index.of(0)
        indices = self.operand.at(here)
        indices[self.rows] += phase
        return Operand(self.operand.memref, tuple(indices))

    def pixels_under(self, tap: int) -> range:
        """The pixels x of which a tap w sees elements.

        0 <= t x + e w + offset < extent
        """
        start, width = self._start(tap), self.fast.extent
        first = min(max(-(start // self.step), 0), width)
        end = (self.shape[self.last] - 1 - start) // self.step + 1
        return range(first, min(max(end, first), width))

    def whole_vectors(self, tap: int, pixels: range, lanes: int) -> range:
        """Those of the pixels whose vectors are read whole, with what is between them.

        t (x + lanes) + e w + offset <= extent
        """
        room = (self.shape[self.last] - self._start(tap)) // self.step - pixels.start
        count = min(len(pixels), max(room, 0)) // lanes
        return range(pixels.start, pixels.start + count * lanes)

    def _start(self, tap: int) -> int:
        """The element that a tap w sees of the first pixel: e w + offset."""
        places = {self.fast.iv: Index.of(0)}
        if self.wide:
            places[self.wide.iv] = Index.of(tap)
        start = self.operand.at(places)[self.last].constant
        assert start is not None
        return start

    def _moving(self, dimension: int) -> list[Axis]:
        """The steps in an index."""
        return [a for a in self.steps if self.operand.coefficient(dimension, a)]

    def _terms(self, dimension: int) -> dict[Value, int]:
        return coefficients(self.operand.indices[dimension])
