"""A factor in boxes: whether tensor copies can bring it, and how they do.

A box has lines of 64 elements of 16 bits, the span of the swizzle.  Lines are positions
(rows or columns of the result) where the terms lie side by side in memory, else terms.
What lies outside of the array is read as zero, so ragged extents need no guards: zeros
of terms add nothing, and what positions outside give is never stored.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from gpucodegen.dialects.memref.layouts import strided_form
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    INDEX,
    DialectType,
    MemRefType,
    UnrankedMemRefType,
    element_bytes,
    element_type,
)
from gpucodegen.passes.contraction.gpu.axes import Positions
from gpucodegen.passes.contraction.gpu.staging import contiguity
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.passes.gpu.facts.vector_width import Definitions
from gpucodegen.tiling.machine.gpu.limits import WIDEST
from gpucodegen.tiling.machine.gpu.products.candidates import SPAN

ELEMENT = 2
"""Bytes of an element."""
LINE = SPAN // ELEMENT
"""Elements of a line of a box."""
MOST_RANK, MOST_LINES = 5, 256
"""Dimensions of an array, and lines of a box, that a tensor map has at most."""


@dataclass(frozen=True, slots=True)
class Boxes:
    """A factor over one axis of positions and one of terms, a dimension each.

    ``size``: positions of the block's tile.  ``by_position``: lines are positions.
    """

    operand: Operand
    position: Axis
    term: Axis
    size: int
    by_position: bool

    @staticmethod
    def of(
        operand: Operand,
        axes: Sequence[Axis],
        reduction: Sequence[Axis],
        definitions: Definitions,
        size: int = LINE,
    ) -> Boxes | None:
        """None where tensor copies cannot bring the factor."""
        is_element = operand.is_of_one and not operand.steps
        if not is_element or len(axes) != 1 or len(reduction) != 1:
            return None
        (position,), (term,) = axes, reduction
        by_position, width = contiguity(operand, axes, reduction, definitions)
        if width * ELEMENT < WIDEST or not _is_mappable(operand):
            return None
        dimensions = operand.dimensions_of(position), operand.dimensions_of(term)
        if (
            any(len(found) != 1 for found in dimensions)
            or len(set(map(tuple, dimensions))) < 2
        ):
            return None
        ((d,), (k,)) = dimensions
        alone = operand.coefficient(d, position) == operand.coefficient(k, term) == 1
        if not alone or not _ends(operand, k, term):
            return None
        return Boxes(operand, position, term, size, by_position)

    @property
    def lines(self) -> int:
        """Lines of a box."""
        return self.size if self.by_position else LINE

    @property
    def map_type(self) -> DialectType:
        """The tensor map: what a copy moves, and how it lies in shared memory."""
        element = element_type(self.operand.memref.type)
        return DialectType(
            "nvgpu.tensormap.descriptor<tensor ="
            f" memref<{self.lines}x{LINE}x{element}, 3>, swizzle = swizzle_{SPAN}b,"
            " l2promo = none, oob = zero, interleave = none>"
        )

    def make_map(self, b: Builder) -> Value:
        """``nvgpu.tma.create.descriptor``, on the host."""
        operand = self.operand
        ty = UnrankedMemRefType(element_type(operand.memref.type))
        (array,) = b.add("memref.cast", (operand.memref,), [ty])
        extents = [1] * len(operand.indices)
        (position,), (term,) = map(operand.dimensions_of, (self.position, self.term))
        extents[position] = self.size if self.by_position else LINE
        extents[term] = LINE
        box = [b.constant(extent, INDEX) for extent in extents]
        name = "nvgpu.tma.create.descriptor"
        (made,) = b.add(name, (array, *box), [self.map_type], hint="map")
        return made

    def starts(self, first: Index, term: Index, at: Positions) -> Iterator[list[Index]]:
        """Where the boxes of a tile begin, coordinates of the last dimension first.

        ``first``: position of the tile; ``at``: positions of the batch.
        """
        each = self.size if self.by_position else LINE
        for inner in range(0, self.size, each):
            place = at | {self.position.iv: first + inner, self.term.iv: term}
            yield self.operand.at(place)[::-1]


def _is_mappable(operand: Operand) -> bool:
    """Whether strides are multiples of 16 bytes, the last one 1."""
    ty = operand.memref.type
    form = strided_form(ty) if isinstance(ty, MemRefType) else None
    if form is None or not 1 < len(form.strides) <= MOST_RANK:
        return False
    *others, last = form.strides
    in_words = all(s is not None and s * ELEMENT % WIDEST == 0 for s in others)
    return last == 1 and in_words and element_bytes(element_type(ty)) == ELEMENT


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


def made_by(operations: Sequence[Operation], definitions: Definitions) -> Definitions:
    """Definitions with those of some operations."""
    made = {value: op for op in operations for value in op.results}
    return {**definitions, **made}
