"""Copies between an array and the buffer that holds its tile, as loops.

Element x of the buffer is cell corner + x of the array.  The loops run over x, from
the largest lower bound to the smallest upper one, so partial tiles stay in the array.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum

from gpucodegen.ir.operation import Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.gpu.transfers.promote.scope import Scope
from gpucodegen.tiling.schedule.promotion import Linear, LocalTile, ScannedRange


class Way(Enum):
    """Into the buffer before its uses, or out of it after them."""

    IN = "in"
    OUT = "out"


@dataclass(frozen=True, slots=True)
class Held:
    """A tile with its buffer."""

    tile: LocalTile
    memref: Value
    buffer: Value
    scope: Scope

    @property
    def corner(self) -> list[Index]:
        """The cell of the buffer's first element."""
        return [self.scope.index(bound) for bound in self.tile.corner]

    def ranges(self, way: Way) -> tuple[ScannedRange, ...] | None:
        """The cells that are copied."""
        return self.tile.copy_in if way is Way.IN else self.tile.copy_out


@dataclass(frozen=True, slots=True)
class Span:
    """A range of one dimension of the buffer."""

    lowers: tuple[Index, ...]
    uppers: tuple[Index, ...]


def span(
    held: Held, range_: ScannedRange, d: int, outer: Sequence[Index | Value | int]
) -> Span:
    """The range of dimension ``d`` where the buffer indices before it are ``outer``."""
    corner = held.corner
    cells = {f"c{i}": corner[i] + x for i, x in enumerate(outer)}

    def shifted(bounds: Sequence[Linear]) -> tuple[Index, ...]:
        return tuple(compact(held.scope.index(b, cells) - corner[d]) for b in bounds)

    return Span(shifted(range_.lowers), shifted(range_.uppers))


def over(
    b: Builder,
    held: Held,
    ranges: Sequence[ScannedRange],
    body: Callable[[Builder, Sequence[Value]], None],
    outer: Sequence[Value] = (),
) -> None:
    """Loops over the leading dimensions of the buffer, one per range."""
    d = len(outer)
    if d == len(ranges):
        body(b, outer)
        return
    bounds = span(held, ranges[d], d, outer)

    def inside(inner: Builder, iv: Value) -> None:
        over(inner, held, ranges, body, (*outer, iv))

    b.loop(bounds.lowers, bounds.uppers, inside, hint=f"{held.memref.name}{d}")


def copy_by_loops(b: Builder, held: Held, way: Way) -> None:
    """One element at a time."""
    ranges = held.ranges(way)
    if ranges is None:
        return

    def element(inner: Builder, place: Sequence[Value]) -> None:
        cell = [c + x for c, x in zip(held.corner, place, strict=True)]
        ends = [(held.memref, cell), (held.buffer, list(place))]
        source, target = ends if way is Way.IN else reversed(ends)
        inner.store(inner.load(*source, hint="moved"), *target)

    over(b, held, ranges, element)
