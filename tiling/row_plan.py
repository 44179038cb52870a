"""How many partial results of a reduction are computed at once.

A chain of combinations takes ``latency`` cycles a step.  As many chains as the unit
starts operations in that time keep it busy; operations beside the combination fill
part of the time themselves.
"""

from __future__ import annotations

from gpucodegen.tiling.register_tile import VectorUnit


def partial_results(vectors: int | None, operations: int, unit: VectorUnit) -> int:
    """Accumulators for a row of so many vectors, None if their number is not known.

    ``operations``: vector operations for each vector, the combination among them.

    >>> unit = VectorUnit(512, 32)
    >>> partial_results(None, 1, unit), partial_results(4, 2, unit)
    (8, 4)
    >>> partial_results(None, 30, unit), partial_results(1, 1, unit)
    (1, 1)
    """
    wanted = -(-unit.latency * unit.fma_per_cycle // operations)
    fitting = min(wanted, unit.registers // 4)
    return max(1, fitting if vectors is None else min(fitting, vectors))
