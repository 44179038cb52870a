"""Interprets gpu launches: blocks in sequence, the threads of a block cooperatively.

A thread runs until it reaches a collective operation; the scheduler then resumes the
others. The device's memory is the host's, and async tokens carry no meaning.
"""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.dialects.builtin import symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gpu import Launch, LaunchFunc, dimension_of, workgroup_count
from gpucodegen.dialects.gpu.collectives import COLLECTIVES, WARP
from gpucodegen.dialects.shared.dma import WAITS
from gpucodegen.interp.buffers import MemRef
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memref import allocated, copy, dealloc
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import filled
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I8
from gpucodegen.records import dataclass

Point = tuple[int, int, int]
"""Coordinates along x, y and z."""
STACK = 1 << 20
"""Stack size of each thread in bytes."""


class Stopped(Exception):
    """Another thread of the block has failed."""


@dataclass(slots=True, eq=False)
class Thread:
    """Identity of a thread, and the collective operation that it waits at."""

    number: int
    ids: Mapping[str, Point]
    shared: dict[Any, Any]
    values: dict[Any, Any] = field(default_factory=dict[Any, Any])
    waits: tuple[Operation, Any, bool] | None = None
    """The collective operation, the thread's value, and whether only the warp meets."""
    asks: Callable[[], bool] | None = None
    """The condition to resume, if it waits without a collective operation."""
    brought: dict[int, Any] = field(default_factory=dict[int, Any])
    turn: threading.Semaphore = field(default_factory=lambda: threading.Semaphore(0))
    back: threading.Semaphore | None = None
    failure: BaseException | None = None
    stopped: bool = False
    ended: bool = False

    @property
    def lane(self) -> int:
        """Lane index in the warp."""
        return self.number % WARP

    @property
    def warp(self) -> int:
        """Warp index in the block."""
        return self.number // WARP

    def meet(self, op: Operation, value: Any, *, of_warp: bool) -> dict[int, Any]:
        """Values brought to a collective operation, by thread number."""
        if self.back is None:
            return {self.number: value}
        self.waits = op, value, of_warp
        self.back.release()
        self.turn.acquire()
        if self.stopped:
            raise Stopped
        return self.brought

    def until(self, op: Operation, over: Callable[[], bool]) -> None:
        """Yield to other threads until a condition holds. Raises BarrierMissed."""
        if self.back is None and not over():
            raise _missed(op, 1, 1)
        while not over():
            self.asks = over
            self.meet(op, None, of_warp=False)


Body = Callable[[Thread], None]


def points(size: Sequence[int]) -> Iterator[Point]:
    """All positions of a grid, x fastest.

    >>> list(points((2, 1, 1)))
    [(0, 0, 0), (1, 0, 0)]
    """
    x, y, z = size
    for k, j, i in product(range(z), range(y), range(x)):
        yield i, j, k


def run_block(threads: Sequence[Thread], body: Body, *, meet: bool) -> None:
    """Run all threads of a block; in sequence if they never meet."""
    if not meet or len(threads) == 1:
        for thread in threads:
            body(thread)
        return
    before = threading.stack_size(STACK)
    try:
        _in_turn(threads, body)
    finally:
        threading.stack_size(before)


def _in_turn(threads: Sequence[Thread], body: Body) -> None:
    back = threading.Semaphore(0)

    def life(thread: Thread) -> None:
        thread.turn.acquire()
        try:
            if not thread.stopped:
                body(thread)
        except Stopped:
            pass
        except BaseException as failure:  # noqa: BLE001 - raised by the scheduler
            thread.failure = failure
        thread.ended = True
        back.release()

    workers = [threading.Thread(target=life, args=(t,), daemon=True) for t in threads]
    for thread, worker in zip(threads, workers, strict=True):
        thread.back = back
        worker.start()
    try:
        _schedule(threads, back)
    finally:
        for thread, worker in zip(threads, workers, strict=True):
            thread.stopped = True
            thread.turn.release()
            worker.join()


def _schedule(threads: Sequence[Thread], back: threading.Semaphore) -> None:
    """Resume every thread that can run, then those whose collective is complete."""
    ready = list(threads)
    while ready:
        for thread in ready:
            thread.waits = thread.asks = None
            thread.turn.release()
            back.acquire()
            if thread.failure is not None:
                raise thread.failure
        ready = _released(threads)


def _released(threads: Sequence[Thread]) -> list[Thread]:
    """Threads whose collective is complete, warps first. Raises BarrierMissed."""
    waiting = [t for t in threads if not t.ended]
    free = [t for t in waiting if t.asks is not None and t.asks()]
    if free:
        return free
    waiting = [t for t in waiting if t.asks is None] or waiting
    groups: dict[tuple[int, Operation], list[Thread]] = defaultdict(list)
    for thread in waiting:
        assert thread.waits is not None
        op, _, of_warp = thread.waits
        if of_warp:
            groups[thread.warp, op].append(thread)
    if not groups and waiting:
        groups[0, _common(threads, waiting)] = waiting
    for group in groups.values():
        brought = {t.number: t.waits[1] for t in group if t.waits is not None}
        for thread in group:
            thread.brought = brought
    return [thread for group in groups.values() for thread in group]


def _common(threads: Sequence[Thread], waiting: Sequence[Thread]) -> Operation:
    """The operation at which all threads of the block wait."""
    places = {t.waits[0] for t in waiting if t.waits is not None}
    op = next(iter(places))
    if any(t.asks is not None for t in waiting):
        raise _missed(op, len(waiting), len(threads))
    kinds = {place.name for place in places}
    is_plain = kinds <= {"gpu.barrier", "nvvm.barrier0", "nvvm.barrier"}
    if len(waiting) != len(threads) or (len(places) > 1 and not is_plain):
        raise _missed(op, len(waiting), len(threads))
    return op


def _missed(op: Operation, waiting: int, count: int) -> errors.BarrierMissed:
    return errors.BarrierMissed.at(op, waiting=waiting, count=count)


Start = Callable[[Machine, Thread], Sequence[Any]]
"""The arguments of a thread's region."""

DYNAMIC = "dynamic"
"""Key of a block's dynamic shared memory."""
MORE_MEETINGS = frozenset(
    (
        "nvvm.barrier0 nvvm.barrier gpu.warp_execute_on_lane_0"
        " gpu.subgroup_mma_store_matrix nvgpu.ldmatrix nvgpu.mma.sync"
        " nvgpu.mbarrier.try_wait.parity"
    ).split()
)


def _meets(m: Machine, op: Operation) -> bool:
    """Whether threads may have to synchronize; calls may contain anything."""
    names = {inner.name for inner in op.walk()}
    calls = {"func.call", "func.call_indirect"} & names
    found = m.shared.module.walk() if calls else op.walk()
    return any(inner.name in COLLECTIVES | MORE_MEETINGS | WAITS for inner in found)


def _run(
    m: Machine,
    op: Operation,
    sizes: tuple[Sequence[int], Sequence[int], Sequence[int]],
    start: Start,
    dynamic: int,
) -> None:
    """Run all blocks; ``sizes`` are those of grid, block and cluster."""
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
    """Workgroup buffers, shared by the block, then the thread's private buffers."""
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
    """The kernel of a symbol path. Raises ExternalFunction."""
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


LAUNCH_OPERATIONS: dict[str, Evaluate] = {
    "gpu.launch": _launch,
    "gpu.launch_func": _launch_func,
    "gpu.dynamic_shared_memory": _dynamic,
}


_ALONG = (
    "thread_id block_id block_dim grid_dim global_id cluster_id cluster_dim"
    " cluster_block_id cluster_dim_blocks"
).split()
_REGISTERS = {"tid": "thread_id", "ntid": "block_dim"} | {
    "ctaid": "block_id",
    "nctaid": "grid_dim",
}


def warps(thread: Thread) -> int:
    """Number of warps in the thread's block."""
    x, y, z = thread.ids["block_dim"]
    return -(-x * y * z // WARP)


def _along(m: Machine, op: Operation) -> int:
    name = op.name.partition(".")[2]
    return m.thread.ids[name]["xyz".index(dimension_of(op))]


def _register(m: Machine, op: Operation) -> int:
    *_, name, axis = op.name.split(".")
    return m.thread.ids[_REGISTERS[name]]["xyz".index(axis)]


IDENTITY_OPERATIONS: dict[str, Evaluate] = {
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


def _alloc(m: Machine, op: Operation, *_: Any) -> Any:
    groups = m.groups(op)
    ty = op.results[0].type
    made = allocated(m, ty, groups["dynamicSizes"], groups["symbolOperands"])
    return (made, None) if len(op.results) > 1 else made


def _memcpy(m: Machine, op: Operation, *_: Any) -> None:
    groups = m.groups(op)
    (target,), (source,) = groups["dst"], groups["src"]
    pair = op.with_(operands=(*op.operands[-1:], *op.operands[-2:-1]))
    copy(m, pair, source, target)


def _memset(m: Machine, op: Operation, *_: Any) -> None:
    groups = m.groups(op)
    (target,), (value,) = groups["dst"], groups["value"]
    of = target.type
    target.write(np.asarray(filled(value, target.shape, of)))


def _nothing(*_: Any) -> None:
    """No effect: all preceding operations have completed."""


MEMORY_OPERATIONS: dict[str, Evaluate] = {
    "gpu.alloc": _alloc,
    "gpu.memcpy": _memcpy,
    "gpu.memset": _memset,
    "gpu.dealloc": dealloc,
    "gpu.wait": _nothing,
    "gpu.host_register": _nothing,
    "gpu.host_unregister": _nothing,
    "gpu.set_default_device": _nothing,
}
