"""Plan spaces: the candidate plans of a kernel, and their names in tuning points.

A planner passes its plans with their costs to a `Choose` function: the cheapest, or the
one that a tuning point requests.  `Menus` keeps the offered plans, so the planner's
candidates are exactly the tuner's space. A point names a field of a plan after its
kind, as in ``stream.width``; a field that is absent or 0 leaves the choice to the
model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, fields, is_dataclass
from functools import lru_cache
from typing import Any, Protocol, TypeVar

from gpucodegen.records import dataclass

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


@lru_cache(maxsize=1 << 14, typed=True)
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


Words = Mapping[str, int | tuple[int, ...]]
"""Fields of a plan by name: numbers, booleans, and tuples of either."""


def words_of(plan: object) -> Words:
    """The fields of a plan as a schedule prints them; a plan may be one number.

    >>> from gpucodegen.tiling.machine.temporal_tiling import TimeTiles
    >>> words_of(TimeTiles(True, 4, (256,))), words_of(8)
    ({'tiled': True, 'steps': 4, 'width': (256,)}, {'value': 8})
    """
    if isinstance(plan, int):
        return {"value": plan}
    if not is_dataclass(plan):
        return {}
    values = {one.name: getattr(plan, one.name) for one in fields(plan)}
    return {name: value for name, value in values.items() if _numbers(name, value)}


def point_of_words(kind: str, words: Words) -> Point:
    """The point with these fields.

    >>> point_of_words("time0", {"tiled": True, "steps": 4, "width": (256,)})
    {'time0.tiled': 2, 'time0.steps': 4, 'time0.width0': 256}
    >>> point_of_words("parts", {"value": 8})
    {'parts': 8}
    """
    found: dict[str, int] = {}
    for name, value in words.items():
        found |= _numbers(kind if name == "value" else f"{kind}.{name}", value)
    return {name: number for name, number in found.items() if number}


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
    """The plan that differs least; of equal ones the one with no other fields.

    >>> plans, cost = [{}, {"a": 1}, {"a": 1, "b": 2}], [3.0, 2.0, 1.0].__getitem__
    >>> _nearest(plans, {}, cost), _nearest(plans, {"a": 1}, cost)
    (2, 1)
    """
    same = [n for n, plan in enumerate(plans) if plan == asked] if asked else []
    if same:
        return min(same, key=cost)
    distances = [(_apart(plan, asked), bool(asked) and plan != asked) for plan in plans]
    least_distance = min(distances)
    found = (n for n, each in enumerate(distances) if each == least_distance)
    return min(found, key=cost)


@dataclass(frozen=True, slots=True)
class Choice:
    """The plan that a kernel got: ``kernel`` is its name, ``kind`` that of the plan."""

    kernel: str
    kind: str
    words: Words


@dataclass(slots=True)
class Menus:
    """The requested plan fields of a function, and the plan spaces it was given.

    A name ``f_k0.stream.width`` requests a field of the kernel ``f_k0`` alone. Kernels
    without such a plan get the one that differs least.  ``keeps``: plan spaces are
    kept, which takes time where there are many plans, and so are ``choices``: the last
    plan of each kind that each kernel got.

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
    choices: dict[tuple[str, str], Choice] = field(
        default_factory=dict[tuple[str, str], Choice]
    )

    @property
    def unmet(self) -> Point:
        """The requested fields that no kernel has."""
        return {name: n for name, n in self.wanted.items() if name not in self.met}

    def of(self, kind: str) -> Choose:
        """The `Choose` function for plans of a kind."""
        return KernelMenus(self, "").of(kind)


@dataclass(frozen=True, slots=True)
class KernelMenus:
    """The requests that concern one kernel, by its name."""

    menus: Menus
    kernel: str

    @property
    def wanted(self) -> Point:
        """The requested fields; those of the kernel alone win.

        >>> menus = Menus({"f_k0.rows.warps": 2, "rows.warps": 1, "f_k1.parts": 4})
        >>> KernelMenus(menus, "f_k0").wanted
        {'rows.warps': 2}
        """
        return {field: number for field, (_, number) in self._requests().items()}

    def asks_for(self, kind: str) -> bool:
        """Whether a request names this kernel, and a field of such plans.

        >>> menus = Menus({"f_k0.rows.warps": 2, "parts": 4})
        >>> [KernelMenus(menus, "f_k0").asks_for(kind) for kind in ("rows", "parts")]
        [True, False]
        """
        own = f"{self.kernel}."
        named = (n.removeprefix(own) for n in self.menus.wanted if n.startswith(own))
        return any(field.partition(".")[0] == kind for field in named)

    def unrecorded(self) -> KernelMenus:
        """The same requests, for choices that no kernel follows."""
        return KernelMenus(Menus(self.menus.wanted), self.kernel)

    def _requests(self) -> dict[str, tuple[str, int]]:
        """Name and value of the request for each field."""
        found = {
            name: (name, number)
            for name, number in self.menus.wanted.items()
            if not of_one_kernel(name)
        }
        own = f"{self.kernel}."
        for name, number in self.menus.wanted.items():
            if self.kernel and of_one_kernel(name) and name.startswith(own):
                found[name.removeprefix(own)] = name, number
        return found

    def of(self, kind: str) -> Choose:
        """The `Choose` function for plans of a kind."""
        menus = self.menus
        requests = {
            field: (name, number)
            for field, (name, number) in self._requests().items()
            if number and field.partition(".")[0] == kind
        }
        asked = {field: number for field, (_, number) in requests.items()}

        def choose(plans: Iterable[P], cost: Callable[[P], Any], /) -> P:
            if not asked and not menus.keeps:
                return least(plans, cost)
            listed = list(plans)
            points = [point_of(kind, plan) for plan in listed]
            number = _nearest(points, asked, lambda n: cost(listed[n]))
            if not _apart(points[number], asked):
                menus.met |= {name for name, _ in requests.values()}
            if menus.keeps and any(points):
                clocks = tuple(_clocks(cost(plan)) for plan in listed)
                menus.kept.append(PlanSpace(tuple(points), clocks))
                menus.choices.pop((self.kernel, kind), None)
                if words := words_of(listed[number]):
                    chosen = Choice(self.kernel, kind, words)
                    menus.choices[self.kernel, kind] = chosen
            return listed[number]

        return choose


WITHOUT_FIELDS = frozenset({"parts"})
"""Kinds of plans that are one number."""


def of_one_kernel(name: str) -> bool:
    """Whether the name of a field begins with that of a kernel.

    >>> [of_one_kernel(n) for n in ("parts", "stream.width", "f_k0.parts", "k.a.b")]
    [False, False, True, True]
    """
    return field_of(name) != name


def field_of(name: str) -> str:
    """The name of a field without that of a kernel.

    >>> field_of("f_k0.stream.width"), field_of("f_k0.parts"), field_of("time0.steps")
    ('stream.width', 'parts', 'time0.steps')
    """
    parts = name.split(".")
    return ".".join(parts[-1:] if parts[-1] in WITHOUT_FIELDS else parts[-2:])


def _clocks(cost: Any) -> float:
    return float(cost[0] if isinstance(cost, tuple) else cost)
