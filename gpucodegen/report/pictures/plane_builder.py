"""Builds the `Plane` of two loops of a nest: isl answers become points and arrows.

`plane` takes a `Nest`, two loops and sizes of the parameters; `Grid` maps values of
loops to the rows and columns of a picture.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from gpucodegen.records import dataclass
from gpucodegen.report.pictures.planes import Arrow, Plane, Point, tile_loops
from gpucodegen.report.schedule_tree import effects
from gpucodegen.report.sizes import Sizes
from gpucodegen.report.subjects import Nest, Subject
from gpucodegen.tiling.model.points import (
    Cut,
    Tuple,
    executions,
    immediate,
    value_range,
)
from gpucodegen.tiling.model.relations import Instances
from gpucodegen.tiling.model.scop import Loop, loops
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.liveness import LoopKind
from gpucodegen.tiling.proof.witness import Event
from gpucodegen.tiling.schedule.skewing import front

Executed = Sequence[tuple[Instances, tuple[Tuple, ...]]]
"""Statements in textual order and their executions, as values of the shown loops."""


@dataclass(frozen=True, slots=True)
class GridLayout:
    """The depths of the outer and the inner loop, and of tile loops."""

    depths: tuple[int, int]
    tiles: Tuple

    @property
    def all(self) -> Tuple:
        """Every depth that matters."""
        return tuple(sorted({*self.depths, *self.tiles}))

    def shown(self, statement: Instances) -> Tuple:
        """The depths that surround a statement."""
        return tuple(depth for depth in self.all if depth < len(statement.loops))

    def is_inside(self, statement: Instances) -> bool:
        """Whether a loop at the depth of the inner one surrounds a statement."""
        return len(statement.loops) > self.depths[1]


@dataclass(frozen=True, slots=True)
class Grid:
    """Rows and columns by value.

    Statements outside the inner loop stand in a separate column: ``before`` it or
    ``after`` it. ``inside`` are the others.
    """

    layout: GridLayout
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    before: tuple[str, ...]
    inside: tuple[str, ...]
    after: tuple[str, ...]

    @staticmethod
    def of(layout: GridLayout, executed: Executed) -> Grid:
        """The grid on which all executions have a place."""
        outer, inner = layout.depths
        rows: set[int] = set()
        columns: set[int] = set()
        for statement, tuples in executed:
            shown = layout.shown(statement)
            rows |= {values[shown.index(outer)] for values in tuples}
            if layout.is_inside(statement):
                columns |= {values[shown.index(inner)] for values in tuples}
        statements = [statement for statement, _ in executed]
        inside = [s for s in statements if layout.is_inside(s)]
        outside = [s for s in statements if not layout.is_inside(s)]
        first = inside[0].order
        return Grid(
            layout,
            tuple(sorted(rows)),
            tuple(sorted(columns)),
            tuple(s.name for s in outside if s.order < first),
            tuple(s.name for s in inside),
            tuple(s.name for s in outside if s.order > first),
        )

    @property
    def labels(self) -> tuple[str, ...]:
        """The column labels."""
        first = ("before",) if self.before else ()
        last = ("after",) if self.after else ()
        return (*first, *map(str, self.columns), *last)

    def point(self, statement: Instances, values: Tuple) -> Point:
        """The point of an execution; outside of the shown part at -1."""
        shown = self.layout.shown(statement)
        by_depth = dict(zip(shown, values, strict=True))
        outer, inner = self.layout.depths
        name = statement.name
        if self.layout.is_inside(statement):
            group = self.inside
            column = _index(self.columns, by_depth[inner])
            column += bool(self.before) if column >= 0 else 0
        else:
            is_before = name in self.before
            group = self.before if is_before else self.after
            column = 0 if is_before else len(self.labels) - 1
        return Point(
            (*self.before, *self.inside, *self.after).index(name),
            _index(self.rows, by_depth[outer]),
            column,
            _slot(group.index(name), len(group)),
            tuple(by_depth[depth] for depth in self.layout.tiles if depth in by_depth),
        )


def _index(values: Sequence[int], value: int) -> int:
    return values.index(value) if value in values else -1


def _slot(number: int, count: int) -> float:
    """Evenly spaced positions from -1 to 1.

    >>> _slot(0, 1), _slot(0, 2), _slot(1, 3)
    (0.0, -1.0, 0.0)
    """
    return 2 * number / (count - 1) - 1 if count > 1 else 0.0


LIMITS = (10, 12)
"""At most so many values of the outer and of the inner loop are shown."""
CROWDED = (5, 8)
"""The same where an iteration executes several statements."""
MANY_ARROWS = 400
SMALL = 8
"""Parameters without a given size."""


def plane(subject: Subject, nest: Nest, pair: tuple[Loop, Loop], sizes: Sizes) -> Plane:
    """The plane of two loops, the outer one first.

    >>> import gpucodegen as gcg
    >>> from gpucodegen.report.pictures.planes import planes
    >>> from gpucodegen.report.subjects import subject
    >>> text = '''func.func @f(%A: memref<8x8xf32>) {
    ...   affine.for %i = 1 to 8 {
    ...     affine.for %j = 0 to 4 {
    ...       %x = affine.load %A[%i - 1, %j] : memref<8x8xf32>
    ...       affine.store %x, %A[%i, %j] : memref<8x8xf32>
    ...     }
    ...   }
    ...   return
    ... }'''
    >>> function = subject(gcg.parse(text), "f")
    >>> nest = function.nests[0]
    >>> shown = plane(function, nest, planes(nest)[0], Sizes())
    >>> len(shown.points), len(shown.arrows), {arrow.carrier for arrow in shown.arrows}
    (28, 24, {'i'})
    """
    chosen = {name: sizes.of(subject.names[name], SMALL) for name in subject.names}
    view = _View.of(nest, pair, chosen)
    grid = view.grid()
    points = tuple(
        grid.point(statement, values)
        for statement in view.shown
        for values in view.values(statement)
    )
    arrows, complete = view.arrows(grid)
    outer, inner = pair
    return Plane(
        outer,
        inner,
        tuple(map(str, grid.rows)),
        grid.labels,
        {**view.around(), **_used(subject, nest, chosen)},
        (*grid.before, *grid.inside, *grid.after),
        effects((nest.loop,)),
        points,
        arrows,
        view.front(),
        view.workers(),
        is_cut=any(map(view.is_cut, view.shown)),
        complete=complete,
    ).thinned(MANY_ARROWS)


def _used(subject: Subject, nest: Nest, sizes: Mapping[str, int]) -> dict[str, int]:
    """Parameters in the bounds of the nest, by the names of the program."""
    bounds = " ".join(
        bound for loop in loops((nest.loop,)) for bound in (*loop.lowers, *loop.uppers)
    )
    words = set(re.findall(r"\w+", bounds))
    return {subject.names[n][-1]: sizes[n] for n in sizes if n in words}


@dataclass(frozen=True, slots=True)
class _View:
    """The statements below the outer loop, and the values of the loops around it."""

    nest: Nest
    pair: tuple[Loop, Loop]
    sizes: Mapping[str, int]
    shown: tuple[Instances, ...]
    layout: GridLayout
    fixed: Tuple = ()

    @staticmethod
    def of(nest: Nest, pair: tuple[Loop, Loop], sizes: Mapping[str, int]) -> _View:
        outer, inner = pair
        inside = tuple(s for s in nest.statements if s.depth(outer) is not None)
        full = next(s for s in inside if s.depth(inner) is not None)
        names = [loop.name for loop in full.loops]
        found = tile_loops(nest, full.loops) - {outer.name, inner.name}
        tiles = tuple(depth for depth, name in enumerate(names) if name in found)
        depths = names.index(outer.name), names.index(inner.name)
        view = _View(nest, pair, sizes, inside, GridLayout(depths, tiles))
        return replace(view, fixed=view.most_telling(full)) if not tiles else view

    def around(self) -> dict[str, int]:
        """The loops around the two and their values."""
        names = [loop.name for loop in self.shown[0].loops]
        return dict(zip(names, self.fixed, strict=False))

    def most_telling(self, full: Instances) -> Tuple:
        """Of the first and last values of the loops around, those with more points."""
        choices: list[Tuple] = [()]
        for depth in range(self.layout.depths[0]):
            choices = [
                (*choice, value)
                for choice in choices[:4]
                for value in self.ends(full, choice, depth)
            ]
        return max(choices, key=lambda c: len(replace(self, fixed=c).values(full)))

    def ends(self, full: Instances, around: Tuple, depth: int) -> tuple[int, int]:
        """The first value of a loop, and its last one or one close to it."""
        found = value_range(self.nest.model, full, self.sizes, around)[depth]
        low = found.lower or 0
        far = low + full.loops[depth].step * (LIMITS[0] - 1)
        return low, far if found.upper is None else min(found.upper, far)

    def cut(self, statement: Instances) -> Cut:
        """The window on both loops and the tile loops that surround a statement."""
        shown = self.layout.shown(statement)
        limits = LIMITS if len(self.shown) == 1 else CROWDED
        window: list[tuple[int, int]] = []
        for depth in shown:
            deep = [s for s in self.shown if len(s.loops) > depth]
            ranges = [
                value_range(self.nest.model, s, self.sizes, self.fixed) for s in deep
            ]
            first = min((r[depth].lower or 0 for r in ranges), default=0)
            step = max(s.loops[depth].step for s in deep)
            most = limits[depth == self.layout.depths[1]]
            window.append((first, first + step * most))
        return Cut(self.sizes, self.fixed, shown, tuple(window))

    def is_cut(self, statement: Instances) -> bool:
        """Whether a statement has executions outside of the shown part."""
        cut = self.cut(statement)
        found = value_range(self.nest.model, statement, self.sizes, self.fixed)
        uppers = [found[depth].upper for depth in cut.shown]
        return any(
            upper is None or upper >= end
            for upper, (_, end) in zip(uppers, cut.window, strict=True)
        )

    def values(self, statement: Instances) -> tuple[Tuple, ...]:
        """The executions of a statement, by value."""
        return executions(self.nest.model, statement, self.cut(statement)) or ()

    def grid(self) -> Grid:
        """Rows and columns of everything that is executed."""
        return Grid.of(self.layout, [(s, self.values(s)) for s in self.shown])

    def arrows(self, grid: Grid) -> tuple[tuple[Arrow, ...], bool]:
        """One arrow per pair of points, and whether isl answered every query."""
        found = {arrow.places: arrow for arrow in self.witnesses(grid)}
        complete = True
        for group in self.groups():
            source, sink = group[0].source.instances, group[0].sink.instances
            answer = immediate(group, self.cut(source), self.cut(sink))
            complete &= answer is not None
            for d, pairs in answer or ():
                if d.level is not None and d.level not in self.layout.all:
                    continue
                carrier = d.carrier.name if d.carrier else ""
                for x, y in pairs:
                    new = Arrow(grid.point(source, x), grid.point(sink, y), carrier)
                    if new.moves:
                        found.setdefault(new.places, new)
        return tuple(found.values()), complete

    def groups(self) -> Iterator[Sequence[Dependence]]:
        """The dependences of each pair of references, in textual order."""
        names = {statement.name for statement in self.shown}
        groups: dict[object, list[Dependence]] = {}
        for d in self.nest.dependences:
            ends = [(end.instances.name, end.position) for end in (d.source, d.sink)]
            if {name for name, _ in ends} <= names:
                groups.setdefault(tuple(ends), []).append(d)
        yield from groups.values()

    def witnesses(self, grid: Grid) -> Iterator[Arrow]:
        """The witnesses of both loops whose ends are shown."""
        for loop in self.pair:
            witness = self.nest.verdict(loop).witness
            if witness is None:
                continue
            ends = [self.point(grid, e) for e in (witness.first, witness.second)]
            if ends[0] is not None and ends[1] is not None:
                new = Arrow(ends[0], ends[1], loop.name, witness=True)
                if new.moves:
                    yield new

    def point(self, grid: Grid, event: Event) -> Point | None:
        """The point of an event, if it is shown."""
        statement = next((s for s in self.shown if s.name == event.statement), None)
        values = tuple(event.iteration.values())
        if statement is None or values[: len(self.fixed)] != self.fixed:
            return None
        shown = tuple(values[depth] for depth in self.layout.shown(statement))
        found = grid.point(statement, shown)
        return None if -1 in {found.row, found.column} else found

    def workers(self) -> int | None:
        """The parallel loop whose iterations are independent of each other.

        With d the distances of the dependences that the two loops carry: d != {} and
        all d_l = 0.
        """
        carried = [d for d in self.nest.dependences if d.level in self.layout.all]
        if self.layout.tiles:
            return None
        for number, depth in enumerate(self.layout.depths):
            stays = all(
                depth < len(d.loops) and d.distance[depth].exact == 0 for d in carried
            )
            is_parallel = self.nest.verdict(self.pair[number]).kind is LoopKind.PARALLEL
            if carried and stays and is_parallel:
                return number
        return None

    def front(self) -> tuple[int, int] | None:
        """The front, where one statement fills the plane."""
        if len(self.shown) > 1:
            return None
        return front(self.nest.model, self.nest.dependences, *self.layout.depths)
