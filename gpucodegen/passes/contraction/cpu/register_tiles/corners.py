"""Register tiles where a result is no box: whole, outside, or across its edge.

With the guards g of the domain and the offsets x of the cells of a tile at t,

    whole    iff  min { g(t + x) : x in tile } >= 0  for all g,
    outside  if   max { g(t + x) : x in tile } < 0   for some g.

A tile across the edge is computed in a private copy; only cells of the domain are
copied in and out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.passes.contraction.cpu.ranges import Positions, grid
from gpucodegen.passes.contraction.recognition.operands import Operand, coefficients
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, replace_values
from gpucodegen.passes.framework.nests import Axis

Extents = Mapping[Axis, int]
"""Cells of a tile along the axes that it spans."""
Place = tuple[Value, Sequence[Index], Sequence[int]]
"""A buffer, the first cell of a tile there, and the dimensions that it spans."""


@dataclass(frozen=True, slots=True)
class Corners:
    """The guards of a result, and the buffer for copies of tiles across its edge."""

    guards: Sequence[Index]
    result: Operand
    copy: Value

    def split(
        self,
        b: Builder,
        at: Positions,
        extents: Extents,
        compute: Callable[[Builder, Place | None], None],
    ) -> None:
        """Compute the tile at its place (None), in a copy, or not at all."""
        least = [_extreme(guard, at, extents, min) for guard in self.guards]

        def across(i: Builder) -> None:
            first = [Index.of(0)] * len(extents)
            self._cells(i, at, extents, into=True)
            compute(i, (self.copy, first, range(len(extents))))
            self._cells(i, at, extents, into=False)

        b.guard(
            least,
            lambda i: compute(i, None),
            lambda i: i.guard(self.meets(at, extents), across),
        )

    def meets(self, at: Positions, extents: Extents) -> list[Index]:
        """What is >= 0 wherever cells of a box at ``at`` are computed."""
        return [_extreme(guard, at, extents, max) for guard in self.guards]

    def _cells(
        self, b: Builder, at: Positions, extents: Extents, *, into: bool
    ) -> None:
        """Copy the cells of the domain."""

        def cell(i: Builder, offsets: Sequence[Value]) -> None:
            moved = zip(extents, offsets, strict=True)
            here = at | {axis.iv: at[axis.iv] + offset for axis, offset in moved}
            inside = [replace_values(guard, dict(here)) for guard in self.guards]

            def copy(j: Builder) -> None:
                there = (self.result.memref, self.result.at(here))
                source, target = there, (self.copy, offsets)
                if into:
                    j.store(j.load(*source), *target)
                else:
                    j.store(j.load(*target), *source)

            i.guard(inside, copy)

        names = [axis.name for axis in extents]
        grid(b, list(extents.values()), cell, names, parallel=False)


def _extreme(
    guard: Index,
    at: Positions,
    extents: Extents,
    choose: Callable[[int, int], int],
) -> Index:
    """The least or largest value of a guard in a tile."""
    factors = coefficients(guard)
    offsets = (
        choose(0, factors.get(axis.iv, 0) * (extent - 1))
        for axis, extent in extents.items()
    )
    return replace_values(guard, dict(at)) + sum(offsets)
