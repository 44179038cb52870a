"""How the lanes of a warp hold matrices for ``mma.sync``.

PTX ISA, "Matrix multiply-accumulate operation using mma": with g = lane // 4,
t = lane % 4 and e elements in a register of 32 bits (f64: in one of 64),

- A: register (i, j) holds row ``8 i + g`` and columns ``4 e j + e t`` on
- B: register (i, j) holds rows ``4 e i + e t`` on of column ``8 j + g``
- C: element (i, j, n) is at row ``8 i + g`` and column ``8 j + 2 t + n``, n = 0, 1

A matrix of any extents is a grid of such registers, row by row, of which products take
those that they need.  Narrow elements are bits, packed; others are numbers.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.framework.lowering import I32, Lowering
from gpucodegen.intrinsics.framework.vector_type import Tile
from gpucodegen.intrinsics.scalars.narrow import bits_type, narrow, widen
from gpucodegen.ir.number_formats import NARROW

Form = tuple[int, int, str, str]
"""Rows, columns, element type and role ("AOp", "BOp", "COp") of a matrix."""
BITS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64, "i32": 32, "si8": 8, "ui8": 8}
"""Bits of the elements that matrices may have."""
_REGISTERS = {"f32": types.float32, "f64": types.float64}


class Place(NamedTuple):
    """Row and column of an element in lane 0."""

    row: int
    column: int


@dataclass(frozen=True, slots=True)
class Fragment:
    """What a lane holds of a matrix.

    >>> Fragment(16, 16, "f16", "AOp").count, Fragment(16, 8, "f32", "COp").count
    (4, 4)
    """

    rows: int
    columns: int
    element: str
    role: str

    @property
    def per(self) -> int:
        """Elements in a register."""
        return max(1, 32 // BITS[self.element])

    @property
    def grid(self) -> tuple[int, int]:
        """Rows and columns of the grid of registers; of C, of tiles of 8 by 8."""
        along = 4 * self.per
        extents = {"AOp": (8, along), "BOp": (along, 8), "COp": (8, 8)}[self.role]
        return self.rows // extents[0], self.columns // extents[1]

    @property
    def each(self) -> int:
        """Registers in a place of the grid."""
        return 2 // min(2, self.per) if self.role == "COp" else 1

    @property
    def count(self) -> int:
        """Registers."""
        rows, columns = self.grid
        return rows * columns * self.each

    @property
    def tile(self) -> Tile:
        """The registers as one value."""
        return Tile((self.count,), _REGISTERS.get(self.element, types.int32))

    @property
    def steps(self) -> tuple[Place, Place]:
        """How far g and t move an element."""
        return {
            "AOp": (Place(1, 0), Place(0, self.per)),
            "BOp": (Place(0, 1), Place(self.per, 0)),
            "COp": (Place(1, 0), Place(0, 2)),
        }[self.role]

    def places(self) -> Iterator[list[Place]]:
        """The elements of each register, in lane 0."""
        rows, columns = self.grid
        width = min(self.per, 2) if self.role == "COp" else self.per
        for i in range(rows):
            for j in range(columns):
                for n in range(self.each):
                    yield [self._place(i, j, n * width + e) for e in range(width)]

    def _place(self, i: int, j: int, e: int) -> Place:
        along = 4 * self.per
        return {
            "AOp": Place(8 * i, along * j + e),
            "BOp": Place(along * i + e, 8 * j),
            "COp": Place(8 * i, 8 * j + e),
        }[self.role]

    def register(self, i: int, j: int, n: int = 0) -> int:
        """The number of a register of the grid."""
        return (i * self.grid[1] + j) * self.each + n

    def unpacked(self, low: Lowering, register: Any) -> list[Any]:
        """The elements of a register as numbers that one computes with."""
        name, builder = self.element, low.builder
        if BITS[name] > 16:
            return [register]
        width = BITS[name]
        made: list[Any] = []
        for e in range(self.per):
            moved = builder.lshr(register, ir.Constant(I32, e * width))
            bits = builder.trunc(moved, ir.IntType(width))
            made.append(widen(low, bits, name) if name in NARROW else bits)
        return made

    def packed(self, low: Lowering, numbers: Sequence[Any]) -> Any:
        """A register of numbers, each rounded to the element type."""
        name = self.element
        if BITS[name] > 16:
            return numbers[0]
        given = [narrow(low, n, name) if name in NARROW else n for n in numbers]
        return joined(low, given)

    @property
    def in_memory(self) -> ir.Type:
        """The LLVM type of an element in memory."""
        if self.element in NARROW:
            return bits_type(self.element)
        width = BITS[self.element]
        floats = {"f32": ir.FloatType(), "f64": ir.DoubleType()}
        return floats.get(self.element, ir.IntType(width))


def joined(low: Lowering, parts: Sequence[Any]) -> Any:
    """Integers side by side in one of 32 bits, the first lowest."""
    builder, word = low.builder, ir.Constant(I32, 0)
    for n, part in enumerate(parts):
        wide = builder.zext(part, I32)
        moved = builder.shl(wide, ir.Constant(I32, n * part.type.width))
        word = builder.or_(word, moved)
    return word
