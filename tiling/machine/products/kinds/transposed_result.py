"""Whether the transposed result of a contraction is faster to compute.

Lanes walk the longer side then, and a left factor that lies along the rows, which has
to be transposed or read element by element, becomes a right factor, read as it lies.
In cycles of one core, with the register tile's own model for a step:

    steps tile_cycles(rows, columns) + transpose (elements of factors or the result)

The transposed result waits in the second cache to be transposed, by one thread.
"""

from __future__ import annotations

from gpucodegen.tiling.machine.costs import COSTS
from gpucodegen.tiling.machine.model import Level, Machine, Share
from gpucodegen.tiling.machine.products.problem import Problem
from gpucodegen.tiling.machine.products.register_tile import (
    choose_register_tile,
    tile_cycles,
)


def transposed_pays(problem: Problem, machine: Machine) -> bool:
    """Whether the result is computed transposed, the left factor being so.

    >>> from gpucodegen.tiling.machine.vector_unit import VectorUnit
    >>> machine = Machine(1, VectorUnit(512, 32))
    >>> few, many = (
    ...     Problem(300, n, (500,), 1, 32, True, False, left_is_transposed=True)
    ...     for n in (5, 300)
    ... )
    >>> transposed_pays(few, machine), transposed_pays(many, machine)
    (True, False)
    """
    if not machine.fits(problem.result_bytes, Level.SECOND, Share.HALF):
        return False
    rows, columns = problem.rows, problem.columns
    threads = machine.threads_for(problem.work)
    against = not problem.right_is_contiguous
    packed = against * COSTS.transpose * columns * problem.steps
    now = _cycles(rows, columns, problem, machine) + packed
    after = _cycles(columns, rows, problem, machine)
    return after / threads + COSTS.transpose * rows * columns < now / threads


def _cycles(rows: int, columns: int, problem: Problem, machine: Machine) -> float:
    """Cycles of all steps of a result of that shape."""
    shape = rows, columns, problem.element_bits, problem.summing(machine.unit)
    return problem.steps * tile_cycles(*shape, choose_register_tile(*shape))
