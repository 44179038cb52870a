"""Plan of a contraction on a CPU: register tile, blocks, packing."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gpucodegen.tiling.cpu_problem import (
    SKINNY,
    CpuModel,
    CpuPlan,
    CpuTiles,
    Packing,
    Problem,
)
from gpucodegen.tiling.register_tile import (
    choose_register_tile,
    split_evenly,
    split_reduction,
)
from gpucodegen.tiling.task_grid import choose_task_grid

K_BLOCK_LIMIT = 512
"""Longest reduction block: a panel of 32 columns of it streams from the L2 cache."""
STREAMED_STEPS = 16
"""Reduction block of a right factor read in place: as many rows stream at once."""
SHORT_ROW = 1024
"""Bytes: longer rows of the right factor are streamed."""
LEFT_SHARE = 0.65
"""Share of the second cache that a block of left rows may fill."""


def plan_contraction(
    problem: Problem, model: CpuModel, tiles: CpuTiles | None = None
) -> CpuPlan:
    """Choose all sizes of a contraction.

    >>> from gpucodegen.tiling.register_tile import VectorUnit
    >>> problem = Problem(1024, 1024, (1024,), 1, 32, True, False, 1024)
    >>> plan = plan_contraction(problem, CpuModel(2, VectorUnit(512, 32)))
    >>> plan.columns, plan.k_chunk, plan.packing.name, plan.left_stride
    (64, 512, 'STRIPE', 528)
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
    shared = not (single or in_place or problem.left_is_computed)
    inside = shared and _outer_inside(problem, columns, steps, model)
    if inside:
        row_block = -(-problem.rows // rows) * rows
        stripes = min(model.threads, problem.columns // columns)
        single, spread = True, False
    packing = Packing.PRIVATE if single else Packing.SHARED
    turns = 1
    if problem.uneven and parallel and not single:
        row_block = split_evenly(problem.rows, row_block // TURNS or 1, rows)
        turns = -(-problem.rows // (row_block * model.threads))
    plan = CpuPlan(
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
        not spread and problem.left_is_one_piece and chunk == problem.left_stride,
    )
    apart = problem.outer == 1 or outer_first
    is_plain = not (
        problem.left_is_computed
        or problem.left_is_transposed
        or problem.gathered
        or problem.uneven
    )
    idle = problem.skinny and parallel and plan.stripes < model.threads
    split = plan.packing is Packing.SHARED or (single and idle and not in_place)
    if apart and is_plain and split:
        return _in_stripes(plan, problem, model, tiles)
    return plan


PACKING_PAYS = 4
"""Row tiles that must read a panel before copying it is cheaper than not."""
GATHERING_PAYS = 16
"""Rows of a result that must use a gathered pixel: two register tiles."""
TURNS = 4
"""Parts of a block of rows where rows differ: threads take them in turn."""
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


AHEAD = 8
"""Steps that a panel in the second cache takes to come."""
LEFT_TILE = 1 << 14
"""Bytes of rows that stay in the first cache while panels stream through it."""


def _in_stripes(
    plan: CpuPlan, problem: Problem, model: CpuModel, tiles: CpuTiles
) -> CpuPlan:
    """The plan in which rows meet all panels of a stripe in turn."""
    size = problem.element_bits // 8
    limit = tiles.k_block or min(K_BLOCK_LIMIT, LEFT_TILE // (plan.rows * size))
    together = plan.lanes if plan.left_stride else 1
    position, chunk = split_reduction(problem.reduction, limit, together)
    is_last = position == len(problem.reduction) - 1
    threads = model.threads_for(problem.work)
    grid = choose_task_grid(
        (problem.rows, problem.columns),
        (plan.rows, plan.columns),
        _cached(problem, chunk, model),
        threads,
    )
    return replace(
        plan,
        packing=Packing.STRIPE,
        k_position=position,
        k_chunk=chunk,
        left_stride=_packed_stride(chunk, size) if plan.left_stride and is_last else 0,
        row_block=tiles.row_block or grid.row_block,
        stripes=grid.stripes,
        fetches=problem.result_bytes > model.cache,
        ahead=AHEAD,
        fetches_left=False,
    )


def _cached(problem: Problem, chunk: int, model: CpuModel) -> int:
    """Lines of a reduction block that the second cache holds."""
    return int(model.cache * LEFT_SHARE) // (chunk * problem.element_bits // 8)


def _packed_stride(chunk: int, size: int) -> int:
    """Row stride of a copy of the left block: an odd number of cache lines."""
    lines = -(-chunk * size // LINE)
    return (lines | 1) * LINE // size


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
    limit = _cached(problem, chunk, model)
    blocks = max(1, -(-per_thread // max(rows, limit))) * model.threads
    return split_evenly(problem.rows, -(-problem.rows // blocks), rows)
