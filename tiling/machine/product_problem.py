"""What the plan of a contraction on a CPU depends on, besides the machine.

The kinds of kernel that a contraction may become on a CPU, a class each.

    InPlace         tiles read both factors where they are
    Im2Row          tasks copy the lines of an image that they see, and read those
    OuterPanels     tasks copy panels that meet the rows of all outer axes
    Stripes         tasks copy a stripe of the right factor, past which rows stream
    PrivatePanels   tasks copy each panel just before its use
    SharedPanels    threads copy all panels of a reduction block together, before
    DotProducts     lanes walk the reduction, tiles hold partial sums
    TransposedResult  lanes walk the rows; what this computes is planned again
    SplitK          threads share the reduction; each part is planned again

All but the last three keep a tile of the result in registers; a `Tiling` has its sizes.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import lcm, prod
from typing import TypeAlias

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
    rows of a packed copy of the left factor; 0: it is read in place.  ``outer_first``:
    the outer axes are sequential loops around the parallel ones.  ``fetches``: the next
    tile of the result is fetched while one is computed.  ``split_on``: the unit whose
    latency sums of small tiles hide by accumulator splitting.
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
    """Both factors are read where they are.

    ``ahead``: steps by which lanes are fetched before their use, into the second cache;
    0 leaves it to the processor.  ``next_panel``: those of the next panel are fetched.
    """

    tiling: Tiling
    ahead: int = 0
    next_panel: bool = False


@dataclass(frozen=True, slots=True)
class Im2Row:
    """Tasks copy the lines of pixels that they see (im2row), and read those.

    ``packs``: the first row tile of a panel also packs it, for those after it.
    """

    tiling: Tiling
    packs: bool


@dataclass(frozen=True, slots=True)
class OuterPanels:
    """Panels meet the rows of all outer axes, whose loops are inside those of panels.

    ``parts``: of the longest outer axis, which different tasks take.  ``packs``: the
    first row tile of a panel also packs it; else it is packed before its use.
    """

    tiling: Tiling
    parts: int
    packs: bool


@dataclass(frozen=True, slots=True)
class Stripes:
    """Tasks pack a stripe of panels, then take rows past all of it in turn.

    ``left_rows``: rows that are packed at once, where they are.  ``parts``: of a
    reduction block, before each of which a tile fetches a part of what comes next;
    0: all of it before the block.  ``left_lines``: cache lines of each of its rows
    that every panel fetches.
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
    """``parts`` of the reduction run at once, and are added up."""

    parts: int


@dataclass(frozen=True, slots=True)
class TileSizes:
    """Sizes asked for; zero leaves the choice to the model."""

    rows: int = 0
    columns: int = 0
    row_block: int = 0
    k_block: int = 0


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
