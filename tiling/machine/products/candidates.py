"""The kinds of kernel that a contraction may become on a CPU, a class each.

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
from dataclasses import dataclass
from math import prod
from typing import TypeAlias

from gpucodegen.tiling.machine.vector_unit import VectorUnit


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
