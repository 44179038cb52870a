"""Depthwise convolution kernels: a window slides over each channel separately.

    parallel for outer axes of the result:
      for tiles of pixels, vectors of lanes:
        sums[pixel] = result[pixel], or the value of a fused fill
        for all taps, unrolled:
          sums[pixel] += image[pixel, tap] * filter[tap]     for all pixels of the tile
        result[pixel] = sums[pixel]

Vector lanes run along the contiguous dimension of the result: channels, each with its
own filter, or pixels of a row, which share one filter.  Image elements that several
pixels of a tile use are loaded once.  The summation order of each element is kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import field
from itertools import product
from math import prod

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, VectorType
from gpucodegen.passes.contraction.epilogue_fusion import finished, started
from gpucodegen.passes.contraction.operands import Positions, grid
from gpucodegen.passes.contraction.recognize import Contraction, Operand, Tile
from gpucodegen.passes.contraction.windows import WIDEST_STEP, slides
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, as_map
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.convolution_kernels import (
    Window,
    pixels_of_a_tile,
    unrolling_pays,
)
from gpucodegen.tiling.machine.processor import Machine


@dataclass(frozen=True, slots=True)
class Sliding:
    """The image and the filter, and the axes of lanes and tiles."""

    contraction: Contraction
    image: Operand
    filter: Operand
    lane: Axis
    pixel: Axis

    @property
    def outer(self) -> tuple[Axis, ...]:
        """The other axes of the result."""
        inside = (*self.contraction.reduction, self.lane, self.pixel)
        return tuple(axis for axis in self.contraction.axes if axis not in inside)

    @property
    def window(self) -> Window:
        taps = prod(axis.extent for axis in self.contraction.reduction)
        bits = element_bits(self.contraction.element)
        return Window(taps, self.pixel.extent, self.lane.extent, bits)


def sliding(contraction: Contraction) -> Sliding | None:
    """The roles of operands and axes, if lanes can run along result and image."""
    if not contraction.is_plain:
        return None
    result = contraction.result
    pair = (contraction.left, contraction.right)
    moved = [axis for axis in contraction.axes if result.mentions(axis)]
    for image, filters in (pair, pair[::-1]):
        if not slides(image, contraction.axes) or not all(
            image.mentions(axis) for axis in moved
        ):
            continue
        lane = _contiguous(result, moved)
        pixels = [a for a in moved if a is not lane and _slides_alone(a, result)]
        if lane is None or not pixels or not _has_lanes(lane, image, filters):
            continue
        shared = [a for a in pixels if not filters.mentions(a)]
        if shared:
            pixel = max(shared, key=result.dimensions_of)
            return Sliding(contraction, image, filters, lane, pixel)
    return None


def _contiguous(operand: Operand, axes: Sequence[Axis]) -> Axis | None:
    """The axis with unit stride in the last dimension of row-major memory."""
    ty, last = operand.memref.type, len(operand.indices) - 1
    if not isinstance(ty, MemRefType) or ty.layout is not None or None in ty.shape:
        return None
    found = [axis for axis in axes if operand.coefficient(last, axis) == 1]
    return found[0] if len(found) == 1 else None


def _slides_alone(axis: Axis, result: Operand) -> bool:
    return len(result.dimensions_of(axis)) == 1 and axis.extent > 1


def _has_lanes(lane: Axis, image: Operand, filters: Operand) -> bool:
    """Whether a vector of each operand is one load, or one scalar."""
    for operand, widest in ((image, WIDEST_STEP), (filters, 1)):
        if not operand.mentions(lane):
            continue
        ty, last = operand.memref.type, len(operand.indices) - 1
        plain = isinstance(ty, MemRefType) and ty.layout is None
        if not plain or operand.dimensions_of(lane) != [last]:
            return False
        if not 0 < operand.coefficient(last, lane) <= widest:
            return False
    return True


def pays(found: Sliding) -> bool:
    """Whether the taps may be unrolled."""
    return unrolling_pays(found.window)


def lower(found: Sliding, machine: Machine) -> list[Operation]:
    b, outer = Builder(found.contraction.location), found.outer
    width = machine.unit.lanes(found.window.element_bits)
    tile = pixels_of_a_tile(found.window, machine.unit)
    work = prod(axis.extent for axis in found.contraction.axes)

    def body(inner: Builder, ivs: Sequence[Value]) -> None:
        at = {a.iv: Index.of(iv) for a, iv in zip(outer, ivs, strict=True)}
        _pieces(
            inner,
            (found.pixel, tile),
            at,
            lambda i, there, pixels: _pieces(
                i,
                (found.lane, width),
                there,
                lambda j, here, lanes: _Tile(found, here, pixels, lanes).build(j),
            ),
        )

    grid(
        b,
        [axis.extent for axis in outer],
        body,
        [axis.name for axis in outer],
        parallel=machine.threads_for(work) > 1,
    )
    return b.operations


Piece = Callable[[Builder, Positions, int], None]
"""Gets positions of the axes, and the number of positions from there on."""


def _pieces(b: Builder, cut: tuple[Axis, int], at: Positions, body: Piece) -> None:
    """An axis in pieces of one size, and the remainder."""
    axis, size = cut
    rest = axis.extent % size
    whole = axis.extent - rest

    def full(inner: Builder, first: Value) -> None:
        body(inner, at | {axis.iv: Index.of(first)}, size)

    if whole:
        b.loop(0, whole, full, step=size, hint=axis.name)
    if rest:
        body(b, at | {axis.iv: Index.of(whole)}, rest)


@dataclass(frozen=True, slots=True)
class _Tile:
    """``pixels`` vectors of ``lanes`` sums from the position ``at``."""

    found: Sliding
    at: Positions
    pixels: int
    lanes: int
    loaded: dict[tuple[Value, AffineMap, tuple[Value, ...]], Value] = field(
        default_factory=dict[tuple[Value, AffineMap, tuple[Value, ...]], Value]
    )

    def build(self, b: Builder) -> None:
        places = [self._pixel(self.at, i) for i in range(self.pixels)]
        contraction = self.found.contraction
        tiles = [Tile(place, {self.found.lane: self.lanes}) for place in places]
        sums = [started(b, contraction, tile) for tile in tiles]
        for tap in self._taps():
            weight = self._load(b, self.found.filter, self.at | tap)
            for i, place in enumerate(places):
                pixel = self._load(b, self.found.image, place | tap)
                sums[i] = b.multiply_add(weight, pixel, sums[i])
        for total, tile in zip(sums, tiles, strict=True):
            finished(b, contraction, tile, total)

    def _pixel(self, at: Positions, number: int) -> Positions:
        iv = self.found.pixel.iv
        return at | {iv: at[iv] + number}

    def _taps(self) -> Iterator[Positions]:
        axes = self.found.contraction.reduction
        for tap in product(*(range(axis.extent) for axis in axes)):
            yield {a.iv: Index.of(i) for a, i in zip(axes, tap, strict=True)}

    def _load(self, b: Builder, operand: Operand, at: Positions) -> Value:
        """A vector of the operand, loaded once for the tile."""
        indices = operand.at(at)
        key = (operand.memref, *as_map(indices))
        if key not in self.loaded:
            self.loaded[key] = self._vector(b, operand, indices)
        return self.loaded[key]

    def _vector(self, b: Builder, operand: Operand, indices: list[Index]) -> Value:
        element, last = self.found.contraction.element, len(indices) - 1
        step = operand.coefficient(last, self.found.lane)
        ty = VectorType((max(1, step) * self.lanes,), element)
        match step:
            case 0:
                scalar = b.load(operand.memref, indices, "a")
                return b.broadcast(scalar, ty, "a")
            case 1:
                return b.vector_load(operand.memref, indices, ty, "b")
            case _:
                wide = b.transfer_read(
                    operand.memref, indices, ty, [last], in_bounds=False, hint="b"
                )
                return b.every(wide, step)
