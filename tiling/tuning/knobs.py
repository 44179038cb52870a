"""Tuning knobs: the sizes of a nest that an option of the compiler sets.

A pass describes the plans that it found while mapping a program; the knob gives the
values of each size and the order in which the cost model would try them.  A size of 0
is the compiler's own choice, so all zeros are the default schedule.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.plan_space import PlanSpace
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.product_problem import Problem, Tiling
from gpucodegen.tiling.machine.register_tiles import candidates, tile_cycles
from gpucodegen.tiling.tuning.search import (
    REGISTER_TILE,
    Identity,
    Objection,
    Point,
    identity,
    is_tile,
)

K_BLOCKS = (64, 128, 256, 512, 1024)
"""Steps of a reduction block: powers of two up to what a second cache holds."""
TILE_SIZES = (8, 16, 32, 64, 128, 256)
"""Iterations of a loop in a tile."""
LOOPS = "loops"
"""The option of loop orders and fusions, beside tile sizes."""
MOST_RANKED = 512
"""The most points that are ranked."""


@dataclass(frozen=True, slots=True)
class Knob:
    """The sizes of one nest that an option sets.

    ``option``: the field of the options, or `LOOPS` for those fields of a plan; empty
    where no option reaches the nest.  ``values`` of each size are ordered such that the
    compiler's choice, 0, is next to the values most like it.  ``start``: sizes to try
    early.  ``menus``: the plan spaces of the compiler; a point that names a field of a
    plan is legal if a plan has these values.
    """

    option: str
    values: Mapping[str, tuple[int, ...]]
    start: Mapping[str, int]
    menus: tuple[PlanSpace, ...] = ()

    def objection(self, point: Point) -> Objection | None:
        """Why a legal point is not worth a trial.

        >>> tile = {"rows": (0, 4), "columns": (0, 8), "k_block": (0,)}
        >>> menu = PlanSpace(({"rows": 4, "columns": 16},), (1.0,))
        >>> knob = Knob("register_tile", tile, {}, (menu,))
        >>> knob.objection({"rows": 4, "columns": 8, "k_block": 0})
        'no plan of the compiler has rows=4 and columns=8'
        """
        if not self.menus:
            return None
        on_menus = {name for menu in self.menus for name in menu.names}
        met = {name for menu in self.menus if menu.has(point) for name in menu.names}
        asked = {name: size for name, size in point.items() if size}
        unmet = [
            f"{name}={size}"
            for name, size in asked.items()
            if name not in met and (name in on_menus or name not in self.values)
        ]
        if unmet:
            return f"no plan of the compiler has {' and '.join(unmet)}"
        return self._chosen_anyway(asked)

    def _chosen_anyway(self, asked: Point) -> Objection | None:
        """Why a point that sets only time tiles equals the default, or None."""
        menus = [menu for menu in self.menus if menu.untiled]
        names = {name for menu in menus for name in menu.names}
        if not asked or not asked.keys() <= names:
            return None
        if any(menu.nearest(asked) != menu.nearest({}) for menu in menus):
            return None
        return "the compiler chooses it by itself"

    def schedule(self, point: Point) -> Identity:
        """The schedule that a point compiles to: its time tiles, and its other fields.

        >>> plans = {"tiled": 1}, {"tiled": 2, "steps": 4}, {"tiled": 2, "steps": 6}
        >>> knob = loop_knob(PlanSpace(plans, (7.0, 9.0, 8.0)))
        >>> knob.schedule({"tiled": 2}) == knob.schedule({"steps": 6})
        True
        """
        found = dict(point)
        for menu in self.menus:
            if menu.untiled:
                found |= dict.fromkeys(menu.names, 0)
                found |= menu.points[menu.nearest(point)]
        return identity(found)

    def clocks(self, point: Point) -> float | None:
        """The estimated clocks of a point, for comparison with other points.

        None where there is no model.
        """
        if not self.menus:
            return None
        return sum(menu.clocks[_nearest(menu, point)] for menu in self.menus)

    def features(self, point: Point) -> dict[str, float]:
        """The choices of a point by name; each plan has its share of the clocks.

        >>> menu = PlanSpace(({"rows": 4}, {"rows": 6}), (9.0, 5.0), "f32: ")
        >>> knob = Knob("register_tile", {}, {}, (menu,))
        >>> knob.features({"rows": 0, "k_block": 64})
        {'f32: rows=6': 1.0, 'k_block=64': 1.0}
        """
        plans = [(menu, _nearest(menu, point)) for menu in self.menus]
        total = sum(menu.clocks[n] for menu, n in plans) or 1.0
        on_menus = {name for menu in self.menus for name in menu.names}
        found: defaultdict[str, float] = defaultdict(float)
        for menu, n in plans:
            for name, size in menu.points[n].items():
                found[f"{menu.family}{name}={size}"] += menu.clocks[n] / total
        for name, size in point.items():
            if size and name not in on_menus:
                found[f"{name}={size}"] += 1.0
        return dict(found)

    def ranked(self) -> tuple[Point, ...]:
        """Plans other than the model's choice, the cheapest first.

        Each differs from the default in one kind of kernel.

        >>> menu = PlanSpace(({"a": 1}, {"a": 2}, {"a": 4}), (9.0, 5.0, 7.0))
        >>> menu_knob(menu).ranked()
        ({'a': 4}, {'a': 1})
        """
        found: dict[Identity, tuple[float, Point]] = {}
        for menu in self.menus:
            best, short = menu.nearest({}), _by_one_field(menu) if menu.untiled else {}
            for n, clocks in enumerate(menu.clocks):
                point = self._point(short.get(n, menu.points[n]))
                if n != best and any(point.values()):
                    more = clocks - menu.clocks[best]
                    found.setdefault(identity(point), (more, point))
        first = sorted(found.values(), key=lambda each: each[0])[:MOST_RANKED]
        points = [point for _, point in first]
        return tuple(sorted(points, key=lambda point: self.clocks(point) or 0.0))

    def _point(self, plan: Point) -> Point:
        """A plan's values; fields without knob values keep the compiler's choice."""
        every = self.values.items()
        return {name: n if (n := plan.get(name, 0)) in v else 0 for name, v in every}


def _nearest(menu: PlanSpace, point: Point) -> int:
    """The index of the plan that a point selects, by plan fields or tile sizes."""
    is_tiled = menu.untiled and any(n and is_tile(name) for name, n in point.items())
    return menu.nearest(menu.untiled if is_tiled else point)


def _by_one_field(menu: PlanSpace) -> dict[int, Point]:
    """Plans that differ from others in one field, by their indices.

    >>> plans = {"a": 1, "b": 2}, {"a": 2, "b": 2}, {"a": 2, "b": 4}
    >>> _by_one_field(PlanSpace(plans, (7.0, 8.0, 9.0)))
    {0: {'a': 1}, 1: {'a': 2}, 2: {'b': 4}}
    """
    every = dict.fromkeys(pair for point in menu.points for pair in point.items())
    found: dict[int, Point] = {}
    for name, size in every:
        found.setdefault(menu.nearest({name: size}), {name: size})
    return found


NOTHING = Knob("", {}, {})
"""A nest that no option reaches."""


def register_knob(problem: Problem, machine: Machine, tiling: Tiling) -> Knob:
    """The register tile and the reduction block of a contraction on the CPU.

    ``tiling``: the compiler's choice.
    """
    unit = problem.summing(machine.unit)
    fitting = [
        tile
        for tile in candidates(unit, problem.element_bits)
        if tile.rows <= problem.rows
        and tile.columns < problem.columns + unit.lanes(problem.element_bits)
    ]
    steps = problem.steps
    block = tiling.k_chunk * prod(problem.reduction[tiling.k_position + 1 :])
    chosen = tiling.rows, tiling.columns, block
    every = (
        {tile.rows for tile in fitting},
        {tile.columns for tile in fitting},
        {size for size in K_BLOCKS if size < steps},
    )
    values = {
        name: _around(own, sizes)
        for name, own, sizes in zip(REGISTER_TILE, chosen, every, strict=True)
    }
    shape = problem.rows, problem.columns, problem.element_bits, unit
    menu = PlanSpace(
        tuple({"rows": tile.rows, "columns": tile.columns} for tile in fitting),
        tuple(steps * tile_cycles(*shape, tile) for tile in fitting),
        f"{problem.element_bits} bits: ",
    )
    return Knob("register_tile", values, {}, (menu,))


def menu_knob(menu: PlanSpace) -> Knob:
    """The plan fields of a GPU kernel.

    >>> menu_knob(PlanSpace(({"a": 1, "b": 8}, {"a": 2, "b": 8}), (9.0, 5.0))).values
    {'a': (0, 1, 2), 'b': (0, 8)}
    """
    values = {
        name: (0, *sorted({plan[name] for plan in menu.points if name in plan}))
        for name in sorted(menu.names)
    }
    return Knob("plan", values, {}, (menu,))


def loop_knob(menu: PlanSpace) -> Knob:
    """The tiles of a time loop on the CPU, or none.

    The compiler's choice, 0, is next to the values most like it, so that a search
    begins there; explicit copies of its values come last.  Where the compiler makes no
    tiles, 0 stands next to the cheapest ones.

    >>> points = {"tiled": 1}, {"tiled": 2, "steps": 4}, {"tiled": 2, "steps": 6}
    >>> points = (*points, {"tiled": 2, "steps": 8})
    >>> loop_knob(PlanSpace(points, (7.0, 9.0, 8.0, 8.5))).values
    {'steps': (4, 0, 8, 6), 'tiled': (0, 2, 1)}
    """
    chosen = menu.points[menu.nearest({})]
    values: dict[str, tuple[int, ...]] = {}
    for name in sorted(menu.names):
        having = [n for n, point in enumerate(menu.points) if name in point]
        cheapest = menu.points[min(having, key=menu.clocks.__getitem__)]
        own = chosen.get(name) or cheapest[name]
        values[name] = (*_around(own, {menu.points[n][name] for n in having}), own)
    plain = min(menu.points, key=len)
    return Knob(LOOPS, values, {}, (replace(menu, untiled=plain),))


def _around(chosen: int, sizes: set[int]) -> tuple[int, ...]:
    """Sizes in order, with 0 in the place of the compiler's choice.

    >>> _around(6, {2, 4, 6, 8})
    (2, 4, 0, 8)
    """
    less = sorted(size for size in sizes if size < chosen)
    more = sorted(size for size in sizes if size > chosen)
    return (*less, 0, *more)


def tile_knob(extents: Sequence[int | None]) -> Knob:
    """The tile sizes of a nest, outermost loop first; None: an unknown extent.

    >>> tile_knob([100, None]).values["tile0"]
    (0, 8, 16, 32, 64)
    """
    values = {
        f"tile{depth}": (0, *(n for n in TILE_SIZES if extent is None or n < extent))
        for depth, extent in enumerate(extents)
    }
    start = {name: 32 if 32 in sizes else 0 for name, sizes in values.items()}
    return Knob("tile_sizes", values, start)


def joined(knobs: Sequence[Knob]) -> Knob:
    """One knob for all nests of a function, which take their sizes from one option.

    Nests that no option reaches, and those of a register tile, keep the other nests
    from being tiled: tile sizes would split their contractions.

    >>> joined([tile_knob([64]), tile_knob([64, 64])]).values
    {'tile0': (0, 8, 16, 32), 'tile1': (0, 8, 16, 32)}
    >>> joined([tile_knob([64, 64]), NOTHING]) == NOTHING
    True
    """
    loops = [knob for knob in knobs if knob.option == LOOPS]
    others = [knob for knob in knobs if knob.option != LOOPS]
    own = [knob for knob in others if knob.option != "tile_sizes"]
    useful = [*(knob for knob in own or others if knob.option), *loops]
    if not useful:
        return NOTHING
    found = useful[0]
    for knob in useful[1:]:
        found = _both(found, knob)
    return found


def _both(one: Knob, other: Knob) -> Knob:
    """The values of both, in the order of the first."""
    names = dict.fromkeys((*one.values, *other.values))
    values = {
        name: tuple(
            dict.fromkeys((*one.values.get(name, ()), *other.values.get(name, ())))
        )
        for name in names
    }
    return Knob(
        one.option,
        values,
        {**other.start, **one.start},
        (*one.menus, *(menu for menu in other.menus if menu not in one.menus)),
    )
