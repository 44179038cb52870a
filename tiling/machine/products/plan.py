"""Plan of a contraction on a CPU: register tile, blocks, packing."""

from __future__ import annotations

from dataclasses import replace
from math import lcm

from gpucodegen.tiling.machine.products.im2row_plan import in_lines
from gpucodegen.tiling.machine.products.outer_plan import panels_outside
from gpucodegen.tiling.machine.products.pack_on_first_use import (
    AHEAD,
    fetching,
    in_passing,
    packs_in_passing,
)
from gpucodegen.tiling.machine.products.problem import (
    LINE,
    SKINNY,
    CpuModel,
    CpuPlan,
    CpuTiles,
    Packing,
    Problem,
    packed_stride,
)
from gpucodegen.tiling.machine.products.register_tile import (
    choose_register_tile,
    split_evenly,
    split_reduction,
)
from gpucodegen.tiling.machine.products.streamed_plan import streaming
from gpucodegen.tiling.machine.products.task_grid import choose_task_grid

K_BLOCK_LIMIT = 512
"""Longest reduction block: a panel of 32 columns of it streams from the L2 cache."""
LEFT_SHARE = 0.65
"""Share of the second cache that a block of left rows may fill."""


def plan_contraction(
    problem: Problem, model: CpuModel, tiles: CpuTiles | None = None
) -> CpuPlan:
    """Choose all sizes of a contraction.

    >>> from gpucodegen.tiling.machine.products.register_tile import VectorUnit
    >>> problem = Problem(1024, 1024, (1024,), 1, 32, True, False, 1024)
    >>> plan = plan_contraction(problem, CpuModel(2, VectorUnit(512, 32)))
    >>> plan.columns, plan.k_chunk, plan.packing.name, plan.left_stride
    (64, 512, 'STRIPE', 0)
    """
    tiles = tiles or CpuTiles()
    plan = _in_blocks(problem, model, tiles)
    if problem.pixels:
        plan = in_lines(plan, problem.pixels, problem, model, tiles)
    plan = panels_outside(plan, problem, model)
    if _stripes_pay(plan, problem, model):
        return _in_stripes(plan, problem, model, tiles)
    if problem.uneven and plan.parallel and not _is_one_block(plan, problem):
        plan = _in_turns(plan, problem, model)
    if packs_in_passing(plan, problem):
        plan = in_passing(plan, problem, model, tiles)
    return fetching(plan, problem)


def _in_blocks(problem: Problem, model: CpuModel, tiles: CpuTiles) -> CpuPlan:
    """The plan in which threads share panels, or the rows, or read both in place."""
    best = choose_register_tile(
        problem.rows,
        problem.columns,
        problem.element_bits,
        problem.summing(model.unit),
    )
    rows = min(tiles.rows or best.rows, problem.rows)
    columns = tiles.columns or best.columns
    lanes = model.unit.lanes(problem.element_bits)
    in_place = problem.right_is_contiguous and problem.readers(rows) < PACKING_PAYS
    streamed = in_place and problem.right_is_wide
    stream = streaming(problem, model, rows, columns) if streamed else None
    if stream is not None and not tiles.columns:
        columns = stream.columns
    limit = stream.steps if stream else tiles.k_block or K_BLOCK_LIMIT
    reused = not in_place and problem.columns > 2 * columns
    spread = not problem.pixels and _rows_are_spread(problem, rows, reused)
    squares = spread or not problem.right_is_contiguous
    squared = lanes if squares else 1
    together = problem.pixels.period if problem.pixels else squared
    if problem.takes_turns(model.unit):
        bits = min(columns, problem.columns) * problem.element_bits
        together = lcm(together, model.unit.turns(rows, bits))
    position, chunk = split_reduction(problem.reduction, limit, together)
    last = len(problem.reduction) - 1
    spread = spread and position == last
    parallel = model.threads_for(problem.work) > 1
    stripes = problem.columns // columns if parallel and problem.skinny else 1
    spills = problem.result_bytes > FETCHED_SHARE * model.cache
    plan = CpuPlan(
        rows,
        columns,
        row_block=_row_block(problem, problem.granule(rows, lanes), chunk, model),
        k_position=position,
        k_chunk=chunk,
        packing=Packing.NONE if in_place else Packing.SHARED,
        left_stride=packed_stride(chunk, problem.element_bits // 8) if spread else 0,
        lanes=lanes,
        outer_first=problem.panel_per_outer and problem.rows > SKINNY,
        stripes=max(1, min(model.threads, stripes)),
        parallel=parallel,
        fetches=spills and chunk < FETCHED_STEPS,
        fetches_beside=stream is not None and stream.beside,
        turns_on=model.unit if problem.takes_turns(model.unit) else None,
        ahead=stream.ahead if stream and position == last else 0,
    )
    own = not in_place and _is_one_block(plan, problem)
    return replace(plan, packing=Packing.PRIVATE) if own else plan


def _rows_are_spread(problem: Problem, rows: int, reused: bool) -> bool:
    """Whether the rows of a left block are copied, apart from each other."""
    scattered = problem.strides_clash(rows) or problem.left_is_transposed
    return problem.left_is_computed or (scattered and reused)


def _is_one_block(plan: CpuPlan, problem: Problem) -> bool:
    """Whether whoever packs a panel is the only one to use it."""
    once = problem.outer == 1 or problem.panel_per_outer
    whole = plan.row_block >= problem.rows and once
    return whole or plan.outer_inside or problem.pixels is not None


def _in_turns(plan: CpuPlan, problem: Problem, model: CpuModel) -> CpuPlan:
    """The plan in which threads take smaller blocks of uneven rows in turn."""
    granule = problem.granule(plan.rows, plan.lanes)
    block = split_evenly(problem.rows, plan.row_block // TURNS or 1, granule)
    return replace(
        plan, row_block=block, turns=-(-problem.rows // (block * model.threads))
    )


def _stripes_pay(plan: CpuPlan, problem: Problem, model: CpuModel) -> bool:
    """Whether tasks of their own beat panels that all share, or threads are idle.

    Or storing takes longest, which goes along rows then, not down panels.
    """
    apart = problem.outer == 1 or plan.outer_first
    idle = problem.skinny and plan.parallel and plan.stripes < model.threads
    stores = problem.result_bytes > model.cache and plan.k_chunk < STORED_STEPS
    alone = plan.packing is Packing.PRIVATE and (idle or stores)
    return apart and not problem.pixels and (plan.packing is Packing.SHARED or alone)


PACKING_PAYS = 4
"""Row tiles that must read a panel before copying it is cheaper than not."""
TURNS = 4
"""Parts of a block of rows where rows differ: threads take them in turn."""
STORED_STEPS = 12
"""Shorter reduction blocks take less time than storing a result from memory."""
FETCHED_STEPS = 320
"""Shorter reduction blocks wait for a result that is not in the second cache."""
FETCHED_SHARE = 0.5
"""Share of the second cache that results which stay there may fill."""


TRANSPOSED = 384
"""Bytes of each step of a transposed left factor that are read at once."""
TOGETHER = 16
"""Cache lines that are fetched at once."""
LEFT_TILE = 1 << 14
"""Bytes of rows that stay in the first cache while panels stream through it."""


def _in_stripes(
    plan: CpuPlan, problem: Problem, model: CpuModel, tiles: CpuTiles
) -> CpuPlan:
    """The plan in which rows meet all panels of a stripe in turn."""
    size = problem.element_bits // 8
    limit = tiles.k_block or min(K_BLOCK_LIMIT, LEFT_TILE // (plan.rows * size))
    squares = plan.left_stride or not problem.right_is_contiguous
    together = plan.lanes if squares else 1
    position, chunk = split_reduction(problem.reduction, limit, together)
    is_last = position == len(problem.reduction) - 1
    granule = problem.granule(plan.rows, plan.lanes)
    grid = choose_task_grid(
        (problem.rows, problem.columns),
        (granule, plan.columns),
        _cached(problem, chunk, model),
        model.threads_for(problem.work),
        uneven=problem.uneven,
    )
    plan = replace(
        plan,
        packing=Packing.STRIPE,
        k_position=position,
        k_chunk=chunk,
        left_stride=packed_stride(chunk, size) if plan.left_stride and is_last else 0,
        left_rows=_rows_together(plan, problem),
        row_block=-(-(tiles.row_block or grid.row_block) // granule) * granule,
        stripes=grid.stripes,
        fetches=problem.result_bytes > model.cache,
        ahead=AHEAD,
        fetches_left=False,
    )
    return _fetching_in_parts(plan, problem, model) if is_last else plan


def _rows_together(plan: CpuPlan, problem: Problem) -> int:
    """Rows to copy at once: squares, whole lines of a transposed left factor."""
    squares = problem.granule(plan.rows, plan.lanes)
    if not problem.left_is_transposed:
        return squares
    return -(-TRANSPOSED // (squares * problem.element_bits // 8)) * squares


def _fetching_in_parts(plan: CpuPlan, problem: Problem, model: CpuModel) -> CpuPlan:
    """The plan whose tiles fetch what comes next bit by bit.

    A burst of fetches would keep the lines of the panel waiting.
    """
    size = problem.element_bits // 8
    panels = max(1, problem.columns // plan.columns // plan.stripes)
    left = problem.rows * problem.reduction[-1] * size
    far = problem.left_stride is not None and left > model.cache * FETCHED_SHARE
    lines = -(-plan.k_chunk * size // LINE // panels) if far else 0
    across = plan.columns * size // LINE if plan.fetches else 0
    parts = min(plan.rows, -(-plan.rows * (lines + across) // TOGETHER))
    return replace(plan, parts=parts, left_lines=lines)


def _cached(problem: Problem, chunk: int, model: CpuModel) -> int:
    """Lines of a reduction block that the second cache holds."""
    return int(model.cache * LEFT_SHARE) // (chunk * problem.element_bits // 8)


def _row_block(problem: Problem, rows: int, chunk: int, model: CpuModel) -> int:
    """Rows per parallel task: whole when outer axes or columns feed the threads."""
    fed = problem.outer >= 2 * model.threads or problem.panel_per_outer
    if (fed and problem.rows <= SKINNY) or problem.skinny:
        return -(-problem.rows // rows) * rows
    per_thread = -(-problem.rows // model.threads)
    limit = _cached(problem, chunk, model)
    blocks = max(1, -(-per_thread // max(rows, limit))) * model.threads
    return split_evenly(problem.rows, -(-problem.rows // blocks), rows)
