"""Factors in shared memory as the lanes of a warp read them to registers.

A lane holds parts of 16 rows or columns of a factor and of 32 bytes of their terms.
``ldmatrix`` reads four tiles of 8 rows of 16 bytes, and transposes those of a factor
whose terms do not lie side by side.  Elements of 64 bits are no part of such tiles: a
lane reads its own, wherever they lie.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.ir.attributes import Attribute, IntegerAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I1, I32, Type, VectorType, element_bytes
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.gpu.products.copies import (
    DOUBLE,
    LINE,
    OCTET,
    ROW,
    TileCopy,
)

REGISTER = 4
"""Bytes of a register."""


@dataclass(frozen=True, slots=True)
class Side:
    """One factor in shared memory: the position and the term that a lane brings."""

    copy: TileCopy
    kind: Type
    position: Index
    term: Index
    hint: str

    @staticmethod
    def of(
        b: Builder, copy: TileCopy, kind: Type, first: Index, lane: Index, *, left: bool
    ) -> Side:
        """The factor of the rows, or of the columns, from a warp's ``first`` one on.

        Tiles of the left one are numbered down its rows first, those of the right one
        along its terms.
        """
        size, inner = element_bytes(kind) or 1, lane % OCTET
        numbers = lane // OCTET % 2, lane // (2 * OCTET)
        down, along = numbers if left else numbers[::-1]
        if size == DOUBLE:
            at = lane // LINE, lane % LINE
        elif copy.by_position:
            at = inner + down * OCTET, along * (ROW // size)
        else:
            at = down * OCTET, inner + along * OCTET
        position, term = (Index.of(b.index(n, "at")) for n in (first + at[0], at[1]))
        return Side(copy, kind, position, term, "a" if left else "b")

    def fragment(self, registers: int) -> VectorType:
        """What a lane holds in so many registers of 32 bits."""
        size = element_bytes(self.kind) or 1
        each = max(1, REGISTER // size)
        return VectorType((registers * REGISTER // (each * size), each), self.kind)

    def loaded(
        self, b: Builder, tile: Value, stage: Index, position: int, term: Index
    ) -> Value:
        """The fragment of 16 positions and 32 bytes of terms of a stage."""
        ty, flags = self.fragment(4), dict[str, Attribute]()
        if element_bytes(self.kind) == DOUBLE:
            name = "vector.from_elements"
            places = (self._place(position + n, term) for n in (0, OCTET))
            operands = [b.load(tile, [stage, *place]) for place in places]
        else:
            name = "nvgpu.ldmatrix"
            flags["numTiles"] = IntegerAttr(4, I32)
            flags["transpose"] = IntegerAttr(int(not self.copy.by_position), I1)
            at = [stage, *self._place(position, term)]
            operands = [tile, *map(b.index, at)]
        (value,) = b.add(name, operands, [ty], flags, hint=self.hint)
        return value

    def _place(self, position: int, term: Index) -> tuple[Index, Index]:
        """The row, and the place in it, of what the lane brings."""
        return self.copy.cell(self.term + term, self.position + position)
