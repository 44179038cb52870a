"""The inputs and results of CPU contraction plans: problem, sizes, kernel kinds.

A kernel is one of these classes.  All but the last three keep a tile of the result in
registers, with the sizes of a `Tiling`.

    InPlace         tiles read A and B where they are
    Im2Row          tasks copy the image lines that they see (im2row), and read those
    OuterPanels     tasks pack panels that meet the rows of all outer axes
    Stripes         tasks pack a stripe of B, past which rows stream
    PrivatePanels   tasks pack each panel just before its use
    SharedPanels    threads pack all panels of a reduction block together, before
    DotProducts     lanes walk the reduction, tiles hold partial sums
    TransposedResult  lanes walk the rows; the transposed product is planned again
    SplitK          threads share the reduction; each part is planned again
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import lcm, prod
from typing import TypeAlias

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import (
    MEMORY,
    Machine,
    VectorUnit,
    product_work,
)


@dataclass(frozen=True, slots=True)
class Tiling:
    """Sizes of a kernel that keeps ``rows x columns`` of the result in registers.

    ``lanes``: elements of a register.  ``row_block``: rows of a task.  ``stripes``:
    parts of the columns that different tasks take.  ``k_position``: reduction axes
    before it are looped outside the register tile; the axis there is cut into
    ``k_chunk``; later ones stay whole inside.  ``left_stride``: elements between the
    rows of a packed copy of A; 0: A is read in place.  ``outer_first``: the outer axes
    are sequential loops around the parallel ones.  ``fetches``: the next tile of the
    result is prefetched while one is computed.  ``split_on``: the unit whose latency
    the sums of small tiles hide by accumulator splitting.
    """

    rows: int
    columns: int
    lanes: int
    row_block: int
    stripes: int
    k_position: int
    k_chunk: int
    left_stride: int
    outer_first: bool
    parallel: bool
    fetches: bool
    split_on: VectorUnit | None = None

    def accumulators(self, shape: Sequence[int]) -> int:
        """Registers for each sum of a tile of that shape: a power of two."""
        if self.split_on is None:
            return 1
        *rows, columns = shape
        bits = columns * self.split_on.bits // self.lanes
        return self.split_on.accumulators(prod(rows), bits)


@dataclass(frozen=True, slots=True)
class InPlace:
    """A and B are read where they are.

    ``ahead``: distance in steps of prefetches into the L2 cache; 0 leaves it to the
    hardware prefetcher.  ``next_panel``: the next panel is prefetched.
    """

    tiling: Tiling
    ahead: int = 0
    next_panel: bool = False


@dataclass(frozen=True, slots=True)
class Im2Row:
    """Tasks copy the image lines that they see (im2row), and read the copies.

    ``packs``: the first row tile of a panel also packs it for later tiles.
    """

    tiling: Tiling
    packs: bool


@dataclass(frozen=True, slots=True)
class OuterPanels:
    """Panels meet the rows of all outer axes, whose loops are inside those of panels.

    ``parts``: of the longest outer axis, which different tasks take.  ``packs``: the
    first row tile of a panel also packs it; otherwise it is packed before its use.
    """

    tiling: Tiling
    parts: int
    packs: bool


@dataclass(frozen=True, slots=True)
class Stripes:
    """Tasks pack a stripe of panels, then stream rows past all of it.

    ``left_rows``: rows that are packed at once, where they are packed.  ``parts``: of a
    reduction block, before each of which a tile prefetches a part of the next block; 0:
    all of it before the block.  ``left_lines``: cache lines of each of its rows that
    every panel prefetches.
    """

    tiling: Tiling
    left_rows: int
    parts: int = 0
    left_lines: int = 0


@dataclass(frozen=True, slots=True)
class PrivatePanels:
    """Tasks pack each panel just before its use."""

    tiling: Tiling


@dataclass(frozen=True, slots=True)
class SharedPanels:
    """All panels of a reduction block are packed before the tasks that share them."""

    tiling: Tiling


Candidate: TypeAlias = (
    InPlace | Im2Row | OuterPanels | Stripes | PrivatePanels | SharedPanels
)
"""A kernel with a tile of the result in registers."""


@dataclass(frozen=True, slots=True)
class DotProducts:
    """``rows x columns`` inner products of ``lanes`` partial sums each, on threads."""

    rows: int
    columns: int
    lanes: int
    threads: int = 1


@dataclass(frozen=True, slots=True)
class TransposedResult:
    """The result is computed transposed, then added by squares of ``lanes``."""

    lanes: int


@dataclass(frozen=True, slots=True)
class SplitK:
    """``parts`` of the reduction run at once, and are summed."""

    parts: int


@dataclass(frozen=True, slots=True)
class TileSizes:
    """Requested sizes; zero leaves the choice to the model."""

    rows: int = 0
    columns: int = 0
    row_block: int = 0
    k_block: int = 0


SKINNY = 192
"""Rows of a result that is not cut into blocks of rows."""
SHORT_ROW = 1024
"""Bytes: longer rows of B are streamed."""
LEAST_SPLIT = 32
"""Least terms of a sum with several accumulators, which are added at the end."""


@dataclass(frozen=True, slots=True)
class Pixels:
    """Columns that are the pixels of image lines of ``width``, seen through a window.

    Each task copies the lines that it sees: ``copies`` of them for ``period`` steps,
    which stay together in a block, and ``below`` more lines than it has lines of
    pixels.
    """

    period: int
    copies: int
    width: int
    below: int

    def copied(self, steps: int, columns: int) -> int:
        """Elements copied for a block of steps and neighbouring columns.

        >>> Pixels(9, 3, 56, 2).copied(288, 784)
        91392
        """
        lines = (columns + self.width - 2) // self.width + 1 + self.below
        return -(-steps // self.period) * self.copies * lines * self.width


@dataclass(frozen=True, slots=True)
class Problem:
    """Extents of a contraction: one row and one column axis, the rest flattened.

    ``left_stride``: elements between the rows of A, each contiguous along the last
    reduction axis; None where they are not. ``pixels``: the columns, if B is an image
    that a window slides over. ``left_is_computed``: the values of A are not in memory.
    ``left_is_transposed``: A is contiguous along its rows, not along the reduction.
    ``uneven``: rows differ in their number of columns. ``lines``: extent of the longest
    outer axis. ``left_shares``: the fraction of different elements among those read of
    A: for a step of all but the last reduction axis, and for all steps.
    ``reassociable``: the terms of a sum may be reordered.
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
        """The work that threads share, in 32-bit multiply-adds."""
        extents = self.rows, self.columns, self.steps
        return product_work(extents, self.outer, self.element_bits)

    @property
    def result_bytes(self) -> int:
        """Size of the result."""
        return self.rows * self.columns * self.outer * self.element_bits // 8

    @property
    def skinny(self) -> bool:
        """Whether one thread takes all rows, so that threads share the columns."""
        return self.rows <= SKINNY and self.outer == 1

    def summing(self, unit: VectorUnit) -> VectorUnit:
        """The unit without the latency that several accumulators hide.

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
        """Whether the rows of B are long enough to be streamed."""
        return self.columns * self.element_bits // 8 > SHORT_ROW

    def right_is_near(self, machine: Machine) -> bool:
        """Whether B is small enough to stay in the caches.

        >>> vector = Problem(1, 1024, (1024,), 1, 32, True, False)
        >>> vector.right_is_near(Machine())
        True
        """
        return not machine.streams(self.columns * self.steps * self.element_bits // 8)

    def granule(self, rows: int, lanes: int) -> int:
        """The divisor of row blocks: the ``rows`` of a register tile, or more.

        A transposed A is copied by squares of ``lanes``, which may not cross its block.
        """
        return lcm(rows, lanes) if self.left_is_transposed else rows

    def readers(self, rows: int) -> int:
        """Row tiles that read each panel of B."""
        tiles = -(-self.rows // rows)
        return tiles if self.panel_per_outer else tiles * self.outer


def packed_stride(chunk: int, size: int) -> int:
    """Row stride of a packed block of A: an odd number of cache lines.

    ``chunk``: elements of a row, of ``size`` bytes.

    >>> packed_stride(512, 4)
    528
    """
    lines = -(-chunk * size // MEMORY.line)
    return (lines | 1) * MEMORY.line // size
