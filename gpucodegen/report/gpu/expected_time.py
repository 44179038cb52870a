"""The time that a launch is expected to take, from its counts and resident blocks.

`estimate` gives the clocks that each unit needs at least.  Here units slow each other
down, as an H100 showed (docs/performance.md has the fit and its residuals):

- Warps that load, compute and wait in turn: the Euclidean norm of the times of
  instruction issue, shared memory with the L1 cache, tensor cores, the L2 cache, and of
  the warps' waits for memory.
- ``wgmma`` beside tensor copies: a soft maximum of the times of tensor cores, copies
  and memory.  Between tiles, warps wait for the sums and move them.
- The device memory runs beside both; but the blocks of a wave begin and end together,
  so part of the results is moved while nothing is computed.
"""

from __future__ import annotations

from math import ceil, hypot

from gpucodegen.tiling.machine.gpu.devices import SECTOR, WARPGROUP, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import (
    BUSY_LATENCY,
    MEETING,
    START,
    Unit,
    Work,
    busiest,
    estimate,
)
from gpucodegen.tiling.machine.gpu.product_plan import soft_maximum
from gpucodegen.tiling.machine.gpu.product_work import HELD
from gpucodegen.tiling.machine.gpu.warpgroups import KEPT

SPREAD = 0.1
"""Half the width of the interval, as a share of its middle."""
WAIT = 450
"""Nanoseconds of a warp's wait for memory.

The one constant that is fitted to the H100's rows: 479 to 570 clocks are published for
an idle memory, 600 ns for a busy one.
"""
L2_REACHED = 0.78
"""Share of `GpuDevice.l2_rate` that loads of threads reach.

Published for H800: 3900 to 4500 bytes per clock, 8.2 TB/s.
"""
WARPGROUP_REACHED = 0.879
"""Share of their rate that ``wgmma`` reaches with random operands: published for H800.

It is that of the clock under the power limit.
"""
_ISSUED = (Unit.ISSUE, Unit.FMA, Unit.DOUBLE, Unit.INTEGER, Unit.SPECIAL)
"""Units that a multiprocessor's schedulers feed; the busiest of them counts."""


def expected_time(device: GpuDevice, resident: int, work: Work) -> float | None:
    """Nanoseconds from the end of the launch before to the end of this one.

    ``resident`` blocks share a multiprocessor.  None where blocks wait for certain
    others: the longest chain of them is not counted.

    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> copy = Work(16384, 128, 1e6, sectors=1 << 22, memory=1 << 27, waits=1)
    >>> expected_time(DEVICES["H100"], 16, copy) // 1000
    46.0
    """
    if work.chained and not work.meetings:
        return None
    most = busiest(work.blocks, device.processors)
    rounds = ceil(most / min(most, max(resident, 1)))
    results = work.results / device.copy_bandwidth
    if work.warpgroup:
        return START + _of_warpgroups(device, rounds, resident, work) + results
    computed = _of_threads(device, rounds, resident, work)
    memory = work.memory / device.copy_bandwidth
    ends = min(computed, results / rounds)
    met = work.meetings * MEETING
    return START + soft_maximum((computed, memory)) + ends + met


def _of_threads(device: GpuDevice, rounds: int, resident: int, work: Work) -> float:
    clocks = estimate(device, resident, work).clocks
    units = (
        max(clocks.get(unit, 0.0) for unit in _ISSUED),
        clocks.get(Unit.SHARED, 0.0) + clocks.get(Unit.L1, 0.0),
        clocks.get(Unit.TENSOR, 0.0),
        work.block_sectors * SECTOR / (L2_REACHED * device.l2_rate),
    )
    waits = rounds * (work.waits + work.copy_waits) * WAIT
    return hypot(*(each / device.clock for each in units), waits)


def _of_warpgroups(device: GpuDevice, rounds: int, resident: int, work: Work) -> float:
    """Time without the results: of K tiles, and of the consumers' waits for sums."""
    tensor = estimate(device, resident, work).clocks[Unit.TENSOR]
    fits = work.operands <= HELD * device.l2
    rate = device.l2_rate * (KEPT if fits else 1.0)
    each = device.multiprocessor.l2_rate * min(work.blocks, device.processors)
    copies = work.staged / min(rate, each)
    multiplied = soft_maximum(
        (
            tensor / WARPGROUP_REACHED / device.clock,
            copies / device.clock,
            work.operands / device.copy_bandwidth,
        )
    )
    consumers = max(work.threads - WARPGROUP, WARPGROUP)
    waits = rounds * work.waits * work.threads / consumers * BUSY_LATENCY
    return multiplied + waits


def interval(middle: float) -> tuple[float, float]:
    """The interval around its middle that holds what an H100 took."""
    return middle * (1 - SPREAD), middle * (1 + SPREAD)
