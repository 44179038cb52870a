"""The `Plane` of two loops: executions at small sizes, dependences, colours.

A `Plane` is the content of one picture, in grid coordinates. Loops around the two have
one value; loops inside and between them are projected out; tile loops are colours.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import combinations

from gpucodegen.records import dataclass
from gpucodegen.report.subjects import Nest
from gpucodegen.tiling.model.points import Tuple
from gpucodegen.tiling.model.scop import Loop
from gpucodegen.tiling.proof.liveness import nested_loops


@dataclass(frozen=True, slots=True)
class Point:
    """An execution: its statement and place; ``tile``: values of its tile loops.

    ``slot``: its place among the statements of one iteration, from -1 to 1.
    """

    statement: int
    row: int
    column: int
    slot: float = 0.0
    tile: Tuple = ()

    @property
    def iteration(self) -> tuple[int, int]:
        """Row and column."""
        return self.row, self.column

    @property
    def place(self) -> tuple[int, int, int]:
        """A key that distinguishes it from other points."""
        return self.statement, self.row, self.column


@dataclass(frozen=True, slots=True)
class Arrow:
    """A dependence from source to sink; ``carrier``: the carrying loop, if any."""

    source: Point
    sink: Point
    carrier: str
    witness: bool = False

    @property
    def places(self) -> tuple[object, object]:
        """A key that distinguishes it from other arrows."""
        return self.source.place, self.sink.place

    @property
    def moves(self) -> bool:
        """Whether its ends are different points."""
        return self.source.place != self.sink.place


@dataclass(frozen=True, slots=True)
class Plane:
    """The content of one picture.

    ``rows`` and ``columns``: the values of the outer and the inner loop. ``given``: the
    loops around them and the parameters of the bounds. ``effects``: the effect of each
    statement. ``front``: factors of `gpucodegen.tiling.schedule.skewing`, if there are
    some. ``workers``: 0 or 1, the parallel loop without dependences along it, so that
    each of its iterations may have its own thread. ``is_cut``: there are more
    iterations. ``complete``: isl answered every query. ``focus``: the row and column of
    the only iteration whose arrows are kept, where there were too many.
    """

    outer: Loop
    inner: Loop
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    given: Mapping[str, int]
    statements: tuple[str, ...]
    effects: Mapping[str, str]
    points: tuple[Point, ...]
    arrows: tuple[Arrow, ...]
    front: tuple[int, int] | None = None
    workers: int | None = None
    is_cut: bool = False
    complete: bool = True
    focus: tuple[int, int] | None = None

    def thinned(self, most: int) -> Plane:
        """The plane itself, or with arrows of its middle only if it has too many."""
        if len(self.arrows) <= most:
            return self
        focus = len(self.rows) // 2, len(self.columns) // 2
        kept = tuple(
            arrow
            for arrow in self.arrows
            if arrow.witness or focus in {arrow.source.iteration, arrow.sink.iteration}
        )
        return replace(self, arrows=kept, focus=focus)


def planes(nest: Nest) -> tuple[tuple[Loop, Loop], ...]:
    """The pairs of nested loops that can be shown, the most informative first."""
    busy = {loop.name for statement in nest.statements for loop in statement.loops}
    around = {
        loop.name: (*outer, loop)
        for loop, outer in nested_loops((nest.loop,))
        if loop.name in busy
    }
    pairs = [
        (outer, inner)
        for chain in around.values()
        for outer, inner in combinations(chain, 2)
        if inner is chain[-1] and _drawable(outer) and _drawable(inner)
    ]
    tiles = {name for chain in around.values() for name in tile_loops(nest, chain)}
    plain = [p for p in pairs if not {p[0].name, p[1].name} & tiles] or pairs
    return tuple(sorted(plain, key=lambda pair: _interest(nest, *pair, around)))


def _drawable(loop: Loop) -> bool:
    return bool(loop.lowers and loop.uppers) and not loop.opaque


def tile_loops(nest: Nest, chain: Sequence[Loop]) -> set[str]:
    """Loops that bound inner loops and occur in no subscript."""
    starts = _words(low for loop in chain for low in loop.lowers)
    subscripts = _words(
        str(index)
        for statement in nest.statements
        for access in statement.accesses
        for index in access.indices
    )
    return {loop.name for loop in chain} & starts - subscripts


def _words(texts: Iterable[str]) -> set[str]:
    return set(re.findall(r"\w+", " ".join(texts)))


def _interest(
    nest: Nest, outer: Loop, inner: Loop, around: Mapping[str, Sequence[Loop]]
) -> tuple[int, int, int, int]:
    """A sort key: more carried, in one band or coupled, adjacent, outermost first."""
    carried = sum(bool(nest.verdict(loop).carried) for loop in (outer, inner))
    together = nest.band_of(outer) is nest.band_of(inner) or outer.name in "".join(
        (*inner.lowers, *inner.uppers)
    )
    depth = len(around[outer.name])
    return -carried, -int(together), len(around[inner.name]) - depth, depth
