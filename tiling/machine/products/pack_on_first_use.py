"""Panels that the first row tile copies while it multiplies, and what tiles fetch."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gpucodegen.tiling.machine.products.problem import (
    CpuModel,
    CpuPlan,
    CpuTiles,
    Packing,
    Problem,
)
from gpucodegen.tiling.machine.products.register_tile import split_evenly

AHEAD = 8
"""Steps that lanes of a panel take to come from beyond the first cache."""
PANEL_SHARE = 0.875
"""Share of the first cache that a block of a panel may fill."""
LEFT_SHARE = 0.4
"""Share of the second cache in which rows wait for the next panel."""
MEETING = 8
"""Row tiles that must meet a block: the first one is slow at its start."""


def packs_in_passing(plan: CpuPlan, problem: Problem) -> bool:
    """Whether stores of a panel can hide behind the multiply-adds of a row tile.

    The same tile has to come first for every panel.
    """
    first = plan.row_block >= problem.rows >= 2 * plan.rows
    known = not (problem.pixels or problem.uneven or plan.outer_inside)
    is_private = plan.packing is Packing.PRIVATE
    return is_private and problem.right_is_contiguous and first and known


def in_passing(
    plan: CpuPlan, problem: Problem, model: CpuModel, tiles: CpuTiles
) -> CpuPlan:
    """The plan whose panels are copied by their first row tile.

    A block of a panel stays in the first cache until all rows have met it: then only
    elements of the left factor, few for each step, come from the second one.
    """
    plan = replace(plan, packing=Packing.PASSING, ahead=AHEAD)
    size = problem.element_bits // 8
    is_last = plan.k_position == len(problem.reduction) - 1
    left = problem.rows * prod(problem.reduction) * size
    stays = left <= model.cache * LEFT_SHARE and problem.rows >= MEETING * plan.rows
    if tiles.k_block or plan.left_stride or not is_last or not stays:
        return plan
    limit = int(model.first_cache * PANEL_SHARE) // (plan.columns * size)
    chunk = split_evenly(problem.reduction[-1], max(1, limit))
    return replace(plan, k_chunk=min(chunk, plan.k_chunk))


def fetching(plan: CpuPlan, problem: Problem) -> CpuPlan:
    """The plan with what its tiles fetch while they compute."""
    left, parts = _fetches_left(plan, problem), _parts(plan, problem)
    return replace(plan, fetches_left=left, parts=parts)


def _fetches_left(plan: CpuPlan, problem: Problem) -> bool:
    """Whether rows are read in place and follow one another in memory."""
    whole = plan.k_chunk == problem.left_stride
    return not plan.left_stride and problem.left_is_one_piece and whole


def _parts(plan: CpuPlan, problem: Problem) -> int:
    """Parts of a reduction block, each after a fetch of one row of the next result.

    All rows at once would keep the lanes of the panel waiting.
    """
    is_last = plan.k_position == len(problem.reduction) - 1
    return min(plan.rows, plan.k_chunk) if plan.fetches and is_last else 0
