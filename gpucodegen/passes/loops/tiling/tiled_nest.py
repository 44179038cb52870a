"""Rectangular tiles of perfectly nested loops; whether that is legal is asked before.

A loop of t trips from l in steps of s and tiles of z iterations becomes

    for o = l to u step s*z:  for i = o to min(o + s*z, u) step s          z a number
    for o = 0 to ceil(t / z): for i = l + o*s*z to min(l + (o+1)*s*z, u)   z a value

and a tile is full where its end does not lie beyond the bounds:
{ o : box(o) in D } = { o : o + s*z <= u }, as D is rectangular.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gpucodegen.dialects import affine
from gpucodegen.ir.operation import Operation, Value, clone, single_block
from gpucodegen.ir.types import INDEX
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.passes.loops.framework.chains import rebuilt
from gpucodegen.passes.loops.framework.naming import with_suffix
from gpucodegen.passes.loops.framework.ranges import LoopRange, range_of, with_range

Size = Index | int
"""Iterations of a tile: a number, or the value of a symbol that is at least 1."""


@dataclass(frozen=True, slots=True)
class _Level:
    """One loop: the loop over tiles, if it is tiled, and that over points."""

    tiles: Operation | None
    points: Operation
    full: LoopRange
    partial: LoopRange

    @property
    def conditions(self) -> list[Index]:
        """What is >= 0 in full tiles."""
        if self.full == self.partial:
            return []
        return [upper - self.full.upper for upper in self.partial.uppers[1:]]


def tiled(
    chain: Sequence[Operation],
    sizes: Sequence[Size],
    body: Sequence[Operation],
    *,
    separate: bool = False,
) -> Operation:
    """The loops of ``chain``, perfectly nested, around ``body``; nothing is checked.

    Sizes count iterations; a size of 0 or 1 leaves its loop untiled.  With ``separate``
    full tiles get loops of constant length of their own, the others a copy.
    """
    levels = [_level(op, size) for op, size in zip(chain, sizes, strict=True)]
    inside = rebuilt([with_range(v.points, v.partial) for v in levels], body)
    conditions = [condition for level in levels for condition in level.conditions]
    if separate and conditions:
        full = rebuilt([with_range(v.points, v.full) for v in levels], body)
        inside = _where(conditions, clone(full), inside)
    tiles = [level.tiles for level in levels if level.tiles is not None]
    if not tiles:
        return inside
    return rebuilt(tiles, (inside, affine.yield_(location=inside.location)))


def _level(op: Operation, size: Size) -> _Level:
    given = range_of(op)
    if isinstance(size, int) and size <= 1:
        return _Level(None, op, given, given)
    variable = Value(
        INDEX, f"{affine.For(op).iv.name}_tile", affine.For(op).iv.location
    )
    origins, start, end = (
        _by_number(given, size, variable)
        if isinstance(size, int)
        else _by_value(given, size, variable)
    )
    tiles = with_range(op.with_(regions=(single_block((), (variable,)),)), origins)
    full = LoopRange((start,), (end,), given.step)
    divides = isinstance(size, int) and _divides(given, size)
    partial = full if divides else replace(full, uppers=(end, *given.uppers))
    return _Level(with_suffix(tiles, "tile"), op, full, partial)


def _by_number(
    given: LoopRange, size: int, origin: Value
) -> tuple[LoopRange, Index, Index]:
    """The range of tiles, the first point of one, and the end of it."""
    length = given.step * size
    return replace(given, step=length), Index.of(origin), Index.of(origin) + length


def _by_value(
    given: LoopRange, size: Index, number: Value
) -> tuple[LoopRange, Index, Index]:
    """The same for tiles counted from 0."""
    trips = [(upper - given.lower).ceildiv(given.step) for upper in given.uppers]
    counts = tuple(count.ceildiv(size) for count in trips)
    start = given.after(Index.of(number) * size)
    end = given.after((Index.of(number) + 1) * size)
    return LoopRange((Index.of(0),), counts), start, end


def _divides(given: LoopRange, size: int) -> bool:
    """Whether every tile is full."""
    trips = given.trips.constant if given.is_single else None
    return trips is not None and trips % size == 0


def _where(
    conditions: Sequence[Index], full: Operation, partial: Operation
) -> Operation:
    build = Builder(full.location)
    build.guard(
        conditions,
        lambda inner: inner.operations.append(full),
        lambda inner: inner.operations.append(partial),
    )
    (branch,) = build.operations
    return branch
