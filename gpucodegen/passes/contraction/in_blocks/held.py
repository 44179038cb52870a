"""Factors in shared memory as a program laid them out itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType, VectorType, element_bytes, element_type
from gpucodegen.passes.contraction.recognition.operands import Operand, coefficients
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.framework.nests import Axis
from gpucodegen.tiling.machine.gpu.shared_copies import ROW


@dataclass(frozen=True, slots=True)
class OwnTile:
    """A factor over an axis of ``positions`` and one of ``terms``.

    ``outside``: what else its indices depend on.
    """

    operand: Operand
    positions: Axis
    terms: Axis
    outside: Mapping[Value, Index]

    @property
    def by_position(self) -> bool | None:
        """Which axis lies side by side in rows of 16 bytes; None if neither does.

        The distances of all dimensions but the last one are then multiples of 16 bytes,
        and so is what is added to the axis along the last one.
        """
        ty = self.operand.memref.type
        size = element_bytes(element_type(ty)) or 0
        if not isinstance(ty, MemRefType) or ty.layout is not None or not ty.rank:
            return None
        last = ty.shape[-1]
        if self.operand.steps or not size or last is None or last * size % ROW:
            return None
        along = [axis for axis in (self.positions, self.terms) if self._begins(axis)]
        return along[0] is self.terms if len(along) == 1 else None

    def _begins(self, axis: Axis) -> bool:
        """Whether the last index is the axis, from a multiple of 16 bytes on."""
        *others, index = self.operand.indices
        size = element_bytes(element_type(self.operand.memref.type)) or 1
        rest = compact(index - axis.iv).constant
        is_alone = not any(axis.iv in other.values for other in others)
        is_one = coefficients(index).get(axis.iv) == 1
        return is_one and is_alone and rest is not None and rest * size % ROW == 0

    def place(self, stage: Index, term: Index, position: Index) -> list[Index]:
        """The indices of an element; the program chooses its stage itself."""
        del stage
        return self.operand.at(self._at(term, position))

    def element(
        self, b: Builder, tile: Value, stage: Index, term: Index, position: Index
    ) -> Value:
        """The value at a place, with what the program computes of it."""
        del tile, stage
        return self.operand.value(b, self._at(term, position))

    def line(
        self,
        b: Builder,
        tile: Value,
        at: tuple[Index, Index, Index],
        ty: VectorType,
        hint: str,
    ) -> Value:
        """The values of a term at neighbouring positions; one by one if need be."""
        stage, term, position = at
        if self.by_position is False:
            return b.vector_load(tile, self.place(*at), ty, hint)
        count = ty.shape[0]
        places = [position + n for n in range(count)]
        values = [self.element(b, tile, stage, term, place) for place in places]
        return b.from_elements(values, hint)

    def _at(self, term: Index, position: Index) -> dict[Value, Index]:
        here = {self.positions.iv: position, self.terms.iv: term}
        return {**self.outside, **here}
