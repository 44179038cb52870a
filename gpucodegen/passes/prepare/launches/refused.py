"""What no kernel has here, and what to write instead."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from gpucodegen import errors
from gpucodegen.dialects import gpu
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.tiling.machine.gpu.devices import WARP


def check_launch(op: Operation, launch: gpu.Launch | gpu.LaunchFunc) -> None:
    """Raise UnsupportedOperation at a launch of clusters."""
    if launch.cluster:
        raise _unsupported(op, "clusters of blocks", _WITHOUT_CLUSTERS)


def check_body(op: Operation) -> None:
    """Raise UnsupportedOperation at the first operation that no kernel has."""
    for inner in op.walk():
        is_refused, what, advice = _REFUSED.get(inner.name, _NOTHING)
        if is_refused(inner):
            raise _unsupported(inner, what, advice)


def _unsupported(op: Operation, what: str, advice: str) -> errors.UnsupportedOperation:
    name = f"{op.name} with {what}" if what else op.name
    return errors.UnsupportedOperation(
        op.location, operation=name, target="cuda", advice=advice
    )


def _always(op: Operation) -> bool:
    del op
    return True


def _never(op: Operation) -> bool:
    del op
    return False


def _is_wider_than_a_warp(op: Operation) -> bool:
    given = [op.attributes.get(f"cluster_{name}") for name in ("size", "stride")]
    return prod(a.value for a in given if isinstance(a, IntegerAttr)) > WARP


def _has_operands(op: Operation) -> bool:
    return bool(op.operands)


def _is_named_or_wide(op: Operation) -> bool:
    scope = str(op.attributes.get("scope", "workgroup"))
    return bool(op.operands) or not ("workgroup" in scope or "subgroup" in scope)


_Row = tuple[Callable[[Operation], bool], str, str]
_NOTHING: _Row = (_never, "", "")
_WITHOUT_CLUSTERS = "Launch without clusters of blocks"
_MEET = "Let all threads of the block meet at a plain gpu.barrier"
_PARTS = "all but the threads of a block or of a warp"
_REFUSED: dict[str, _Row] = {
    "gpu.barrier": (_is_named_or_wide, _PARTS, _MEET),
    "gpu.cluster_block_id": (_always, "", _WITHOUT_CLUSTERS),
    "gpu.cluster_dim": (_always, "", _WITHOUT_CLUSTERS),
    "gpu.cluster_dim_blocks": (_always, "", _WITHOUT_CLUSTERS),
    "gpu.cluster_id": (_always, "", _WITHOUT_CLUSTERS),
    "gpu.initialize_named_barrier": (_always, "", _MEET),
    "gpu.subgroup_reduce": (
        _is_wider_than_a_warp,
        "a cluster wider than a warp",
        f"A warp has {WARP} lanes: choose a smaller size or stride",
    ),
    "gpu.warp_execute_on_lane_0": (
        _always,
        "",
        "Write scf.if on gpu.lane_id, and share values by gpu.shuffle",
    ),
    "nvvm.barrier": (_has_operands, _PARTS, _MEET),
}
"""Whether an operation is refused, with what, and the advice."""
