"""Whether threads share the reduction of a contraction, where results are too few.

A thread takes tasks of whole register tiles, with the edge beside them.  Cut into p
parts, the reduction makes p times as many, each of 1/p of the steps; the partial
results are added up at the end.  In steps of a tile, with n tasks on t threads, the
contraction takes

    ceil(p n / t) steps / p + (p > 1) add_part p n

and the p of the least time wins if it saves a SAVED part.  A row times a matrix from
memory has a part for each thread: each then reads whole rows, which lie in one piece.
Adding in parts is another order of the sum, which must be permitted; it is the same in
every run.
"""

from __future__ import annotations

from gpucodegen.tiling.machine.facts import COSTS
from gpucodegen.tiling.machine.model import Machine
from gpucodegen.tiling.machine.products.kinds.task_grid import FEWEST_ROWS
from gpucodegen.tiling.machine.products.problem import SKINNY, Problem
from gpucodegen.tiling.machine.products.register_tile import choose_register_tile

SAVED = 0.3
"""Share of the time that must be saved: parts read memory that threads share."""


def reduction_parts(problem: Problem, machine: Machine) -> int:
    """Parts of the reduction that run at once; 1: results are enough for all threads.

    >>> from gpucodegen.tiling.machine.vector_unit import VectorUnit
    >>> machine = Machine(8, VectorUnit(512, 32))
    >>> reduction_parts(Problem(6, 32, (100000,), 1, 32, True, False), machine)
    8
    >>> reduction_parts(Problem(2048, 2048, (2048,), 1, 32, True, False), machine)
    1
    >>> reduction_parts(Problem(1, 4096, (4096,), 1, 32, True, False), machine)
    8
    """
    threads = machine.threads_for(problem.work)
    if problem.outer > 1 or len(problem.reduction) != 1 or problem.rows > SKINNY:
        return 1
    if problem.pixels or problem.uneven:
        return 1
    (steps,) = problem.reduction
    tile = choose_register_tile(
        problem.rows,
        problem.columns,
        problem.element_bits,
        problem.summing(machine.unit),
    )
    across = max(1, problem.columns // tile.columns)
    tasks = -(-problem.rows // (FEWEST_ROWS * tile.rows)) * across

    def time(parts: int) -> float:
        added = COSTS.add_part * parts * tasks if parts > 1 else 0
        return -(-parts * tasks // threads) * steps / parts + added

    most = min(threads, steps)
    if (
        problem.rows == 1
        and problem.right_is_wide
        and not problem.right_is_near(machine)
    ):
        return most
    best = min(range(1, most + 1), key=time)
    return best if time(best) <= (1 - SAVED) * time(1) else 1
