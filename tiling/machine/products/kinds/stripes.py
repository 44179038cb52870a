"""Rows that meet all panels of a stripe in turn: sizes, and what tiles fetch."""

from __future__ import annotations

from dataclasses import replace

from gpucodegen.tiling.machine.facts import MEMORY
from gpucodegen.tiling.machine.model import Level, Share
from gpucodegen.tiling.machine.products.candidates import Stripes
from gpucodegen.tiling.machine.products.kinds.task_grid import choose_task_grid
from gpucodegen.tiling.machine.products.problem import packed_stride
from gpucodegen.tiling.machine.products.register_tile import split_reduction
from gpucodegen.tiling.machine.products.tiling import K_BLOCK_LIMIT, TileRequest

STORED_STEPS = 12
"""Steps: shorter reduction blocks take less time than storing a result from memory."""
TRANSPOSED = 384
"""Bytes of each step of a transposed left factor that are read at once."""


def in_stripes(request: TileRequest) -> Stripes | None:
    """The kernel whose tasks pack stripes of their own, where nothing else is shared.

    It is taken where a task has not all rows; or threads had no columns otherwise; or
    storing takes longest, which goes along rows then, not down panels.
    """
    problem, machine = request.problem, request.machine
    plain = request.tiling()
    apart = problem.outer == 1 or plain.outer_first
    if not apart or not (
        plain.row_block < problem.rows
        or (problem.skinny and plain.parallel and plain.stripes < machine.threads)
        or (
            plain.k_chunk < STORED_STEPS
            and not machine.fits(problem.result_bytes, Level.SECOND)
        )
    ):
        return None
    size = problem.element_bits // 8
    room = machine.room(Level.FIRST, Share.HALF) // (plain.rows * size)
    limit = request.sizes.k_block or min(K_BLOCK_LIMIT, room)
    squares = plain.left_stride or not problem.right_is_contiguous
    together = plain.lanes if squares else 1
    position, chunk = split_reduction(problem.reduction, limit, together)
    granule = problem.granule(plain.rows, plain.lanes)
    grid = choose_task_grid(
        (problem.rows, problem.columns),
        (granule, plain.columns),
        request.rows_that_stay(chunk),
        machine.threads_for(problem.work),
        uneven=problem.uneven,
    )
    is_last = position == len(problem.reduction) - 1
    row_block = request.sizes.row_block or grid.row_block
    tiling = replace(
        plain,
        k_position=position,
        k_chunk=chunk,
        left_stride=packed_stride(chunk, size) if plain.left_stride and is_last else 0,
        row_block=-(-row_block // granule) * granule,
        stripes=grid.stripes,
        fetches=not machine.fits(problem.result_bytes, Level.SECOND),
    )
    made = Stripes(tiling, _rows_together(request, granule))
    return _fetching_in_parts(made, request) if is_last else made


def _rows_together(request: TileRequest, granule: int) -> int:
    """Rows to pack at once: squares, whole lines of a transposed left factor."""
    problem = request.problem
    if not problem.left_is_transposed:
        return granule
    return -(-TRANSPOSED // (granule * problem.element_bits // 8)) * granule


def _fetching_in_parts(made: Stripes, request: TileRequest) -> Stripes:
    """The kernel whose tiles fetch what comes next bit by bit.

    A burst of fetches would keep the lines of the panel waiting.
    """
    problem, tiling = request.problem, made.tiling
    size = problem.element_bits // 8
    panels = max(1, problem.columns // tiling.columns // tiling.stripes)
    left = problem.rows * problem.reduction[-1] * size
    is_near = request.machine.fits(left, Level.SECOND, Share.HALF)
    far = problem.left_stride is not None and not is_near
    lines = -(-tiling.k_chunk * size // MEMORY.line // panels) if far else 0
    across = tiling.columns * size // MEMORY.line if tiling.fetches else 0
    parts = min(tiling.rows, -(-tiling.rows * (lines + across) // MEMORY.fetches))
    return replace(made, parts=parts, left_lines=lines)
