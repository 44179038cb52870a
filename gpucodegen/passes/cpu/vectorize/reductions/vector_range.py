"""A range of iterations that is reduced: vectors, and independent accumulators.

Accumulator splitting: one accumulator waits for the combination before; several, each
of every n-th vector, do not wait for each other.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.passes.cpu.vectorize.loops import IterationRange
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.tiling.machine.processor import VectorUnit
from gpucodegen.tiling.machine.vectorization import (
    InnerLoop,
    plan_lanes,
    split_accumulators,
)


@dataclass(frozen=True, slots=True)
class VectorRange:
    """Iterations from ``first`` to ``end``, in vectors of ``lanes``.

    ``accumulators`` of them are combined with different partial results.
    """

    first: Index
    end: Index
    lanes: int
    accumulators: int

    def until(self, step: int) -> Index:
        """The end of the whole steps of so many iterations."""
        return compact(self.first + compact(self.end - self.first) // step * step)

    @property
    def is_some(self) -> Index:
        """Not negative if there are iterations."""
        return compact(self.end - self.first) - 1

    @property
    def may_be_empty(self) -> bool:
        """Whether the end may lie before the beginning."""
        trips = compact(self.end - self.first).constant
        return trips is None or trips < 0

    @property
    def rest(self) -> Index:
        """Iterations after the last full vector, of a range that has any."""
        return compact(self.end - self.until(self.lanes))

    def left(self, b: Builder) -> Value:
        """The same as a value, which is negative if the end lies before."""
        trips = [self.end - self.first] if self.may_be_empty else []
        return b.smallest([self.rest, *trips], "left")


def vector_range(
    range_: IterationRange, bits: frozenset[int], operations: int, unit: VectorUnit
) -> VectorRange | None:
    """How the iterations of a reduction are cut; None if vectors do not pay.

    ``bits``: widths of its elements; ``operations``: of an iteration, the combination
    among them.
    """
    if not range_.is_single:
        return None
    trips = range_.trips
    lanes = plan_lanes(InnerLoop(trips, bits), unit)
    if not lanes:
        return None
    vectors = trips and trips // lanes
    accumulators = split_accumulators(vectors, operations, unit)
    return VectorRange(range_.lowers[0], range_.uppers[0], lanes, accumulators)
