"""gpu: where a thread is, and how many there are."""

from __future__ import annotations

from gpucodegen.dialects.framework import kinds
from gpucodegen.dialects.framework.declare import indices, op
from gpucodegen.dialects.framework.definition import Op, Trait
from gpucodegen.dialects.gpu.words import DIMENSION, modern

_BOUND = {"upper_bound": kinds.optional(kinds.INDEX_INT)}
_UPPER = "(`upper_bound` $upper_bound^)?"


def _along(name: str) -> Op:
    """A position or an extent along x, y or z."""
    return op(
        f"gpu.{name}",
        "-> result",
        f"$dimension {_UPPER} attr-dict",
        attributes={"dimension": DIMENSION, **_BOUND},
        infer={"result": indices},
        adapt=modern("dimension", "dim"),
        traits=Trait.PURE,
    )


def _of_subgroups(name: str) -> Op:
    """A number of subgroups or of threads in them."""
    return op(
        f"gpu.{name}",
        "-> result",
        f"{_UPPER} attr-dict `:` type($result)",
        attributes=_BOUND,
        infer={"result": indices},
        traits=Trait.PURE,
    )


OPERATIONS = (
    *map(
        _along,
        (
            "thread_id block_id block_dim grid_dim global_id cluster_id cluster_dim"
            " cluster_block_id cluster_dim_blocks"
        ).split(),
    ),
    *map(_of_subgroups, ("subgroup_id", "num_subgroups", "subgroup_size")),
    op(
        "gpu.lane_id",
        "-> result",
        f"{_UPPER} attr-dict",
        attributes=_BOUND,
        infer={"result": indices},
        traits=Trait.PURE,
    ),
)
