"""gpu: launches of kernels: blocks one after the other, their threads in turn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from gpucodegen import errors
from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gpu import Launch, LaunchFunc, workgroup_count
from gpucodegen.dialects.gpu.communication.meetings import MEETINGS
from gpucodegen.dialects.shared.transfers import WAITS
from gpucodegen.interp.gpu.threads import Point, Thread, points, run_block
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import allocated
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I8

Start = Callable[[Machine, Thread], Sequence[Any]]
"""The arguments of a thread's region."""

DYNAMIC = "dynamic"
"""Where a block's bytes of dynamic shared memory stand."""
MORE_MEETINGS = frozenset(
    (
        "nvvm.barrier0 nvvm.barrier gpu.warp_execute_on_lane_0"
        " gpu.subgroup_mma_store_matrix nvgpu.ldmatrix nvgpu.mma.sync"
        " nvgpu.mbarrier.try_wait.parity"
    ).split()
)


def _meets(m: Machine, op: Operation) -> bool:
    """Whether its threads may have to come together; calls may do anything."""
    names = {inner.name for inner in op.walk()}
    calls = {"func.call", "func.call_indirect"} & names
    found = m.shared.module.walk() if calls else op.walk()
    return any(inner.name in MEETINGS | MORE_MEETINGS | WAITS for inner in found)


def _run(
    m: Machine,
    op: Operation,
    sizes: tuple[Sequence[int], Sequence[int], Sequence[int]],
    start: Start,
    dynamic: int,
) -> None:
    """All blocks of a grid; ``sizes`` are the grid's, a block's and a cluster's."""
    grid, block, cluster = (tuple(size) for size in sizes)
    for name, size in (("grid", grid), ("block", block)):
        if any(n < 0 for n in size):
            raise errors.NegativeExtent(shape=(name, *size))
    meet = m.once(op, lambda o: _meets(m, o))

    def body(thread: Thread) -> None:
        machine = m.forked(thread)
        machine.results(op.regions[0], start(machine, thread))

    for at in points(grid):
        shared = {DYNAMIC: MemRef.allocated((dynamic,), I8)}
        threads = [
            Thread(n, _ids(at, place, grid, block, cluster), shared)
            for n, place in enumerate(points(block))
        ]
        run_block(threads, body, meet=meet)


def _ids(
    at: Point,
    place: Point,
    grid: Sequence[int],
    block: Sequence[int],
    cluster: Sequence[int],
) -> dict[str, Point]:
    """Every identity of a thread."""
    three = range(3)

    def each(of: Callable[[int], int]) -> Point:
        x, y, z = (of(d) for d in three)
        return x, y, z

    return {
        "thread_id": place,
        "block_id": at,
        "block_dim": each(lambda d: block[d]),
        "grid_dim": each(lambda d: grid[d]),
        "global_id": each(lambda d: at[d] * block[d] + place[d]),
        "cluster_id": each(lambda d: at[d] // cluster[d]),
        "cluster_dim": each(lambda d: -(-grid[d] // cluster[d])),
        "cluster_block_id": each(lambda d: at[d] % cluster[d]),
        "cluster_dim_blocks": each(lambda d: cluster[d]),
    }


def _attributions(
    m: Machine, values: Sequence[Value], count: int, thread: Thread
) -> tuple[MemRef, ...]:
    """Buffers of the block, made once, then those of the thread."""
    made: list[MemRef] = []
    for n, value in enumerate(values):
        if n >= count:
            made.append(allocated(m, value.type, ()))
            continue
        if value not in thread.shared:
            thread.shared[value] = allocated(m, value.type, ())
        made.append(thread.shared[value])
    return tuple(made)


def _launch(m: Machine, op: Operation, *_: Any) -> None:
    launch = Launch(op)
    grid, block = m.of(launch.sizes[:3]), m.of(launch.sizes[3:])
    cluster = m.of(launch.cluster) or (1, 1, 1)

    def start(_: Machine, thread: Thread) -> Sequence[Any]:
        ids = thread.ids
        names = ["block_id", "thread_id", "grid_dim", "block_dim"]
        if launch.cluster:
            names += ["cluster_id", "cluster_dim_blocks"]
        own: list[Any] = [i for name in names for i in ids[name]]
        own += _attributions(m, launch.attributions, workgroup_count(op), thread)
        return own

    dynamic = sum(m.of(launch.shared_size))
    _run(m, op, (grid, block, cluster), start, dynamic)


def _kernel(m: Machine, path: Sequence[str]) -> Operation:
    """The function of a path.  Raises ExternalFunction."""
    inside = m.shared.module.operation
    for name in path:
        found = [o for o in inside.body.operations if symbol_name(o) == name]
        if not found:
            raise errors.ExternalFunction(name="::".join(path))
        inside = found[0]
    return inside


def _launch_func(m: Machine, op: Operation, *_: Any) -> None:
    launch = LaunchFunc(op)
    kernel = _kernel(m, launch.kernel)
    inputs = len(Function(kernel).type.inputs)
    arguments = m.of(launch.arguments)
    extra = kernel.regions[0].blocks[0].arguments[inputs:]

    def start(_: Machine, thread: Thread) -> Sequence[Any]:
        own = _attributions(m, extra, workgroup_count(kernel), thread)
        return (*arguments, *own)

    cluster = m.of(launch.cluster) or (1, 1, 1)
    sizes = m.of(launch.grid), m.of(launch.block), cluster
    _run(m.fresh(), kernel, sizes, start, sum(m.of(launch.shared_size)))


def _dynamic(m: Machine, _: Operation) -> MemRef:
    return m.thread.shared[DYNAMIC]


OPERATIONS: dict[str, Evaluate] = {
    "gpu.launch": _launch,
    "gpu.launch_func": _launch_func,
    "gpu.dynamic_shared_memory": _dynamic,
}
