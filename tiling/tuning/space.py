"""The search space of a tuner: named dimensions, a few values each, forbidden points.

Comes in: values per dimension and a predicate. Goes out: points, their neighbours and
random members. A point is a plain mapping from dimension to value.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from random import Random

Point: TypeAlias = Mapping[str, int]
Objection: TypeAlias = object
Identity: TypeAlias = tuple[tuple[str, int], ...]

REGISTER_TILE = ("rows", "columns", "k_block")
"""Sizes of a contraction on the CPU: of the result in registers, and of the steps."""


def no_objection(point: Point) -> Objection | None:
    """Every point is legal.

    >>> no_objection({"i": 8}) is None
    True
    """
    del point


def identity(point: Mapping[str, int]) -> Identity:
    """A point as a key.

    >>> identity({"j": 8, "i": 4})
    (('i', 4), ('j', 8))
    """
    return tuple(sorted(point.items()))


def is_tile(name: str) -> bool:
    """Whether a size is one of the tile of a nest.

    >>> is_tile("tile12"), is_tile("product.tile_rows")
    (True, False)
    """
    return name.startswith("tile") and name[4:].isdigit()


def shown(point: Point) -> str:
    """A point as a line shows it.

    >>> shown({"rows": 4, "columns": 0})
    'rows=4, columns=0'
    """
    return ", ".join(f"{name}={size}" for name, size in point.items())


@dataclass(frozen=True, slots=True)
class Space:
    """All combinations of the dimensions' values to which ``objection`` gives None.

    ``objection`` tells why a point is illegal: a text, a `Refusal`, anything printable.
    ``schedule``: a key of what a point compiles to, where several may be the same.

    >>> space = Space({"i": (8, 16, 32), "j": (16, 32)})
    >>> space.size
    6
    >>> [dict(point) for point in space.neighbours({"i": 8, "j": 16})]
    [{'i': 16, 'j': 16}, {'i': 8, 'j': 32}]
    """

    dimensions: Mapping[str, Sequence[int]]
    objection: Callable[[Point], Objection | None] = no_objection
    schedule: Callable[[Point], Hashable] = identity

    @property
    def size(self) -> int:
        """The number of points, legal or not."""
        return prod(len(values) for values in self.dimensions.values())

    def points(self) -> Iterator[Point]:
        """Every legal point, first dimension slowest."""
        for values in product(*self.dimensions.values()):
            point = dict(zip(self.dimensions, values, strict=True))
            if self.objection(point) is None:
                yield point

    def neighbours(self, point: Point) -> Iterator[Point]:
        """The legal points one step away along one dimension."""
        for name, values in self.dimensions.items():
            at = list(values).index(point[name])
            for step in (at - 1, at + 1):
                if 0 <= step < len(values):
                    moved = {**point, name: values[step]}
                    if self.objection(moved) is None:
                        yield moved

    def sample(self, random: Random, attempts: int = 1000) -> Point | None:
        """A random legal point, None if none turned up."""
        for _ in range(attempts):
            point = {
                name: random.choice(values) for name, values in self.dimensions.items()
            }
            if self.objection(point) is None:
                return point
        return next(self.points(), None) if self.size <= attempts else None
