"""The limiting unit of a kernel and its margin, in words, from estimates.

Everything here is an estimate: lower bounds of clocks, and the interval of the time
that a kernel is expected to take.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import ceil

from gpucodegen.records import dataclass
from gpucodegen.report.gpu.expected_time import interval
from gpucodegen.report.gpu.figures import FACTOR_BITS
from gpucodegen.report.gpu.model import AccessRow, LaunchFacts, LimitFacts, LoopFacts
from gpucodegen.report.wording import counted
from gpucodegen.tiling.machine.gpu.devices import SCHEDULERS, WARP, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import (
    Estimate,
    Unit,
    Work,
    busiest,
    needed_in_flight,
    tensor_rates,
)

HELP: dict[Unit, str] = {
    Unit.ISSUE: "fewer instructions beside the arithmetic: larger tiles of a thread, "
    "wider loads, unrolled loops, addresses that only grow",
    Unit.FMA: "nothing on these units: the arithmetic itself binds; tensor cores, "
    "where their precision is enough",
    Unit.DOUBLE: "nothing on these units: the arithmetic itself binds",
    Unit.INTEGER: "simpler indices: divisions and remainders out of the loop, "
    "addresses that only grow",
    Unit.SPECIAL: "fewer roots, divisions and exponentials, or cheaper formulas",
    Unit.TENSOR: "nothing on these units: the arithmetic itself binds",
    Unit.SHARED: "shared arrays whose rows are padded or swizzled, so that the lanes "
    "of a warp hit different banks; larger tiles of a thread, which load less for each "
    "multiply-add",
    Unit.L1: "neighbouring threads that touch neighbouring elements; 16 bytes a load; "
    "shared memory for what several threads read",
    Unit.L2: "larger tiles of a block, so that blocks read less of the same; "
    "neighbouring threads that touch neighbouring elements",
    Unit.MEMORY: "fewer passes over the arrays: fusion with the kernels before and "
    "after; smaller element types",
    Unit.LAUNCH: "fewer and larger launches: more work in each, fusion, a graph",
    Unit.LATENCY: "more warps at once: more or smaller blocks, fewer registers, or "
    "loads that are issued long before their use",
}
"""The usual remedy for each limit."""
_SHARED_UNITS = (Unit.SHARED,)
_GLOBAL_UNITS = (Unit.L1, Unit.L2, Unit.LATENCY, Unit.MEMORY)


@dataclass(frozen=True, slots=True)
class Situation:
    """A kernel with all its counts, on a device."""

    device: GpuDevice
    launch: LaunchFacts
    accesses: tuple[AccessRow, ...]
    loop: LoopFacts
    """The outermost one."""
    work: Work
    flops: float
    estimate: Estimate
    expected: float | None
    """Nanoseconds of a launch; None if unknown."""
    arithmetic: str = "f32"
    """The type that most flops multiply: a key of `GpuDevice.library`, or another."""

    @property
    def rate(self) -> tuple[Unit, float]:
        """The unit of most arithmetic, and its flops per clock of the device."""
        processor, work = self.device.multiprocessor, self.work
        used = [rate for _, rate in tensor_rates(processor, work)]
        if used:
            each = 2.0 * max(used) * 16 / FACTOR_BITS.get(self.arithmetic, 16)
            return Unit.TENSOR, each * self.device.processors
        if work.double > work.fma:
            return Unit.DOUBLE, 2.0 * processor.double * self.device.processors
        return Unit.FMA, 2.0 * processor.fma * self.device.processors

    @property
    def ridge(self) -> float:
        """Flops per byte from which arithmetic binds instead of memory."""
        bytes_per_clock = self.device.copy_bandwidth / self.device.clock
        return self.rate[1] / bytes_per_clock

    @property
    def intensity(self) -> float | None:
        """Flops per byte that the device memory moves at least."""
        return self.flops / self.work.memory if self.work.memory else None

    @property
    def in_flight(self) -> float:
        """Bytes in flight of the loads of a multiprocessor's warps."""
        work = self.work
        loads = [
            r for r in self.accesses if (r.space, r.direction) == ("global", "load")
        ]
        blocks = min(
            busiest(work.blocks, self.device.processors), self.launch.resident_blocks
        )
        waits = work.blocks * work.waits
        return blocks * sum(row.bytes for row in loads) / waits if waits else 0.0

    @property
    def is_under_memory(self) -> bool:
        """Whether the device memory is the roof of the kernel."""
        return self.intensity is not None and self.intensity < self.ridge


def limit_facts(s: Situation) -> LimitFacts:
    """Clocks, the binding unit, shares of the roof."""
    unit, rate = s.rate
    total = s.estimate.total
    time = None if s.expected is None else interval(s.expected)
    if time is not None:
        time = max(time[0], total / s.device.clock), time[1]
    library = None
    if s.is_under_memory:
        share = s.estimate.share(Unit.MEMORY)
        reached = s.work.memory / s.device.copy_bandwidth
        peak = f"copies of memory ({s.device.copy_bandwidth:.0f} GB/s)"
    else:
        share = s.flops / rate / total
        reached = s.flops / rate / s.device.clock
        teraflops = rate * s.device.clock / 1000
        peak = f"{unit.value} ({teraflops:.1f} TFLOP/s)"
        vendor = s.device.library.get(s.arithmetic)
        if vendor is not None:
            library = _shares(s.flops / vendor / 1000, time)
    return LimitFacts(
        {unit.value: clocks for unit, clocks in s.estimate.clocks.items()},
        s.estimate.binding.value,
        peak,
        share,
        _shares(reached, time),
        library,
        s.work.memory,
        s.intensity,
        s.ridge,
        s.in_flight,
        needed_in_flight(s.device),
        tuple(_words(s)),
        None if time is None else (time[0] / 1000, time[1] / 1000),
    )


def _shares(
    best: float, time: tuple[float, float] | None
) -> tuple[float, float] | None:
    """The shares of the speed of one that takes ``best``, the lower one first."""
    return None if time is None else (best / time[1], best / time[0])


def _words(s: Situation) -> Iterator[str]:
    binding = s.estimate.binding
    yield f"Limited by {binding.value}: {_by_how_much(s, binding)}"
    yield from _worst(s, binding)
    yield f"What would help: {HELP[binding]}."
    yield from _next(s, binding)
    yield from _filling(s)
    yield from _spills(s)


def _by_how_much(s: Situation, binding: Unit) -> str:
    """The limit beside the clocks of the kernel's main arithmetic or traffic."""
    goal = Unit.MEMORY if s.is_under_memory else s.rate[0]
    needed, useful = s.estimate.clocks[binding], s.estimate.clocks.get(goal, 0.0)
    if binding is goal:
        return "that is what the kernel is for, and nothing else takes longer."
    trip = _trip(s, binding, goal)
    words = f"{trip}; " if trip else ""
    if not useful:
        return f"{words}{clocks(needed)} of the launch."
    words += f"{clocks(needed)} of the launch where its {goal.value} needs "
    return f"{words}{clocks(useful)}, {useful / needed:.0%} of them."


def _trip(s: Situation, binding: Unit, goal: Unit) -> str:
    """A warp's trip of the main loop: its clocks of both units."""
    loop, multiply = s.loop, s.loop.kinds.get("fma", 0)
    if goal is not Unit.FMA or not multiply:
        return ""
    if binding is Unit.SHARED and loop.wavefronts:
        what, taken = counted(round(loop.wavefronts), "wavefront"), loop.wavefronts
    elif binding is Unit.ISSUE:
        what = counted(round(loop.executed), "instruction")
        taken = loop.executed / SCHEDULERS
    else:
        return ""
    useful = multiply * WARP / s.device.multiprocessor.fma
    return (
        f"a warp's trip of the outermost loop has {what}, worth {taken:.0f} clocks of a"
        f" multiprocessor, and {counted(multiply, 'multiply-add')}, worth {useful:.0f}"
    )


def _worst(s: Situation, binding: Unit) -> Iterator[str]:
    """The access with the most excess cost."""
    space = "shared" if binding in _SHARED_UNITS else "global"
    if binding not in (*_SHARED_UNITS, *_GLOBAL_UNITS):
        return
    rows = [row for row in s.accesses if row.space == space]
    row = max(rows, key=lambda row: row.wasted, default=None)
    total = sum(row.cost for row in rows)
    if row is None or row.wasted < 0.02 * total:
        return
    place = f" (line {row.line}: {row.source})" if row.line else ""
    yield (
        f"The worst access: {row.direction} of {row.array}{place},"
        f" {counted(row.executed, row.unit[:-1])} a request where {row.ideal:.3g}"
        " would do,"
        f" {row.cost / total:.0%} of all {row.unit}."
    )


def _next(s: Situation, binding: Unit) -> Iterator[str]:
    others = {u: c for u, c in s.estimate.clocks.items() if u is not binding}
    if others:
        unit = max(others, key=lambda unit: others[unit])
        part = s.estimate.share(unit)
        yield f"Without that limit the next one is {unit.value}, at {part:.0%} of it."


def _filling(s: Situation) -> Iterator[str]:
    """How well blocks fill the device."""
    processors, blocks = s.device.processors, s.work.blocks
    if blocks < processors:
        yield (
            f"{counted(blocks, 'block')} {'leaves' if blocks == 1 else 'leave'}"
            f" {processors - blocks} of {processors}"
            " multiprocessors idle: smaller tiles, or a split of the sum, fill them."
        )
    else:
        share = blocks / processors / ceil(blocks / processors)
        if share < 0.9:
            yield (
                f"The multiprocessors get unequal numbers of blocks: {share:.0%} of"
                " their time is used at best."
            )
    if s.work.threads % WARP:
        idle = -s.work.threads % WARP / (ceil(s.work.threads / WARP) * WARP)
        threads = counted(s.work.threads, "thread")
        yield f"Blocks of {threads} leave {idle:.0%} of the lanes idle."


def _spills(s: Situation) -> Iterator[str]:
    stores, loads = s.launch.spill_stores, s.launch.spill_loads
    if stores or loads:
        yield (
            f"A thread has more values than registers: {stores} bytes go to local"
            f" memory and {loads} come back. Smaller tiles of a thread would help."
        )


def clocks(count: float) -> str:
    """A number of clocks.

    >>> clocks(7_300_000), clocks(812)
    ('7.3 million clocks', '812 clocks')
    """
    if count >= 1e6:
        return f"{count / 1e6:.3g} million clocks"
    return f"{count:,.0f} clocks" if count >= 10_000 else f"{count:.0f} clocks"
