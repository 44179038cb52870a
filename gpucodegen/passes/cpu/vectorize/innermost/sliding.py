"""A vectorised loop that loads each cell of a row of neighbours once.

previous, current = vectors of the centres
for i by lanes, as long as another full vector follows:
  following = the next centres; neighbours are shuffled out of the three
  previous, current = current, following
what is left, masked
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.cpu.vectorize.innermost.neighbour_loads import (
    NeighbourLoads,
    neighbour_loads,
)
from gpucodegen.passes.cpu.vectorize.loops import IterationRange
from gpucodegen.passes.cpu.vectorize.recognize import LoopBody
from gpucodegen.passes.cpu.vectorize.widen import Widened
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.processor import VectorUnit
from gpucodegen.tiling.machine.vectorization import rows_in_registers


def loads_in_registers(
    body: LoopBody, trips: int | None, lanes: int, unit: VectorUnit
) -> list[NeighbourLoads]:
    """The rows of neighbours that a loop keeps in registers."""
    if not body.takes_masks:
        return []
    vectors, bits = None if trips is None else trips // lanes, lanes * min(body.bits)
    count = rows_in_registers(vectors, bits, len(body.accesses), unit)
    return neighbour_loads(body, lanes)[:count]


def sliding_loop(
    b: Builder,
    body: LoopBody,
    range_: IterationRange,
    lanes: int,
    neighbours: Sequence[NeighbourLoads],
) -> None:
    """Run the body over the range, the loads of neighbours out of registers.

    It loads nothing that the plain loop does not load; the range is a single one.
    """
    _Sliding(body, lanes, tuple(neighbours)).build(b, range_)


@dataclass(frozen=True, slots=True)
class _Sliding:
    body: LoopBody
    lanes: int
    neighbours: tuple[NeighbourLoads, ...]

    def build(self, b: Builder, range_: IterationRange) -> None:
        lanes, name = self.lanes, self.body.iv.name
        start, (end,) = Index.of(b.index(range_.lowers[0], "start")), range_.uppers
        ahead = end - (2 * lanes - 1)
        rest_from = start + (end - start) // lanes * lanes - lanes

        def full(i: Builder) -> None:
            carried = [v for w in self.neighbours for v in self._before(i, w, start)]
            i.carried_loop(start, ahead, carried, self._vector, step=lanes, hint=name)

        def rest(i: Builder, iv: Value) -> None:
            Widened(self.body, i, Index.of(iv), lanes, i.index(end - iv)).build()

        b.guard([ahead - start - 1], full)
        b.loop([start, rest_from], end, rest, step=lanes, hint=name)

    def _before(self, b: Builder, loads: NeighbourLoads, start: Index) -> list[Value]:
        """The last centres in front of ``start``, as many as are used, and the first.

        The load that is foremost begins with those in front.
        """
        first = self._load(b, loads, start, loads.first)
        turned = [(lane - loads.first) % self.lanes for lane in range(self.lanes)]
        return [b.shuffle(first, first, turned), self._load(b, loads, start, 0)]

    def _vector(self, b: Builder, iv: Value, carried: Sequence[Value]) -> list[Value]:
        at, after, ready = Index.of(iv), list[Value](), dict[Operation, Value]()
        pairs = zip(carried[::2], carried[1::2], strict=True)
        for loads, (previous, current) in zip(self.neighbours, pairs, strict=True):
            following = self._load(b, loads, at + self.lanes, 0)
            for op, shift in loads.shifts.items():
                two = (previous, current) if shift < 0 else (current, following)
                ready[op] = self._shifted(b, *two, shift % self.lanes)
            after += [current, following]
        Widened(self.body, b, at, self.lanes, ready=ready).build()
        return after

    def _shifted(self, b: Builder, one: Value, other: Value, by: int) -> Value:
        return b.shuffle(one, other, range(by, by + self.lanes)) if by else one

    def _load(self, b: Builder, loads: NeighbourLoads, at: Index, shift: int) -> Value:
        centre = Widened(self.body, b, at, self.lanes).at_first(loads.centre)
        *outer, last = centre.indices
        ty = VectorType((self.lanes,), element_type(centre.memref.type))
        return b.affine_vector_load(centre.memref, [*outer, last + shift], ty)
