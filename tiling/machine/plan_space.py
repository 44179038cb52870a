"""Plan spaces: the candidate plans of a kernel, and their names in tuning points.

A planner passes its plans with their costs to a `Choose` function: the cheapest, or the
one that a tuning point requests.  `Menus` keeps the offered plans, so the planner's
candidates are exactly the tuner's space. A point names a field of a plan after its
kind, as in ``stream.width``; a field that is absent or 0 leaves the choice to the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol, TypeVar

P = TypeVar("P")
Point = Mapping[str, int]


class Choose(Protocol):
    """Selects a plan; there is at least one."""

    def __call__(self, plans: Iterable[P], cost: Callable[[P], Any], /) -> P:
        """The plan; ``cost`` returns a number, or a tuple that begins with one."""
        ...


def least(plans: Iterable[P], cost: Callable[[P], Any], /) -> P:
    """The plan of least cost; ties go to the first."""
    return min(plans, key=cost)


def point_of(kind: str, plan: object) -> Point:
    """The numeric fields of a plan by name.

    Flags are 1 and 2, and tuples of flags 1 for none, 2 for the first alone, and so on,
    since 0 leaves the choice to the model.

    >>> from gpucodegen.tiling.machine.gpu.streams import StreamPlan
    >>> point_of("stream", StreamPlan(4, 2, 128, 1))["stream.width"]
    4
    >>> point_of("parts", 8), point_of("time", None)
    ({'parts': 8}, {})
    """
    if isinstance(plan, int):
        return {kind: plan}
    if not is_dataclass(plan):
        return {}
    found: dict[str, int] = {}
    for one in fields(plan):
        found |= _numbers(f"{kind}.{one.name}", getattr(plan, one.name))
    return {name: number for name, number in found.items() if number}


def _numbers(name: str, value: object) -> dict[str, int]:
    match value:
        case bool():
            return {name: 1 + value}
        case int():
            return {name: value}
        case (bool(), *_):
            return {name: 1 + sum(flag << n for n, flag in enumerate(value))}
        case (int(), *_):
            return {f"{name}{n}": number for n, number in enumerate(value)}
        case _:
            return {}


def fields_of(kind: str, plan: type) -> list[str]:
    """The names of `point_of` for a plan type, with 0 for the index in a tuple.

    >>> from gpucodegen.tiling.machine.temporal_tiling import TimeTiles
    >>> fields_of("time0", TimeTiles), fields_of("parts", int)
    (['time0.tiled', 'time0.steps', 'time0.width0'], ['parts'])
    """
    if not is_dataclass(plan):
        return [kind]
    ends = {one.name: _END.get(str(one.type).partition(",")[0]) for one in fields(plan)}
    return [f"{kind}.{name}{end}" for name, end in ends.items() if end is not None]


_END = {"int": "", "bool": "", "tuple[bool": "", "tuple[int": "0"}
"""What follows the name of a field, by the beginning of its type."""


@dataclass(frozen=True, slots=True)
class PlanSpace:
    """The candidate plans of one kernel, with their estimated clocks.

    ``family``: the property that kernels with comparable plans share, in words.
    ``untiled``: among tiles of a time loop, the plan without tiles; points with tile
    sizes select it, too.

    >>> menu = PlanSpace(({"a": 1, "b": 1}, {"a": 2, "b": 2}), (9.0, 5.0))
    >>> menu.nearest({}), menu.nearest({"a": 1}), menu.nearest({"a": 1, "b": 2})
    (1, 0, 1)
    >>> menu.has({"a": 1, "b": 2}), menu.has({"b": 2})
    (False, True)
    """

    points: tuple[Point, ...]
    clocks: tuple[float, ...]
    family: str = ""
    untiled: Point = field(default_factory=dict[str, int])

    @property
    def names(self) -> frozenset[str]:
        """The field names that a point may set."""
        return frozenset[str]().union(*self.points)

    def asked(self, point: Point) -> Point:
        """The part of a point that sets fields of these plans."""
        names = self.names
        return {name: n for name, n in point.items() if n and name in names}

    def nearest(self, point: Point) -> int:
        """The index of the plan that differs least; ties go to the cheapest."""
        return _nearest(self.points, self.asked(point), self.clocks.__getitem__)

    def has(self, point: Point) -> bool:
        """Whether a plan has all requested field values."""
        asked = self.asked(point)
        return any(not _apart(plan, asked) for plan in self.points)


def _apart(plan: Point, asked: Point) -> int:
    """The number of requested fields in which a plan differs."""
    return len(asked.items() - plan.items())


def _nearest(plans: Sequence[Point], asked: Point, cost: Callable[[int], Any]) -> int:
    every = range(len(plans))
    return min(every, key=lambda n: (_apart(plans[n], asked), cost(n)))


@dataclass(slots=True)
class Menus:
    """The requested plan fields of a function, and the plan spaces it was given.

    Kernels without such a plan get the one that differs least.  ``keeps``: plan spaces
    are kept, which takes time where there are many plans.

    >>> menus = Menus({"width": 2}, keeps=True)
    >>> menus.of("width")([1, 2, 4], lambda width: 1 / width)
    2
    >>> menus.kept[0].clocks, menus.unmet
    ((1.0, 0.5, 0.25), {})
    """

    wanted: Point = field(default_factory=dict[str, int])
    keeps: bool = False
    kept: list[PlanSpace] = field(default_factory=list[PlanSpace])
    met: set[str] = field(default_factory=set[str])

    @property
    def unmet(self) -> Point:
        """The requested fields that no kernel has."""
        return {name: n for name, n in self.wanted.items() if name not in self.met}

    def of(self, kind: str) -> Choose:
        """The `Choose` function for plans of a kind."""
        asked = {
            name: n
            for name, n in self.wanted.items()
            if n and name.partition(".")[0] == kind
        }

        def choose(plans: Iterable[P], cost: Callable[[P], Any], /) -> P:
            if not asked and not self.keeps:
                return least(plans, cost)
            listed = list(plans)
            costs = list(map(cost, listed))
            points = [point_of(kind, plan) for plan in listed]
            number = _nearest(points, asked, costs.__getitem__)
            if not _apart(points[number], asked):
                self.met |= asked.keys()
            if any(points):
                clocks = tuple(map(_clocks, costs))
                self.kept.append(PlanSpace(tuple(points), clocks))
            return listed[number]

        return choose


def _clocks(cost: Any) -> float:
    return float(cost[0] if isinstance(cost, tuple) else cost)
