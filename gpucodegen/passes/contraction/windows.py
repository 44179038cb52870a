"""Sliding-window operands of convolutions: indices that sum several axes.

    I[c][s y + d h][t x + e w]

with pixels y, x of the result, taps h, w of the window and plain reduction axes c;
elements outside the array are zero.  The elements that the axes reach form a strided
array with one dimension per axis, in which elements repeat: `unrolled` names it by
``memref.reinterpret_cast`` without a copy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from gpucodegen.dialects.memref import DYNAMIC_MARK
from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.attributes import DenseArrayAttr, StridedLayoutAttr
from gpucodegen.ir.operation import Value, segment_counts
from gpucodegen.ir.types import I64, MemRefType
from gpucodegen.passes.contraction.operands import Operand, Positions, coefficients
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import ZERO, Index, replace_values
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass


def slides(operand: Operand, axes: Sequence[Axis]) -> bool:
    """Whether some index moves with several of the axes, or in steps."""
    dimensions = range(len(operand.indices))
    steps = [[operand.coefficient(d, axis) for axis in axes] for d in dimensions]
    moves = [[step for step in each if step] for each in steps]
    return any(len(each) > 1 or each not in ([], [1]) for each in moves)


def unrolled(
    b: Builder, operand: Operand, axes: Sequence[Axis], guests: Sequence[Axis] = ()
) -> Operand:
    """The operand as an array over its axes, the fastest last.

    offset + stride_1 x_1 + .. + stride_n x_n, the address of the indices

    The offset may depend on loops around the axes.

    A guest moves along the dimension of another axis, if the stride of a non-contiguous
    axis divides its own: for taps w at a distance a, that is x + a w.
    """
    address = _address(operand)
    steps = coefficients(address)
    offset = replace_values(address, {axis.iv: ZERO for axis in axes})
    moving = [axis for axis in axes if axis.iv in steps]
    order = sorted(moving, key=lambda axis: -steps[axis.iv])
    dimensions = [_along(found, steps) for found in _shared(order, guests, steps)]
    places, extents, strides = zip(*dimensions, strict=True)
    view = _strided(b, operand.memref, offset, extents, strides)
    return Operand(view, places, location=operand.location)


def _address(operand: Operand) -> Index:
    """The position of an operand's element in its memory."""
    ty = operand.memref.type
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    assert form is not None, "it has strides"
    address = ZERO
    for index, stride in zip(operand.indices, form.strides, strict=True):
        address += index * (stride or 0)
    return address


def _shared(
    axes: Sequence[Axis], guests: Sequence[Axis], steps: Mapping[Value, int]
) -> list[list[Axis]]:
    """The axes of each dimension; the first of them has its stride."""
    found = {axis: [axis] for axis in axes if axis not in guests}
    hosts = list(found)
    for axis in (axis for axis in axes if axis in guests):
        step = steps[axis.iv]
        strides = ((host, steps[host.iv]) for host in hosts)
        fits = (h for h, stride in strides if 1 < stride <= step and step % stride == 0)
        found.setdefault(next(fits, axis), []).append(axis)
    return sorted(found.values(), key=lambda own: -steps[own[0].iv])


def _along(axes: Sequence[Axis], steps: Mapping[Value, int]) -> tuple[Index, int, int]:
    """The index, the extent and the stride of a dimension."""
    stride = steps[axes[0].iv]
    index, last = ZERO, 0
    for axis in axes:
        step = steps[axis.iv] // stride
        index, last = index + Index.of(axis.iv) * step, last + (axis.extent - 1) * step
    return index, last + 1, stride


def _strided(
    b: Builder,
    memref: Value,
    offset: Index,
    extents: tuple[int, ...],
    strides: tuple[int, ...],
) -> Value:
    """``memref.reinterpret_cast`` to constant extents and strides."""
    ty = memref.type
    assert isinstance(ty, MemRefType)
    known = offset.constant
    dynamic = () if known is not None else (b.index(offset, "offset"),)
    layout = StridedLayoutAttr(strides, known)
    (view,) = b.add(
        "memref.reinterpret_cast",
        (memref, *dynamic),
        [MemRefType(extents, ty.element, layout, ty.memory_space)],
        {
            "static_offsets": DenseArrayAttr(
                I64, (DYNAMIC_MARK if known is None else known,)
            ),
            "static_sizes": DenseArrayAttr(I64, extents),
            "static_strides": DenseArrayAttr(I64, strides),
            "operandSegmentSizes": segment_counts(1, len(dynamic), 0, 0),
        },
        hint=memref.name,
    )
    return view


WIDEST_STEP = 4
"""Lane stride in elements beyond which whole vectors are mostly unused."""
WIDEST_WINDOW = 16
"""Most taps in a row for each of which lines are copied."""


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
        return self.operand.dimensions_of(self.slow)[0]

    @property
    def last(self) -> int:
        return len(self.operand.indices) - 1

    @property
    def shape(self) -> Sequence[int]:
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
        """Whether blocks of steps read different parts of the image."""
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
        """The largest line offset of taps of a phase; -1: none.

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
        """The pixels x for which a tap w is inside the image.

        0 <= t x + e w + offset < extent
        """
        start, width = self._start(tap), self.fast.extent
        first = min(max(-(start // self.step), 0), width)
        end = (self.shape[self.last] - 1 - start) // self.step + 1
        return range(first, min(max(end, first), width))

    def whole_vectors(self, tap: int, pixels: range, lanes: int) -> range:
        """The pixels whose whole vectors are inside the image.

        t (x + lanes) + e w + offset <= extent
        """
        room = (self.shape[self.last] - self._start(tap)) // self.step - pixels.start
        count = min(len(pixels), max(room, 0)) // lanes
        return range(pixels.start, pixels.start + count * lanes)

    def _start(self, tap: int) -> int:
        """The element under tap w at the first pixel: e w + offset."""
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
