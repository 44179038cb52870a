"""The option ``plan`` of GPU mapping: the plan fields a caller may fix, by kernel kind.

`restricted_plans` turns the option into the `Menus` among which the planners choose;
`not_on_offer` is the error for a requested value that no plan has.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen import errors
from gpucodegen.dialects.gcg import BulkRows
from gpucodegen.tiling.machine.gpu.product_tiles import (
    SharedTiles,
    WarpgroupTiles,
    WarpTiles,
)
from gpucodegen.tiling.machine.gpu.reductions import ColumnTeams, RowTeams
from gpucodegen.tiling.machine.gpu.scatters import ScatterPlan
from gpucodegen.tiling.machine.gpu.streams import StreamPlan, TransposeTile
from gpucodegen.tiling.machine.gpu.temporal_tiling import TimeTiles
from gpucodegen.tiling.machine.gpu.thread_groups import LaneTeams, ThreadGroup
from gpucodegen.tiling.machine.plan_space import Menus, PlanSpace, field_of, fields_of


def restricted_plans(name: str, plan: Sequence[int | str], *, keeps: bool) -> Menus:
    """The plan fields that the option of a pass fixes; 0 fixes none.

    Raises InvalidPassOption.

    >>> plan = "stream.width", 4, "stream.rows", 0
    >>> restricted_plans("map-gpu", plan, keeps=False).wanted
    {'stream.width': 4}
    """
    names, numbers = plan[::2], plan[1::2]
    if len(names) != len(numbers) or not all(isinstance(n, int) for n in numbers):
        raise errors.InvalidPassOption(
            name=name,
            problem=f"option 'plan' cannot be {list(plan)}",
            hint="Give names and numbers in turn: plan=[stream.width,4]",
        )
    pairs = zip(map(str, names), map(int, numbers), strict=True)
    return Menus({field: number for field, number in pairs if number}, keeps)


def not_on_offer(name: str, menus: Menus, owner: str) -> errors.InvalidPassOption:
    """The error for a field or value that no plan has, with the available ones.

    ``owner``: the expected owner, as in "kernel of the program has a plan".
    """
    field, number = next(iter(menus.unmet.items()))
    known = {n for menu in menus.kept for n in menu.names}
    offered = field_of(field)
    values = sorted({v for menu in menus.kept for v in _values(menu, offered)})
    instead = f"It may be {errors.one_of(list(map(str, values)))}"
    if number in values:
        instead = f"No plan has it together with all else in {dict(menus.wanted)}"
    elif not values:
        fields = ", ".join(sorted(known)) or "none"
        instead = errors.did_you_mean(offered, sorted(known), f"Fields: {fields}")
    return errors.InvalidPassOption(
        name=name,
        problem=f"no {owner} with {field}={number}",
        hint=instead.rstrip("?."),
    )


def _values(menu: PlanSpace, name: str) -> set[int]:
    return {point[name] for point in menu.points if name in point}


PLANS: Mapping[str, tuple[type, ...]] = {
    "bulk": (BulkRows,),
    "columns": (ColumnTeams,),
    "lanes": (LaneTeams,),
    "parts": (int,),
    "product": (SharedTiles, WarpTiles, WarpgroupTiles),
    "rows": (RowTeams,),
    "scatter": (ScatterPlan,),
    "stream": (StreamPlan,),
    "team": (ThreadGroup,),
    "time": (TimeTiles,),
    "turned": (TransposeTile,),
}
"""The plan types by the prefix of their fields' names."""


def plan_fields() -> list[str]:
    """The names of all fields; a 0 in a name stands for any number.

    >>> [name for name in plan_fields() if name.startswith(("stream", "parts"))]
    ['parts', 'stream.width', 'stream.groups', 'stream.columns', 'stream.rows']
    """
    names = (
        name
        for kind, plans in PLANS.items()
        for plan in plans
        for name in fields_of(kind, plan)
    )
    return list(dict.fromkeys(names))
