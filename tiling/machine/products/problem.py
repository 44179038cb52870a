"""What the plan of a contraction on a CPU is made of: host, problem, decisions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from math import gcd, lcm, prod

from gpucodegen.tiling.machine.products.register_tile import VectorUnit

SKINNY = 192
"""Rows of a result that is not cut into blocks of rows."""
FIRST_CACHE = 1 << 15
"""Bytes of the first cache, at least."""
WAY = 1 << 12
"""Bytes after which the sets of the first cache repeat."""
WAYS = 8
"""Lines that a set of the first cache holds, at least."""
LINE = 64
"""Bytes of a cache line."""
SHORT_ROW = 1024
"""Bytes: longer rows of the right factor are streamed."""
NEAR = 8
"""Second caches that a factor may fill which is taken to lie in the shared one."""
PARALLEL_WORK = 2_000_000
"""Multiply-adds of 32 bits below which starting threads costs more than they save."""
FETCHED = 5
"""Multiply-adds that take as long as fetching an element from the second cache."""

FEWEST_TURNS = 32
"""Terms of a sum that takes turns between registers, which are added at last."""


def shared_work(extents: tuple[int, int, int], outer: int, element_bits: int) -> int:
    """What threads share, in multiply-adds of 32 bits, or in as long fetches.

    ``extents``: rows, columns and steps of a product, of which there are ``outer``.

    >>> shared_work((100, 100, 100), 1, 32), shared_work((100, 1, 100), 1, 64)
    (1000000, 102000)
    """
    rows, columns, steps = extents
    elements = rows * steps + steps * columns + rows * columns
    each = max(rows * columns * steps, FETCHED * elements)
    return outer * each * element_bits // 32


@dataclass(frozen=True, slots=True)
class CpuModel:
    """The host as far as plans depend on it."""

    threads: int = 2
    unit: VectorUnit = field(default_factory=VectorUnit)
    cache: int = 1 << 20
    """Bytes of the second-level cache of a core."""
    first_cache: int = FIRST_CACHE
    """Bytes of the first one, of data."""

    @property
    def ways(self) -> int:
        """Lines that a set of the first cache holds: offsets in a page choose the set.

        >>> CpuModel(first_cache=48 << 10).ways
        12
        """
        return self.first_cache // WAY

    def threads_for(self, work: int) -> int:
        """Threads that pay for so many multiply-adds of 32 bits."""
        return self.threads if work >= PARALLEL_WORK else 1


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
    def work(self) -> int:
        """What threads share, in multiply-adds of 32 bits."""
        extents = self.rows, self.columns, prod(self.reduction)
        return shared_work(extents, self.outer, self.element_bits)

    @property
    def result_bytes(self) -> int:
        """Size of the result."""
        return self.rows * self.columns * self.outer * self.element_bits // 8

    @property
    def skinny(self) -> bool:
        """Whether one thread takes all rows, and threads share the columns."""
        return self.rows <= SKINNY and self.outer == 1

    def strides_clash(self, rows: int) -> bool:
        """Whether so many rows of the left factor crowd sets of the first cache.

        rows / (different sets that they fall into) > ways; the column of a register
        tile then evicts itself.

        >>> problem = Problem(4096, 512, (1024,), 1, 32, True, False, 1024)
        >>> problem.strides_clash(6), problem.strides_clash(16)
        (False, True)
        """
        stride = (self.left_stride or 1) * self.element_bits // 8
        return rows * gcd(stride, WAY) > WAYS * WAY

    def summing(self, unit: VectorUnit) -> VectorUnit:
        """The unit as its sums see it: those that take turns do not wait.

        >>> free = Problem(1, 3, (1000,), 1, 64, True, False, reassociable=True)
        >>> free.summing(VectorUnit()).latency, VectorUnit().latency
        (1, 4)
        """
        return replace(unit, latency=1) if self.takes_turns(unit) else unit

    def takes_turns(self, unit: VectorUnit) -> bool:
        """Whether steps may take turns between registers, and are enough for that.

        A result that leaves registers free has few full tiles, if any.
        """
        few = self.rows * self.columns * self.element_bits < unit.registers * unit.bits
        return few and self.reassociable and prod(self.reduction) >= FEWEST_TURNS

    @property
    def right_is_wide(self) -> bool:
        """Whether the rows of the right factor are long enough to be streamed."""
        return self.columns * self.element_bits // 8 > SHORT_ROW

    def right_is_near(self, model: CpuModel) -> bool:
        """Whether the right factor is small enough to lie in the caches.

        >>> vector = Problem(1, 1024, (1024,), 1, 32, True, False)
        >>> vector.right_is_near(CpuModel())
        True
        """
        elements = self.columns * prod(self.reduction)
        return elements * self.element_bits // 8 <= NEAR * model.cache

    def granule(self, rows: int, lanes: int) -> int:
        """What blocks of rows are multiples of: register tiles of so many rows.

        A transposed left factor is copied by squares of ``lanes``, none of which may
        reach beyond its block.
        """
        return lcm(rows, lanes) if self.left_is_transposed else rows

    @property
    def left_is_one_piece(self) -> bool:
        """Whether its rows lie behind each other, more than the first cache holds."""
        size = self.rows * self.outer * (self.left_stride or 0) * self.element_bits // 8
        return self.reduction == (self.left_stride,) and size > FIRST_CACHE

    def readers(self, rows: int) -> int:
        """Row tiles that read each panel of the right factor."""
        tiles = -(-self.rows // rows)
        return tiles if self.panel_per_outer else tiles * self.outer


def packed_stride(chunk: int, size: int) -> int:
    """Row stride of a copy of the left block: an odd number of cache lines."""
    lines = -(-chunk * size // LINE)
    return (lines | 1) * LINE // size


class Packing(Enum):
    """Where the panels of the right factor are copied."""

    NONE = "read in place"
    SHARED = "all of them, before"
    PRIVATE = "each just before its use"
    PASSING = "each by the first row tile that reads it"
    STRIPE = "those of a stripe, before the rows that meet all of them in turn"


@dataclass(frozen=True, slots=True)
class CpuPlan:
    """Decisions for one contraction.

    ``k_position``: reduction axes before it are looped outside the register tile; the
    axis there is cut into ``k_chunk``; later ones stay whole inside.
    ``left_stride``: elements between the rows of the packed left block; 0: in place.
    ``left_rows``: rows of a stripe that are copied at once.
    ``outer_first``: the outer axes are sequential loops around the parallel ones.
    ``stripes``: parts of the columns that different threads take.
    ``turns``: blocks of rows that each task takes, as far apart as there are tasks.
    ``fetches``: the next tile of the result is fetched while one is computed.
    ``fetches_left``: so are its rows of the left factor, which lie behind each other.
    ``outer_inside``: the outer axes are sequential loops inside those over panels.
    ``outer_parts``: parts of the longest of these that different threads take.
    ``parts``: of a reduction block, before which that part of what comes next is
    fetched, ``left_lines`` cache lines of each of its rows by every panel; 0: all of it
    before the block.
    ``ahead``: steps by which lanes of a stripe, and those copied in passing, are
    fetched before their use, and into the second cache those that are read once, in
    place; 0 leaves it to the processor.
    ``turns_on``: the unit on which steps of small tiles take turns between registers.
    ``fetches_beside``: so are those of the next panel, which one row reads in place.
    """

    rows: int
    columns: int
    row_block: int
    k_position: int
    k_chunk: int
    packing: Packing
    left_stride: int
    lanes: int
    outer_first: bool
    stripes: int
    parallel: bool
    turns: int = 1
    fetches: bool = False
    outer_inside: bool = False
    outer_parts: int = 1
    fetches_left: bool = False
    ahead: int = 0
    fetches_beside: bool = False
    parts: int = 0
    left_lines: int = 0
    left_rows: int = 0
    turns_on: VectorUnit | None = None

    def turns_of(self, shape: Sequence[int]) -> int:
        """Registers for each sum of a tile of that shape: a power of two."""
        if self.turns_on is None:
            return 1
        *rows, columns = shape
        return self.turns_on.turns(
            prod(rows), columns * self.turns_on.bits // self.lanes
        )


@dataclass(frozen=True, slots=True)
class CpuTiles:
    """Tile sizes asked for; zero leaves the choice to the model."""

    rows: int = 0
    columns: int = 0
    row_block: int = 0
    k_block: int = 0
