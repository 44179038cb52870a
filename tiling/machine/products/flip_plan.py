"""Whether the transposed result of a contraction is faster to compute.

Lanes walk the longer side then, and a left factor that lies along the rows, which has
to be turned or read element by element, becomes a right factor that is read as it lies.
In cycles of one core, with the register tile's own model for a step:

    steps tile_cycles(rows, columns) + TURNED (what is turned, of factors or result)

The transposed result waits in the second cache to be turned, by one thread.
"""

from __future__ import annotations

from math import prod

from gpucodegen.tiling.machine.products.problem import CpuModel, Problem
from gpucodegen.tiling.machine.products.register_tile import (
    choose_register_tile,
    tile_cycles,
)

TURNED = 1.5
"""Cycles per element that is transposed in registers."""
CACHED_SHARE = 0.5
"""Share of the second cache that the transposed result may fill."""


def flipping_pays(problem: Problem, model: CpuModel) -> bool:
    """Whether the result is computed transposed, the left factor being so.

    >>> from gpucodegen.tiling.machine.products.register_tile import VectorUnit
    >>> model = CpuModel(1, VectorUnit(512, 32))
    >>> few, many = (
    ...     Problem(300, n, (500,), 1, 32, True, False, left_is_transposed=True)
    ...     for n in (5, 300)
    ... )
    >>> flipping_pays(few, model), flipping_pays(many, model)
    (True, False)
    """
    if problem.result_bytes > CACHED_SHARE * model.cache:
        return False
    rows, columns = problem.rows, problem.columns
    threads = model.threads_for(problem.work)
    steps = prod(problem.reduction)
    turned = 0 if problem.right_is_contiguous else TURNED * columns * steps
    now = _cycles(rows, columns, problem, model) + turned
    after = _cycles(columns, rows, problem, model)
    return after / threads + TURNED * rows * columns < now / threads


def _cycles(rows: int, columns: int, problem: Problem, model: CpuModel) -> float:
    """Cycles of all steps of a result of that shape."""
    shape = rows, columns, problem.element_bits, problem.summing(model.unit)
    return prod(problem.reduction) * tile_cycles(*shape, choose_register_tile(*shape))
