"""Plan of a contraction on a CPU: register tile, blocks, packing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from math import prod

from gpucodegen.tiling.register_tile import (
    VectorUnit,
    choose_register_tile,
    split_evenly,
)

K_BLOCK_LIMIT = 512
"""Longest reduction block: a panel of 32 columns of it streams from the L2 cache."""
ROW_BLOCK_LIMIT = 96
"""Rows of a block: with a reduction block of 512 they fill about 200 KiB of L2."""
PARALLEL_WORK = 2_000_000
"""Multiply-adds below which starting threads costs more than they save."""


@dataclass(frozen=True, slots=True)
class CpuModel:
    """The host as far as plans depend on it."""

    threads: int = 2
    unit: VectorUnit = field(default_factory=VectorUnit)


@dataclass(frozen=True, slots=True)
class Problem:
    """Extents of a contraction: one row and one column axis, the rest flattened."""

    rows: int
    columns: int
    reduction: tuple[int, ...]
    outer: int
    element_bits: int
    right_is_contiguous: bool
    panel_per_outer: bool


@dataclass(frozen=True, slots=True)
class CpuPlan:
    """Decisions for one contraction.

    ``k_position``: reduction axes before it are looped outside the register tile; the
    axis there is cut into ``k_chunk``; later ones stay whole inside.
    """

    rows: int
    columns: int
    row_block: int
    k_position: int
    k_chunk: int
    pack: bool
    parallel: bool


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

    >>> problem = Problem(1024, 1024, (1024,), 1, 32, True, False)
    >>> plan = plan_contraction(problem, CpuModel(2, VectorUnit(512, 32)))
    >>> plan.columns, plan.k_chunk, plan.pack
    (48, 512, True)
    """
    tiles = tiles or CpuTiles()
    best = choose_register_tile(
        problem.rows, problem.columns, problem.element_bits, model.unit
    )
    rows = min(tiles.rows or best.rows, problem.rows)
    columns = tiles.columns or best.columns
    position, chunk = split_reduction(problem.reduction, tiles.k_block or K_BLOCK_LIMIT)
    work = problem.rows * problem.columns * prod(problem.reduction) * problem.outer
    row_tiles = -(-problem.rows // rows) * (
        1 if problem.panel_per_outer else problem.outer
    )
    return CpuPlan(
        rows,
        columns,
        tiles.row_block or _row_block(problem, rows, model.threads),
        position,
        chunk,
        pack=not problem.right_is_contiguous or row_tiles >= PACKING_PAYS,
        parallel=model.threads > 1 and work >= PARALLEL_WORK,
    )


PACKING_PAYS = 4
"""Row tiles that must read a panel before copying it is cheaper than not."""


def split_reduction(extents: Sequence[int], limit: int) -> tuple[int, int]:
    """Position and chunk of the reduction axis to cut so that a block has ``limit``.

    >>> split_reduction((3, 3, 64), 512), split_reduction((3, 3, 256), 512)
    ((0, 2), (1, 2))
    """
    inside = 1
    for position in range(len(extents) - 1, -1, -1):
        if inside * extents[position] > limit or position == 0:
            room = max(1, limit // inside)
            return position, split_evenly(extents[position], room)
        inside *= extents[position]
    return 0, extents[0]


def _row_block(problem: Problem, rows: int, threads: int) -> int:
    """Rows per parallel task: whole when the outer axes alone feed the threads."""
    if problem.outer >= 2 * threads or problem.panel_per_outer:
        return -(-problem.rows // rows) * rows
    per_thread = -(-problem.rows // threads)
    blocks = max(1, -(-per_thread // ROW_BLOCK_LIMIT)) * threads
    return split_evenly(problem.rows, -(-problem.rows // blocks), rows)
