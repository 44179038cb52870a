"""What the plan of a contraction on a CPU depends on, besides the machine."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import lcm, prod

from gpucodegen.tiling.machine.facts import MEMORY
from gpucodegen.tiling.machine.model import Machine, product_work
from gpucodegen.tiling.machine.vector_unit import VectorUnit

SKINNY = 192
"""Rows of a result that is not cut into blocks of rows."""
SHORT_ROW = 1024
"""Bytes: longer rows of the right factor are streamed."""
LEAST_SPLIT = 32
"""Terms of a sum that is worth several accumulators, which are added at last."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """Columns that are the pixels of lines of ``width``, seen through a window.

    Each task copies the lines that it sees: ``copies`` of them for ``period`` steps,
    which stay together in a block, ``below`` more of them than it has lines of pixels.
    """

    period: int
    copies: int
    width: int
    below: int

    def copied(self, steps: int, columns: int) -> int:
        """Elements that are copied for a block of steps and neighbouring columns.

        >>> Pixels(9, 3, 56, 2).copied(288, 784)
        91392
        """
        lines = (columns + self.width - 2) // self.width + 1 + self.below
        return -(-steps // self.period) * self.copies * lines * self.width


@dataclass(frozen=True, slots=True)
class Problem:
    """Extents of a contraction: one row and one column axis, the rest flattened.

    ``left_stride``: elements between the rows of the left factor, each contiguous along
    the last reduction axis; None where they are not.
    ``pixels``: what columns are if the right factor is an image that a window slides
    over.
    ``left_is_computed``: its values are not in memory.  ``left_is_transposed``: its
    rows, not the reduction, are contiguous.
    ``uneven``: rows differ in how many of the columns they have.
    ``lines``: extent of the longest outer axis.
    ``left_shares``: of the elements of the left factor that are read, how many are
    different: for a step of all but the last reduction axis, and for all steps.
    ``reassociable``: the terms of a sum may come in another order.
    """

    rows: int
    columns: int
    reduction: tuple[int, ...]
    outer: int
    element_bits: int
    right_is_contiguous: bool
    panel_per_outer: bool
    left_stride: int | None = None
    pixels: Pixels | None = None
    left_is_computed: bool = False
    left_is_transposed: bool = False
    uneven: bool = False
    lines: int = 1
    left_shares: tuple[float, float] = (1.0, 1.0)
    reassociable: bool = False

    @property
    def steps(self) -> int:
        """Terms of each sum."""
        return prod(self.reduction)

    @property
    def work(self) -> int:
        """What threads share, in multiply-adds of 32 bits."""
        extents = self.rows, self.columns, self.steps
        return product_work(extents, self.outer, self.element_bits)

    @property
    def result_bytes(self) -> int:
        """Size of the result."""
        return self.rows * self.columns * self.outer * self.element_bits // 8

    @property
    def skinny(self) -> bool:
        """Whether one thread takes all rows, and threads share the columns."""
        return self.rows <= SKINNY and self.outer == 1

    def summing(self, unit: VectorUnit) -> VectorUnit:
        """The unit as its sums see it: those of several accumulators do not wait.

        >>> free = Problem(1, 3, (1000,), 1, 64, True, False, reassociable=True)
        >>> free.summing(VectorUnit()).latency, VectorUnit().latency
        (1, 4)
        """
        return replace(unit, latency=1) if self.splits_accumulators(unit) else unit

    def splits_accumulators(self, unit: VectorUnit) -> bool:
        """Whether sums may have several accumulators, and are long enough for that.

        A result that leaves registers free has few full tiles, if any.
        """
        few = self.rows * self.columns * self.element_bits < unit.registers * unit.bits
        return few and self.reassociable and self.steps >= LEAST_SPLIT

    @property
    def right_is_wide(self) -> bool:
        """Whether the rows of the right factor are long enough to be streamed."""
        return self.columns * self.element_bits // 8 > SHORT_ROW

    def right_is_near(self, machine: Machine) -> bool:
        """Whether the right factor is small enough to lie in the caches.

        >>> vector = Problem(1, 1024, (1024,), 1, 32, True, False)
        >>> vector.right_is_near(Machine())
        True
        """
        return not machine.streams(self.columns * self.steps * self.element_bits // 8)

    def granule(self, rows: int, lanes: int) -> int:
        """What blocks of rows are multiples of: register tiles of so many rows.

        A transposed left factor is copied by squares of ``lanes``, none of which may
        reach beyond its block.
        """
        return lcm(rows, lanes) if self.left_is_transposed else rows

    def readers(self, rows: int) -> int:
        """Row tiles that read each panel of the right factor."""
        tiles = -(-self.rows // rows)
        return tiles if self.panel_per_outer else tiles * self.outer


def packed_stride(chunk: int, size: int) -> int:
    """Row stride of a copy of the left block: an odd number of cache lines.

    ``chunk``: elements of a row, of ``size`` bytes.

    >>> packed_stride(512, 4)
    528
    """
    lines = -(-chunk * size // MEMORY.line)
    return (lines | 1) * MEMORY.line // size
