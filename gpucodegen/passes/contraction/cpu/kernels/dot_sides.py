"""The two sides of a contraction as inner products: which factor is read in place.

One factor, the high one, lies along the reduction; the low one does, too, or is copied.
Of the two orders that whose high side is longer is preferred.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.contraction.cpu.packing.packing import direct_lanes
from gpucodegen.passes.contraction.recognition.operands import Operand
from gpucodegen.passes.contraction.recognition.recognize import Contraction
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.framework.nests import Axis


@dataclass(frozen=True, slots=True)
class Sides:
    """Which factor is high and which is low, and their axes of the result, if any.

    ``tall`` is the axis of the high one, ``flat`` that of the low one.
    """

    contraction: Contraction
    high: Operand
    low: Operand
    tall: Axis | None
    flat: Axis | None

    @property
    def steps(self) -> Axis:
        """The innermost reduction axis: the lanes walk it."""
        return self.contraction.reduction[-1]

    @property
    def outer(self) -> tuple[Axis, ...]:
        """Axes of the result outside the tiles."""
        inside = (*self.contraction.reduction, self.tall, self.flat)
        return tuple(a for a in self.contraction.axes if a not in inside)

    @property
    def upright(self) -> bool:
        """Whether the high side is the longer one."""
        return extent_of(self.tall) >= extent_of(self.flat)

    @property
    def copied(self) -> bool:
        """Whether the low factor is not contiguous along the steps."""
        return not is_contiguous(self.low, self.steps)

    @property
    def low_differs(self) -> bool:
        """Whether each position of the outer axes has a low factor of its own."""
        return any(self.low.mentions(axis) for axis in self.outer)

    @property
    def low_is_transposed(self) -> bool:
        """Whether it is along the results, so that squares of it can be transposed."""
        low, flat = self.low, self.flat
        along = low.dimensions_of(self.steps)
        lies = flat is not None and direct_lanes(low, flat)
        return lies and [low.coefficient(d, self.steps) for d in along] == [1]


def dot_sides(contraction: Contraction) -> Sides | None:
    """The sides of a contraction that may and can run as inner products."""
    if not (contraction.reassociable and contraction.is_plain):
        return None
    rows, columns = (
        max(_unit(contraction.result, axes), key=lambda a: a.extent, default=None)
        for axes in (contraction.rows, contraction.columns)
    )
    left, right = contraction.left, contraction.right
    either = [
        Sides(contraction, left, right, rows, columns),
        Sides(contraction, right, left, columns, rows),
    ]
    either.sort(key=lambda sides: -extent_of(sides.tall))
    return next(filter(_runs, either), None)


def _runs(sides: Sides) -> bool:
    """Whether the high factor lies along the steps, and the low one does or may."""
    lies = is_contiguous(sides.high, sides.steps) and _is_spanned(sides)
    return lies and (len(sides.contraction.reduction) == 1 or not sides.copied)


def extent_of(axis: Axis | None) -> int:
    """Extent of an axis; a missing one has a single position."""
    return 1 if axis is None else axis.extent


def _unit(operand: Operand, axes: Sequence[Axis]) -> list[Axis]:
    return [
        axis
        for axis in axes
        if [operand.coefficient(d, axis) for d in operand.dimensions_of(axis)] == [1]
    ]


def _is_spanned(sides: Sides) -> bool:
    """Whether a tile of the high factor lies along two of its dimensions."""
    high, tall = sides.high, sides.tall
    return tall is None or (
        bool(_unit(high, [tall]))
        and high.dimensions_of(tall) != high.dimensions_of(sides.steps)
    )


def is_contiguous(operand: Operand, axis: Axis) -> bool:
    """Whether one axis walks neighbours, from the start to the end of a dimension."""
    ty, dimensions = operand.memref.type, operand.dimensions_of(axis)
    if not isinstance(ty, MemRefType) or ty.layout is not None or len(dimensions) != 1:
        return False
    (dimension,) = dimensions
    plain = operand.indices[dimension] == axis.at(axis.iv) == Index.of(axis.iv)
    inner = all(extent == 1 for extent in ty.shape[dimension + 1 :])
    return plain and inner and ty.shape[dimension] == axis.extent
