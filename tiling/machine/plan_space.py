"""The plans that a planner chooses among: the model's choice, or what is asked for.

Comes in: plans of one kind of kernel and what each costs.  Goes out: one of them.  What
was on offer is kept, as points of a search: so the planner's candidates are the tuner's
space, and nothing else is.  A point names a field of a plan after its kind, as in
``stream.width``; a field that it leaves out, or that is 0, is the model's choice.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any, Protocol, TypeVar

P = TypeVar("P")
Point = Mapping[str, int]


class Choose(Protocol):
    """Takes one of some plans, of which there is at least one."""

    def __call__(self, plans: Iterable[P], cost: Callable[[P], Any], /) -> P:
        """The plan; ``cost`` is a number, or a tuple that begins with one."""
        ...


def least(plans: Iterable[P], cost: Callable[[P], Any], /) -> P:
    """The plan of least cost, the first of several."""
    return min(plans, key=cost)


def point_of(kind: str, plan: object) -> Point:
    """The numbers of a plan by their names.

    Flags are 1 and 2, and tuples of them 1 for none, 2 for the first alone, and so on,
    as 0 asks for nothing.

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
    """The names that `point_of` has for plans of a type, a 0 for the place in a tuple.

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
    """The plans on offer for one kernel, with their estimated clocks.

    ``family``: what else kernels have in common whose plans compare, in words.
    ``untiled``: of tiles of a time loop, the plan that has none; tile sizes are taken
    to have it, too.

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
        """What may be asked for."""
        return frozenset[str]().union(*self.points)

    def asked(self, point: Point) -> Point:
        """The part of a point that is about these plans."""
        names = self.names
        return {name: n for name, n in point.items() if n and name in names}

    def nearest(self, point: Point) -> int:
        """The number of the plan that differs least from a point; the cheapest one."""
        return _nearest(self.points, self.asked(point), self.clocks.__getitem__)

    def has(self, point: Point) -> bool:
        """Whether a plan has all that a point asks for."""
        asked = self.asked(point)
        return any(not _apart(plan, asked) for plan in self.points)


def _apart(plan: Point, asked: Point) -> int:
    """How many of the numbers that are asked for a plan does not have."""
    return len(asked.items() - plan.items())


def _nearest(plans: Sequence[Point], asked: Point, cost: Callable[[int], Any]) -> int:
    every = range(len(plans))
    return min(every, key=lambda n: (_apart(plans[n], asked), cost(n)))


@dataclass(slots=True)
class Menus:
    """What a caller asks of the plans of a function, and what was on offer.

    Kernels that have no such plan get the one that differs least.  ``keeps``: menus are
    kept, which takes time where there are many plans.

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
        """What was asked for, and no kernel has."""
        return {name: n for name, n in self.wanted.items() if name not in self.met}

    def of(self, kind: str) -> Choose:
        """The choice among plans of a kind."""
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
