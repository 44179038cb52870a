"""A factor in boxes: whether tensor copies can bring it, and how they do.

A box has lines of 64 elements of 16 bits, the span of the swizzle.  Lines are positions
(rows or columns of the result) where the terms lie side by side in memory, else terms.
Positions may be a rectangle, such as pixels of an image: other axes, such as the taps
of a window, say where the box begins.
What lies outside of the array is read as zero, so ragged extents need no guards: zeros
of terms add nothing, and what positions outside give is never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    DialectType,
    MemRefType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.gpu.axes import Positions, unflatten
from gpucodegen.passes.contraction.gpu.staging import contiguity
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.windows import unrolled
from gpucodegen.passes.contraction.warpgroups.tensor_maps import (
    MOST_RANK,
    is_mappable,
    make_map,
    map_type,
)
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.gpu.facts.vector_width import Definitions
from gpucodegen.tiling.machine.gpu.devices import WIDEST
from gpucodegen.tiling.machine.gpu.product_tiles import SPAN

ELEMENT = 2
"""Bytes of an element."""
LINE = SPAN // ELEMENT
"""Elements of a line of a box."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """A factor over axes of positions and of terms, a dimension for each that it tiles.

    ``axes``: what counts the positions of a tile, ``size`` of them: all of several
    axes, in the order of their dimensions, or some of one.  ``term``: the axis of the
    terms of a block.  ``by_position``: lines are positions.
    """

    operand: Operand
    axes: tuple[Axis, ...]
    term: Axis
    size: int
    by_position: bool

    @staticmethod
    def of(
        operand: Operand,
        axes: tuple[Axis, ...],
        reduction: Sequence[Axis],
        definitions: Definitions,
        size: int = LINE,
    ) -> Boxes | None:
        """None where tensor copies cannot bring the factor.

        Blocks of terms are of the last axis of the ``reduction``.
        """
        is_element = operand.is_of_one and not operand.steps
        is_narrow = element_bytes(element_type(operand.memref.type)) == ELEMENT
        if not (is_element and is_narrow and is_mappable(operand.memref.type)):
            return None
        by_position, width = contiguity(operand, axes, reduction, definitions)
        term, is_line = reduction[-1], len(axes) == 1
        if width * ELEMENT < WIDEST or not (by_position or is_line):
            return None
        dimensions = _alone(operand, (*axes, term))
        if dimensions is None or not _ends(operand, dimensions[-1], term):
            return None
        return Boxes(operand, axes, term, size, by_position)

    @property
    def lines(self) -> int:
        """Lines of a box."""
        return self.size if self.by_position else LINE

    @property
    def map_type(self) -> DialectType:
        """The tensor map: what a copy moves, and how it lies in shared memory."""
        element = element_type(self.operand.memref.type)
        return map_type((self.lines, LINE), element)

    def make_map(self, b: Builder) -> Value:
        """The tensor map, made on the host."""
        extents = [1] * len(self.operand.indices)
        for axis, extent in {**self._positions, self.term: LINE}.items():
            (dimension,) = self.operand.dimensions_of(axis)
            extents[dimension] = extent
        return make_map(b, self.operand.memref, extents, self.map_type)

    @property
    def _positions(self) -> dict[Axis, int]:
        """Positions of a box along each axis."""
        if len(self.axes) == 1:
            return {self.axes[0]: self._each}
        return {axis: axis.extent for axis in self.axes}

    @property
    def _each(self) -> int:
        """Positions of a box."""
        return self.size if self.by_position else LINE

    def starts(self, first: Index, at: Positions) -> Iterator[list[Index]]:
        """Where the boxes of a tile begin, coordinates of the last dimension first.

        ``first``: position of the tile; ``at``: where the batch and the terms stand.
        """
        for inner in range(0, self.size, self._each):
            place = at | unflatten(first + inner, self.axes)
            yield self.operand.at(place)[::-1]


def in_few_dimensions(
    b: Builder, operand: Operand, axes: Sequence[Axis], others: Sequence[Axis]
) -> Operand:
    """The factor through a view that has a dimension for each of the ``axes``.

    The ``others`` move along these where they can: maps have few dimensions.
    """
    ty = operand.memref.type
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    if form is None or form.offset != 0 or None in form.strides or operand.steps:
        return operand
    fits = len(operand.indices) <= MOST_RANK and _alone(operand, axes) is not None
    if fits or any(axis.count is not None for axis in (*axes, *others)):
        return operand
    return unrolled(b, operand, (*axes, *others), others)


def _alone(operand: Operand, axes: Sequence[Axis]) -> list[int] | None:
    """The dimensions of axes, if each moves one of its own, element by element."""
    found = [operand.dimensions_of(axis) for axis in axes]
    dimensions = [each[0] for each in found if len(each) == 1]
    if len(set(dimensions)) < len(axes):
        return None
    pairs = zip(dimensions, axes, strict=True)
    steps = {operand.coefficient(dimension, axis) for dimension, axis in pairs}
    return dimensions if steps == {1} else None


def _ends(operand: Operand, dimension: int, term: Axis) -> bool:
    """Whether terms end where lines do, or where the array does.

    Only then are terms that do not exist zeros.
    """
    ty, index = operand.memref.type, operand.indices[dimension]
    assert isinstance(ty, MemRefType)
    whole = index.values == (term.iv,) and (index - term.iv).constant == 0
    size = term.size.constant
    if size is not None and size % LINE == 0:
        return True
    return whole and size is not None and ty.shape[dimension] == size
