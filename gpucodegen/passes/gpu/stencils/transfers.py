"""Cells of arrays into the tile of a block, and out of it.

A launch loads carried arrays from one buffer and stores them to another one, so
neighbours that store their tiles never meet those that still load halos.  Of an array
that each step makes anew, only cells that no step writes are loaded, and the others are
stored by the last launch alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.stencils.chunks import AtPlace, Place, cells, deal
from gpucodegen.passes.gpu.stencils.tiles import (
    Block,
    Spans,
    extents,
    hull,
    kept,
    reaching,
    within,
)
from gpucodegen.passes.gpu.stencils.time_nest import Written

AT_ONCE = 8
"""Most loads of a thread that are under way at once."""


@dataclass(frozen=True, slots=True)
class Transfers:
    """The way of arrays through a launch: from ``source`` to ``target``."""

    block: Block
    source: Mapping[Value, Value]
    target: Mapping[Value, Value]

    def load(self, b: Builder, array: Written) -> None:
        """Fill the local array, as far as there are cells."""
        box = self.block.plan.box
        local = self.block.local[array.memref]
        corner = [Index.of(0)] * len(box)
        present = extents(b, array)

        def loaded(i: Builder, place: Place) -> Value:
            return i.load(self.source[array.memref], self.block.cell(place), "cell")

        def empty(i: Builder) -> Value:
            return i.constant(0, array.type.element)

        def copy(i: Builder, place: Place) -> None:
            i.store(loaded(i, place), local, place)

        def clear(i: Builder, place: Place) -> None:
            i.store(empty(i), local, place)

        def unwritten(i: Builder, place: Place) -> None:
            anew = within(self.block.cell(place), hull(array))
            value = i.choose(anew, empty, lambda n: loaded(n, place), "cell")
            i.store(value, local, place)

        if array.carried:
            self._each(b, corner, box, present, copy)
        else:
            b.guard(
                reaching(self.block.cell(corner), box, hull(array)),
                lambda i: self._walk(i, box, clear),
                lambda i: self._each(i, corner, box, present, unwritten),
            )

    def store(self, b: Builder, array: Written, last: Sequence[Index]) -> None:
        """Store the tile; what each step makes anew if ``last`` is not negative."""
        plan = self.block.plan
        local, target = self.block.local[array.memref], self.target[array.memref]
        first = [Index.of(halo.below) for halo in plan.halo]

        def put(i: Builder, place: Place) -> None:
            i.store(i.load(local, place, "cell"), target, self.block.cell(place))

        b.guard(
            [] if array.carried else last,
            lambda i: self._each(i, first, plan.tile, kept(i, array), put),
        )

    def _each(
        self,
        b: Builder,
        first: Place,
        size: Sequence[int],
        spans: Spans,
        body: AtPlace,
    ) -> None:
        """Every cell of a part of the box that lies in ``spans``."""

        def at(i: Builder, steps: Place) -> None:
            body(i, [f + s for f, s in zip(first, steps, strict=True)])

        def guarded(i: Builder, steps: Place) -> None:
            place = [f + s for f, s in zip(first, steps, strict=True)]
            known = within(self.block.cell(place), spans)
            i.guard(known, lambda n: body(n, place))

        b.guard(
            reaching(self.block.cell(first), size, spans),
            lambda i: self._walk(i, size, at),
            lambda i: self._walk(i, size, guarded),
        )

    def _walk(self, b: Builder, size: Sequence[int], body: AtPlace) -> None:
        """Every cell of a box, neighbouring threads at neighbouring cells."""
        chunk = [1] * len(size)
        left = AT_ONCE
        for dimension in reversed(range(len(size) - 1)):
            chunk[dimension] = _divisor(size[dimension], left)
            left //= chunk[dimension]
        deal(
            b,
            size,
            chunk,
            self.block.thread,
            self.block.plan.threads,
            lambda i, first: cells(i, first, chunk, body),
        )


def _divisor(extent: int, most: int) -> int:
    """The largest divisor of an extent up to ``most``.

    >>> _divisor(36, 8)
    6
    """
    return max(d for d in range(1, most + 1) if extent % d == 0)
