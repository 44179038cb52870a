"""Tiles of temporally tiled stencils: their box, halos, loads and stores.

A launch loads carried arrays from one buffer and stores them to another, so blocks that
store their tiles never conflict with neighbours that still load halos.  Of an array
that each step recomputes, only elements that no step writes are loaded, and the others
are stored by the last launch alone.  Elements are assigned to threads in chunks;
neighbouring threads take neighbouring chunks along the last dimension.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.stencil_recognition import TimeNest, Written
from gpucodegen.passes.outlining.gpu_launch import SHARED, thread_index
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.temporal_tiling import ACROSS, TimeTiles

Place = Sequence[Index]
"""A cell, counted from the corner of its box."""
AtPlace = Callable[[Builder, Place], None]


def deal(
    b: Builder,
    extents: Sequence[int],
    chunk: Sequence[int],
    thread: Value,
    threads: int,
    body: AtPlace,
) -> None:
    """``body`` at the first cell of each chunk of a box, over the threads.

    Extents are multiples of the chunk's.
    """
    counts = [e // c for e, c in zip(extents, chunk, strict=True)]

    def at(inner: Builder, number: Value) -> None:
        places: list[Index] = []
        size = 1
        for dimension in reversed(range(len(counts))):
            here = Index.of(number) // size if size > 1 else Index.of(number)
            size *= counts[dimension]
            inside = here % counts[dimension] if dimension else here
            first = inner.index(inside * chunk[dimension], "c")
            places.insert(0, Index.of(first))
        body(inner, places)

    total = prod(counts)
    if total == threads:
        at(b, thread)
    elif total < threads:
        b.guard([Index.of(total - 1) - thread], lambda i: at(i, thread))
    else:
        b.loop(thread, total, at, step=threads, hint="e")


def cells(b: Builder, first: Place, chunk: Sequence[int], body: AtPlace) -> None:
    """``body`` at every cell of a chunk."""

    def along(inner: Builder, place: list[Index]) -> None:
        dimension = len(place)
        if dimension == len(chunk):
            body(inner, place)
        elif chunk[dimension] == 1:
            along(inner, [*place, first[dimension]])
        else:
            inner.loop(
                0,
                chunk[dimension],
                lambda i, n: along(i, [*place, first[dimension] + n]),
                hint="n",
            )

    along(b, [])


@dataclass(frozen=True, slots=True)
class Span:
    """Cells from ``lower`` to before ``upper``."""

    lower: Index
    upper: Index


Spans = tuple[Span, ...]
"""A box of cells."""


def extents(b: Builder, array: Written) -> Spans:
    """The cells that an array has."""
    return tuple(
        Span(Index.of(0), Index.of(b.extent(array.memref, d) if size is None else size))
        for d, size in enumerate(array.type.shape)
    )


def hull(array: Written) -> Spans:
    """The cells of an array that a single sweep writes."""
    (sweep, store), *_ = array.stores
    ways = sweep.offsets[id(store)]
    return tuple(
        Span(axis.lower + way, axis.upper + way)
        for axis, way in zip(sweep.axes, ways, strict=True)
    )


def kept(b: Builder, array: Written) -> Spans:
    """The cells that a launch stores: all of a carried array, else the written ones."""
    return extents(b, array) if array.carried else hull(array)


def _least(b: Builder, bounds: Sequence[Index], sign: int) -> Index:
    """The largest of them, or with a negative sign the smallest."""
    best, *others = bounds
    unknown = [best]
    for other in others:
        distance = compact(other - best).constant
        if distance is None:
            unknown.append(other)
        elif distance * sign > 0:
            unknown = [other if bound is best else bound for bound in unknown]
            best = other
    if len(unknown) == 1:
        return best
    choose = b.largest if sign > 0 else b.smallest
    return Index.of(choose(unknown, "end"))


@dataclass(frozen=True, slots=True)
class Grid:
    """Tiles over all arrays: where the first one begins, and how many there are."""

    origin: tuple[Index, ...]
    counts: tuple[Index, ...]

    @staticmethod
    def over(b: Builder, nest: TimeNest, plan: TimeTiles) -> Grid:
        """Tiles of all arrays; their rows are loaded from aligned cells on."""
        every = list(zip(*(kept(b, array) for array in nest.arrays), strict=True))
        ends = [_least(b, [span.upper for span in spans], 1) for spans in every]
        starts = [_least(b, [span.lower for span in spans], -1) for spans in every]
        known = starts[-1].constant
        if known is not None:
            starts[-1] = starts[-1] - (known - plan.halo[-1].below) % ACROSS
        counts = (
            (end - start + (size - 1)) // size
            for end, start, size in zip(ends, starts, plan.tile, strict=True)
        )
        return Grid(tuple(map(compact, starts)), tuple(map(compact, counts)))


@dataclass(frozen=True, slots=True)
class Block:
    """Values shared by a block's threads; ``corner``: the first cell of its box."""

    plan: TimeTiles
    thread: Value
    corner: tuple[Value, ...]
    local: Mapping[Value, Value]

    @staticmethod
    def build(b: Builder, nest: TimeNest, plan: TimeTiles, grid: Grid) -> Block:
        """The values of a block, at the start of its kernel."""
        local = {
            array.memref: b.allocate(
                "memref.alloca",
                MemRefType(plan.stored, array.type.element, None, SHARED),
                f"{array.memref.name}_tile",
            )
            for array in nest.arrays
        }
        thread = thread_index(b, "thread_id", "x", "t")
        corner: list[Value] = []
        for dimension, origin in enumerate(grid.origin):
            name = "xyz"[nest.rank - 1 - dimension]
            block = Index.of(thread_index(b, "block_id", name, f"b{name}"))
            first = origin + block * plan.tile[dimension]
            here = compact(first - plan.halo[dimension].below)
            corner.append(b.index(here, "corner"))
        return Block(plan, thread, tuple(corner), local)

    def cell(self, place: Sequence[Index]) -> list[Index]:
        """The cell of the arrays at a place of the box."""
        return [c + p for c, p in zip(map(Index.of, self.corner), place, strict=True)]


def within(cell: Sequence[Index], spans: Sequence[Span]) -> list[Index]:
    """Expressions that are non-negative if a cell lies in a box."""
    pairs = zip(cell, spans, strict=True)
    return [c for at, s in pairs for c in (at - s.lower, s.upper - 1 - at)]


def reaching(
    cell: Sequence[Index], extents: Sequence[int], spans: Sequence[Span]
) -> list[Index]:
    """Non-negative expressions if all cells of a box from ``cell`` lie in a box."""
    triples = zip(cell, extents, spans, strict=True)
    return [c for at, e, s in triples for c in (at - s.lower, s.upper - e - at)]


AT_ONCE = 8
"""Most loads in flight per thread."""


@dataclass(frozen=True, slots=True)
class Transfers:
    """The copies of a launch: from ``source`` to ``target``."""

    block: Block
    source: Mapping[Value, Value]
    target: Mapping[Value, Value]

    def load(self, b: Builder, array: Written) -> None:
        """Fill the local array within the bounds of the global one."""
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
        """Store the tile; recomputed arrays only if ``last`` is non-negative."""
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
