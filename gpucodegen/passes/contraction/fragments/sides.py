"""Factors in shared memory as the lanes of a warp read them to registers.

A lane holds parts of 16 rows or columns of a factor and of 32 bytes of their terms.
``ldmatrix`` reads four tiles of 8 rows of 16 bytes, and transposes those of a factor
whose terms do not lie side by side.  Elements of 64 bits are no part of such tiles, nor
are those that do not lie in such rows: a lane loads its own, wherever they lie.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

from gpucodegen.ir.attributes import Attribute, IntegerAttr
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import I1, I32, Type, VectorType, element_bytes
from gpucodegen.passes.contraction.gpu.held import Held
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.gpu.shared_copies import (
    DOUBLE,
    EITHER_WAY,
    LINE,
    OCTET,
    ROW,
)

REGISTER = 4
"""Bytes of a register."""


@dataclass(frozen=True, slots=True)
class Side:
    """One factor in shared memory: the position and the term that a lane brings.

    ``left``: tiles of the left factor are numbered down its rows first, those of the
    right one along its terms.
    """

    held: Held
    kind: Type
    position: Index
    term: Index
    left: bool

    @staticmethod
    def of(
        b: Builder, held: Held, kind: Type, first: Index, lane: Index, *, left: bool
    ) -> Side:
        """The factor of the rows, or of the columns, from a warp's ``first`` one on."""
        size, inner = element_bytes(kind) or 1, lane % OCTET
        numbers = lane // OCTET % 2, lane // (2 * OCTET)
        down, along = numbers if left else numbers[::-1]
        if not _in_rows(held, kind):
            at = lane // LINE, lane % LINE * _each(kind)
        elif held.by_position:
            at = inner + down * OCTET, along * (ROW // size)
        else:
            at = down * OCTET, inner + along * OCTET
        position, term = (Index.of(b.index(n, "at")) for n in (first + at[0], at[1]))
        return Side(held, kind, position, term, left)

    def fragment(self, registers: int) -> VectorType:
        """What a lane holds in so many registers of 32 bits."""
        size, each = element_bytes(self.kind) or 1, _each(self.kind)
        return VectorType((registers * REGISTER // (each * size), each), self.kind)

    def loaded(
        self, b: Builder, tile: Value, stage: Index, position: int, term: Index
    ) -> Value:
        """The fragment of 16 positions and 32 bytes of terms of a stage."""
        ty, flags = self.fragment(4), dict[str, Attribute]()
        where = self.term + term, self.position + position
        if _in_rows(self.held, self.kind):
            name = "nvgpu.ldmatrix"
            flags["numTiles"] = IntegerAttr(4, I32)
            flags["transpose"] = IntegerAttr(int(not self.held.by_position), I1)
            operands = [tile, *map(b.index, self.held.place(stage, *where))]
        else:
            name = "vector.from_elements"
            operands = [
                self.held.element(b, tile, stage, where[0] + k, where[1] + n)
                for n, k in self._own
            ]
        hint = "a" if self.left else "b"
        (value,) = b.add(name, operands, [ty], flags, hint=hint)
        return value

    @property
    def _own(self) -> list[tuple[int, int]]:
        """Positions and terms of a lane's elements, from its first one."""
        each, halves = _each(self.kind), (0, OCTET)
        if element_bytes(self.kind) == DOUBLE:
            return [(n, 0) for n in halves]
        ends = 0, LINE * each
        tiles = [(n, k) for k, n in product(ends, halves)]
        if not self.left:
            tiles = [(n, k) for n, k in product(halves, ends)]
        return [(n, k + one) for n, k in tiles for one in range(each)]


def _each(kind: Type) -> int:
    """Elements of a register, or of two for those of 64 bits."""
    return max(1, REGISTER // (element_bytes(kind) or 1))


def _in_rows(held: Held, kind: Type) -> bool:
    """Whether ``ldmatrix`` reads them: it transposes elements of 16 bits only."""
    size, lies = element_bytes(kind) or 1, held.by_position
    return size != DOUBLE and (lies is True or (lies is False and size in EITHER_WAY))
