"""Plan of a contraction on a CPU: register tile, blocks, packing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from math import prod

from gpucodegen.tiling.register_tile import (
    VectorUnit,
    choose_register_tile,
    split_evenly,
)

K_BLOCK_LIMIT = 512
"""Longest reduction block: a panel of 32 columns of it streams from the L2 cache."""
STREAMED_STEPS = 16
"""Reduction block of a right factor read in place: as many rows stream at once."""
SHORT_ROW = 1024
"""Bytes: longer rows of the right factor are streamed."""
LEFT_SHARE = 0.65
"""Share of the second cache that a block of left rows may fill."""
PARALLEL_WORK = 2_000_000
"""Multiply-adds below which starting threads costs more than they save."""


@dataclass(frozen=True, slots=True)
class CpuModel:
    """The host as far as plans depend on it."""

    threads: int = 2
    unit: VectorUnit = field(default_factory=VectorUnit)
    cache: int = 1 << 20
    """Bytes of the second-level cache of a core."""

    def threads_for(self, work: int) -> int:
        """Threads that pay for so many multiply-adds."""
        return self.threads if work >= PARALLEL_WORK else 1


@dataclass(frozen=True, slots=True)
class Problem:
    """Extents of a contraction: one row and one column axis, the rest flattened.

    ``left_stride``: elements between the rows of the left factor, each contiguous along
    the last reduction axis; None where they are not.
    ``gathered``: steps that stay together in a block because panels of the right factor
    are gathered from an image; 0 where they are copied as they are.
    ``left_is_computed``: its values are not in memory.  ``left_is_transposed``: its
    rows, not the reduction, are contiguous.
    ``uneven``: rows differ in how many of the columns they have.
    """

    rows: int
    columns: int
    reduction: tuple[int, ...]
    outer: int
    element_bits: int
    right_is_contiguous: bool
    panel_per_outer: bool
    left_stride: int | None = None
    gathered: int = 0
    left_is_computed: bool = False
    left_is_transposed: bool = False
    uneven: bool = False

    @property
    def work(self) -> int:
        """Multiply-adds."""
        return self.rows * self.columns * prod(self.reduction) * self.outer

    @property
    def result_bytes(self) -> int:
        """Size of the result."""
        return self.rows * self.columns * self.outer * self.element_bits // 8

    @property
    def skinny(self) -> bool:
        """Whether one thread takes all rows, and threads share the columns."""
        return self.rows <= SKINNY and self.outer == 1

    @property
    def strides_clash(self) -> bool:
        """Whether rows of the left factor fall into few sets of the first cache.

        The column of a register tile then evicts itself.
        """
        stride = (self.left_stride or 0) * self.element_bits // 8
        return stride % CLASHING == 0 and stride >= 4 * CLASHING

    def readers(self, rows: int) -> int:
        """Row tiles that read each panel of the right factor."""
        tiles = -(-self.rows // rows)
        return tiles if self.panel_per_outer else tiles * self.outer


class Packing(Enum):
    """Where the panels of the right factor are copied."""

    NONE = "read in place"
    SHARED = "all of them, before"
    PRIVATE = "each just before its use"


@dataclass(frozen=True, slots=True)
class CpuPlan:
    """Decisions for one contraction.

    ``k_position``: reduction axes before it are looped outside the register tile; the
    axis there is cut into ``k_chunk``; later ones stay whole inside.
    ``left_stride``: elements between the rows of the packed left block; 0: in place.
    ``outer_first``: the outer axes are sequential loops around the parallel ones.
    ``stripes``: parts of the columns that different threads take.
    ``turns``: blocks of rows that each task takes, as far apart as there are tasks.
    ``fetches``: the next tile of the result is fetched while one is computed.
    ``outer_inside``: the outer axes are sequential loops inside those over panels.
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


@dataclass(frozen=True, slots=True)
class CpuTiles:
    """Tile sizes asked for; zero leaves the choice to the model."""

    rows: int = 0
    columns: int = 0
    row_block: int = 0
    k_block: int = 0


def plan_contraction(
    problem: Problem, model: CpuModel, tiles: CpuTiles | None = None
) -> CpuPlan:
    """Choose all sizes of a contraction.

    >>> problem = Problem(1024, 1024, (1024,), 1, 32, True, False, 1024)
    >>> plan = plan_contraction(problem, CpuModel(2, VectorUnit(512, 32)))
    >>> plan.columns, plan.k_chunk, plan.packing.name, plan.left_stride
    (64, 512, 'SHARED', 528)
    """
    tiles = tiles or CpuTiles()
    best = choose_register_tile(
        problem.rows, problem.columns, problem.element_bits, model.unit
    )
    rows = min(tiles.rows or best.rows, problem.rows)
    columns = tiles.columns or best.columns
    lanes = model.unit.lanes(problem.element_bits)
    in_place = problem.right_is_contiguous and problem.readers(rows) < PACKING_PAYS
    streamed = in_place and problem.columns * problem.element_bits // 8 > SHORT_ROW
    limit = STREAMED_STEPS if streamed else tiles.k_block or K_BLOCK_LIMIT
    reused = not in_place and problem.columns > 2 * columns
    scattered = problem.strides_clash or problem.left_is_transposed
    spread = problem.left_is_computed or (scattered and reused)
    spread = spread and not problem.gathered
    together = problem.gathered or (lanes if spread else 1)
    position, chunk = split_reduction(problem.reduction, limit, together)
    spread = spread and position == len(problem.reduction) - 1
    parallel = model.threads_for(problem.work) > 1
    outer_first = problem.panel_per_outer and problem.rows > SKINNY
    row_block = _row_block(problem, rows, chunk, model)
    one_block = row_block >= problem.rows
    single = one_block and (problem.outer == 1 or problem.panel_per_outer)
    stripes = min(model.threads, problem.columns // columns) if problem.skinny else 1
    if problem.gathered:
        row_block, stripes = _gathered_parts(problem, rows, columns, model.threads)
        single, outer_first = True, False
    steps = chunk * prod(problem.reduction[position + 1 :])
    inside = not (single or in_place) and _outer_inside(problem, columns, steps, model)
    if inside:
        row_block = -(-problem.rows // rows) * rows
        stripes = min(model.threads, problem.columns // columns)
        single, spread = True, False
    packing = Packing.PRIVATE if single else Packing.SHARED
    turns = 1
    if problem.uneven and parallel and not single:
        row_block = split_evenly(problem.rows, row_block // TURNS or 1, rows)
        turns = -(-problem.rows // (row_block * model.threads))
    return CpuPlan(
        rows,
        columns,
        row_block,
        position,
        chunk,
        Packing.NONE if in_place else packing,
        _packed_stride(chunk, problem.element_bits // 8) if spread else 0,
        lanes,
        outer_first,
        max(1, stripes) if parallel else 1,
        parallel,
        turns,
        problem.result_bytes > FETCHED_SHARE * model.cache and chunk < FETCHED_STEPS,
        inside,
    )


PACKING_PAYS = 4
"""Row tiles that must read a panel before copying it is cheaper than not."""
GATHERING_PAYS = 16
"""Rows of a result that must use a gathered pixel: two register tiles."""
TURNS = 4
"""Parts of a block of rows where rows differ: threads take them in turn."""
SKINNY = 192
"""Rows of a result that is not cut into blocks of rows."""
CLASHING = 512
"""Bytes: rows whose stride is a multiple, and four times as long, share cache sets."""
LINE = 64
"""Bytes of a cache line."""
FETCHED_STEPS = 320
"""Shorter reduction blocks wait for a result that is not in the second cache."""
FETCHED_SHARE = 0.5
"""Share of the second cache that results which stay there may fill."""


def _outer_inside(problem: Problem, columns: int, steps: int, model: CpuModel) -> bool:
    """Whether all rows of all outer axes stay in the second cache, panels do not.

    Then each panel serves all of them, before the next one is packed.
    """
    room = model.cache // 2 * 8 // problem.element_bits
    panels, rows = problem.columns * steps, problem.rows * problem.outer * steps
    feeds = problem.columns // columns >= model.threads_for(problem.work)
    once = problem.outer > 1 and not problem.panel_per_outer and not problem.uneven
    return once and feeds and rows <= room < panels


def _packed_stride(chunk: int, size: int) -> int:
    """Row stride of a copy of the left block: an odd number of cache lines."""
    lines = -(-chunk * size // LINE)
    return (lines | 1) * LINE // size


def split_reduction(
    extents: Sequence[int], limit: int, multiple: int = 1
) -> tuple[int, int]:
    """Position and chunk of the reduction axis to cut so that a block has ``limit``.

    >>> split_reduction((3, 3, 64), 512), split_reduction((3, 3, 256), 512)
    ((0, 2), (1, 2))
    >>> split_reduction((777,), 512), split_reduction((777,), 512, 16)
    ((0, 389), (0, 400))
    """
    inside = 1
    for position in range(len(extents) - 1, -1, -1):
        if inside * extents[position] > limit or position == 0:
            room = max(1, limit // inside)
            whole = extents[position] <= room
            rounded = 1 if whole or inside > 1 else multiple
            return position, split_evenly(extents[position], room, rounded)
        inside *= extents[position]
    return 0, extents[0]


def _gathered_parts(
    problem: Problem, rows: int, columns: int, threads: int
) -> tuple[int, int]:
    """Rows of a block and stripes of columns: threads gather what they use.

    Few panels are gathered by every thread, for its part of the rows.
    """
    whole = -(-problem.rows // rows) * rows
    if problem.outer >= threads:
        return whole, 1
    if problem.columns // columns >= 2 * threads:
        return whole, threads
    return split_evenly(problem.rows, -(-problem.rows // threads), rows), 1


def _row_block(problem: Problem, rows: int, chunk: int, model: CpuModel) -> int:
    """Rows per parallel task: whole when outer axes or columns feed the threads."""
    fed = problem.outer >= 2 * model.threads or problem.panel_per_outer
    if (fed and problem.rows <= SKINNY) or problem.skinny:
        return -(-problem.rows // rows) * rows
    per_thread = -(-problem.rows // model.threads)
    limit = int(model.cache * LEFT_SHARE) // (chunk * problem.element_bits // 8)
    blocks = max(1, -(-per_thread // max(rows, limit))) * model.threads
    return split_evenly(problem.rows, -(-problem.rows // blocks), rows)
