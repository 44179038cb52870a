"""The tile of a block: where it lies, its local arrays, the cells that it keeps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.launches.gpu_launch import SHARED, thread_index
from gpucodegen.passes.gpu.stencils.time_nest import TimeNest, Written
from gpucodegen.tiling.machine.gpu.temporal_tiling import ACROSS, TimeTiles


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
    """What the threads of a block share; ``corner`` is the first cell of its box."""

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
    """What is not negative if a cell lies in a box."""
    pairs = zip(cell, spans, strict=True)
    return [c for at, s in pairs for c in (at - s.lower, s.upper - 1 - at)]


def reaching(
    cell: Sequence[Index], extents: Sequence[int], spans: Sequence[Span]
) -> list[Index]:
    """What is not negative if all cells of a box from ``cell`` lie in a box."""
    triples = zip(cell, extents, spans, strict=True)
    return [c for at, e, s in triples for c in (at - s.lower, s.upper - e - at)]
