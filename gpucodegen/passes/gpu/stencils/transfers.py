"""Cells of arrays into the tile of a block, and out of it.

Cells that no step writes are always taken from the program's array, the others from
the array that the last launch has written.  So neighbours that store their tiles never
meet those that still load halos.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.gpu.stencils.chunks import AtPlace, Place, cells, deal
from gpucodegen.passes.gpu.stencils.tiles import Block, Hull, Span, reaching, within
from gpucodegen.passes.gpu.stencils.time_nest import Written

AT_ONCE = 8
"""Most loads of a thread that are under way at once."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """An array's way through a launch.

    Cells in ``hull`` come from ``source``, unless each step makes them anew, and go to
    ``target``.
    """

    array: Written
    hull: Hull
    source: Value
    target: Value

    def load(self, b: Builder, block: Block) -> None:
        """Fill the local array, as far as there are cells."""
        box = block.plan.box
        corner = [Index.of(c) for c in block.corner]
        local = block.local[self.array.memref]
        extents = _extents(b, self.array)

        def anew(i: Builder, cell: Sequence[Index]) -> Value:
            if not self.array.carried:
                return i.constant(0, self.array.type.element)
            return i.load(self.source, cell, "cell")

        def inner(i: Builder, place: Place) -> None:
            i.store(anew(i, block.cell(place)), local, place)

        def edge(i: Builder, place: Place) -> None:
            cell = block.cell(place)

            def taken(n: Builder) -> None:
                value = n.choose(
                    within(cell, self.hull),
                    lambda m: anew(m, cell),
                    lambda m: m.load(self.array.memref, cell, "cell"),
                    "cell",
                )
                n.store(value, local, place)

            i.guard(within(cell, extents), taken)

        b.guard(
            reaching(corner, box, self.hull),
            lambda i: _walk(i, box, block, inner),
            lambda i: _walk(i, box, block, edge),
        )

    def store(self, b: Builder, block: Block, last: Sequence[Index]) -> None:
        """Store the tile; what each step makes anew only if ``last`` is not negative."""
        tile = block.plan.tile
        halo = [Index.of(side.below) for side in block.plan.halo]
        local = block.local[self.array.memref]

        def inner(i: Builder, place: Place) -> None:
            here = [p + h for p, h in zip(place, halo, strict=True)]
            value = i.load(local, here, "cell")
            i.store(value, self.target, block.cell(here))

        def edge(i: Builder, place: Place) -> None:
            here = [p + h for p, h in zip(place, halo, strict=True)]
            i.guard(within(block.cell(here), self.hull), lambda n: inner(n, place))

        def whole(i: Builder) -> None:
            i.guard(
                reaching(block.cell(halo), tile, self.hull),
                lambda n: _walk(n, tile, block, inner),
                lambda n: _walk(n, tile, block, edge),
            )

        b.guard([] if self.array.carried else last, whole)


def _extents(b: Builder, array: Written) -> list[Span]:
    """The cells that an array has."""
    return [
        Span(Index.of(0), Index.of(_extent(b, array, dimension, size)))
        for dimension, size in enumerate(array.type.shape)
    ]


def _extent(
    b: Builder, array: Written, dimension: int, size: int | None
) -> Value | int:
    return b.extent(array.memref, dimension) if size is None else size


def _walk(b: Builder, extents: Sequence[int], block: Block, body: AtPlace) -> None:
    """Every cell of a box, neighbouring threads at neighbouring cells."""
    chunk = [1] * len(extents)
    left = AT_ONCE
    for dimension in reversed(range(len(extents) - 1)):
        chunk[dimension] = _divisor(extents[dimension], left)
        left //= chunk[dimension]
    plan = block.plan
    deal(
        b,
        extents,
        chunk,
        block.thread,
        plan.threads,
        lambda i, first: cells(i, first, chunk, body),
    )


def _divisor(extent: int, most: int) -> int:
    """The largest divisor of an extent up to ``most``.

    >>> _divisor(36, 8)
    6
    """
    return max(d for d in range(1, most + 1) if extent % d == 0)
