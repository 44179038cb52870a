"""From values of loops to the rows and columns of a picture."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from gpucodegen.report.pictures.planes import Point
from gpucodegen.tiling.model.points import Tuple
from gpucodegen.tiling.model.relations import Instances

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
        """The depths that matter for a statement, as far as loops surround it."""
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
        """What stands over the columns."""
        first = ("before",) if self.before else ()
        last = ("after",) if self.after else ()
        return (*first, *map(str, self.columns), *last)

    def point(self, statement: Instances, values: Tuple) -> Point:
        """The point of an execution; outside of what is shown at -1."""
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
    """From -1 to 1, evenly.

    >>> _slot(0, 1), _slot(0, 2), _slot(1, 3)
    (0.0, -1.0, 0.0)
    """
    return 2 * number / (count - 1) - 1 if count > 1 else 0.0
