"""The names by which plans of GPU kernels are asked for, of all kinds of kernel."""

from __future__ import annotations

from collections.abc import Mapping

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
from gpucodegen.tiling.machine.plan_space import fields_of

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
"""The plans that planners choose among, by what a field's name begins with."""


def plan_fields() -> list[str]:
    """Every name; a 0 in it stands for any number.

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
