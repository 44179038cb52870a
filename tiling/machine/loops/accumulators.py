"""Accumulator splitting: how many independent partial results a reduction keeps.

A chain of combinations takes ``latency`` cycles a step.  As many chains as the unit
starts operations in that time keep it busy; operations beside the combination fill
part of the time themselves.
"""

from __future__ import annotations

from gpucodegen.tiling.machine.vector_unit import VectorUnit


def split_accumulators(vectors: int | None, operations: int, unit: VectorUnit) -> int:
    """Accumulators for a row of ``vectors``, None if their number is not known.

    ``operations``: vector operations for each vector, the combination among them.

    >>> unit = VectorUnit(512, 32)
    >>> split_accumulators(None, 1, unit), split_accumulators(4, 2, unit)
    (8, 4)
    >>> split_accumulators(None, 30, unit), split_accumulators(1, 1, unit)
    (1, 1)
    """
    wanted = -(-unit.latency * unit.fma_per_cycle // operations)
    fitting = min(wanted, unit.registers // 4)
    return max(1, fitting if vectors is None else min(fitting, vectors))
