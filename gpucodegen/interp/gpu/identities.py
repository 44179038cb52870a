"""gpu and nvvm: who a thread is."""

from __future__ import annotations

from gpucodegen.dialects.gpu import dimension_of
from gpucodegen.dialects.gpu.communication.meetings import WARP
from gpucodegen.interp.gpu.threads import Thread
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.registry import Evaluate
from gpucodegen.ir.operation import Operation

_ALONG = (
    "thread_id block_id block_dim grid_dim global_id cluster_id cluster_dim"
    " cluster_block_id cluster_dim_blocks"
).split()
_REGISTERS = {"tid": "thread_id", "ntid": "block_dim"} | {
    "ctaid": "block_id",
    "nctaid": "grid_dim",
}


def warps(thread: Thread) -> int:
    """How many warps its block has."""
    x, y, z = thread.ids["block_dim"]
    return -(-x * y * z // WARP)


def _along(m: Machine, op: Operation) -> int:
    name = op.name.partition(".")[2]
    return m.thread.ids[name]["xyz".index(dimension_of(op))]


def _register(m: Machine, op: Operation) -> int:
    *_, name, axis = op.name.split(".")
    return m.thread.ids[_REGISTERS[name]]["xyz".index(axis)]


OPERATIONS: dict[str, Evaluate] = {
    **{f"gpu.{name}": _along for name in _ALONG},
    **{
        f"nvvm.read.ptx.sreg.{name}.{d}": _register
        for name in _REGISTERS
        for d in "xyz"
    },
    "gpu.lane_id": lambda m, _: m.thread.lane,
    "gpu.subgroup_id": lambda m, _: m.thread.warp,
    "gpu.num_subgroups": lambda m, _: warps(m.thread),
    "gpu.subgroup_size": lambda *_: WARP,
    "nvvm.read.ptx.sreg.laneid": lambda m, _: m.thread.lane,
    "nvvm.read.ptx.sreg.warpid": lambda m, _: m.thread.warp,
    "nvvm.read.ptx.sreg.nwarpid": lambda m, _: warps(m.thread),
    "nvvm.read.ptx.sreg.warpsize": lambda *_: WARP,
}
