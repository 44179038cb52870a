"""The transposed result of a contraction, and the time that it takes.

Lanes walk the longer side then, and a left factor that lies along the rows, which has
to be transposed or read element by element, becomes a right factor, read as it lies.
In cycles, with the register tile's own model for a step:

    steps tile_cycles(columns, rows) / threads + transpose (elements of the result)

The transposed result waits in the second cache to be transposed, by one thread.
"""

from __future__ import annotations

from math import inf

from gpucodegen.tiling.machine.facts import COSTS
from gpucodegen.tiling.machine.model import Level, Machine, Share
from gpucodegen.tiling.machine.products.problem import Problem
from gpucodegen.tiling.machine.products.register_tile import least_cycles


def transposed_time(problem: Problem, machine: Machine) -> float:
    """Modelled cycles; without end if the result does not stay in the second cache."""
    if not machine.fits(problem.result_bytes, Level.SECOND, Share.HALF):
        return inf
    shape = problem.columns, problem.rows, problem.element_bits
    computed = problem.steps * least_cycles(*shape, problem.summing(machine.unit))
    turned = COSTS.transpose * problem.rows * problem.columns
    return computed / machine.threads_for(problem.work) + turned
