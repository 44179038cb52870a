"""How many neighbouring windows a thread computes, by a model of its units.

For each warp and window, a thread that computes ``n`` of them takes the Euclidean norm
of the clocks of its units, which slow each other down,

    accesses / n            clocks of the L1 cache: a warp's access of 4 bytes a lane
                            moves the 128 bytes that the cache moves in a clock
    operations / n / 2      clocks of the integer units, as most are of indices
    LOADED / warps / n      the wait for all loads, shared by the resident warps
    32 * bytes / rate / 2   clocks of the L2 cache for a window's part of all arrays

and the soft maximum of that and the memory's clocks, twice those of the L2 cache.

The plan with the fewest windows among the best is taken, if it needs at most `WORTH` of
the clocks of one window a thread, fits in the registers that leave half of the warps,
and leaves enough threads.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import hypot
from typing import TypeVar

from gpucodegen.tiling.machine.gpu.devices import (
    WARP,
    GpuDevice,
    occupancy,
)
from gpucodegen.tiling.machine.gpu.product_plan import soft_maximum

MOST_OPERATIONS = 1024
"""Of a thread, written out: each takes time to compile."""
MOST_ALIVE = 96
"""Values at a time, beside addresses."""
LEAST_THREADS = 1024
"""Of a multiprocessor, half of what it holds."""
WORTH, NEAR = 0.96, 1.02
THREADS = 256
"""Of a block."""
REGISTERS = 16
"""Approximate registers of a thread besides the values alive."""
LOADED = 450
"""Nanoseconds of a warp's wait for memory, as an H100's rows fit it."""

Along = TypeVar("Along")


def memory_clocks(windows: int, nbytes: float, device: GpuDevice) -> float:
    """The memory's clocks for a warp's windows."""
    rate = device.copy_bandwidth / device.processors / device.clock
    return WARP * nbytes / windows / rate


def plan_coarsening(
    work: Mapping[tuple[Along, int], tuple[int, int, int]],
    windows: int,
    nbytes: float,
    *,
    device: GpuDevice,
) -> tuple[Along, int] | None:
    """The loop and the number of its iterations that a thread takes; None for one.

    ``work``: accesses, operations and values at a time, by loop and number. ``nbytes``:
    those of the arrays.

    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> work = {("i", 1): (19, 40, 4), ("i", 2): (22, 72, 8), ("i", 4): (28, 136, 16)}
    >>> plan_coarsening(work, 1 << 24, 1 << 27, device=DEVICES["H200"])
    ('i', 4)
    >>> plan_coarsening(work, 1 << 18, 1 << 21, device=DEVICES["H200"])
    """
    memory = memory_clocks(windows, nbytes, device)

    def clocks(along: Along, lanes: int) -> float:
        accesses, operations, alive = work[along, lanes]
        fits = occupancy(device.multiprocessor, THREADS, REGISTERS + alive, 0)
        waits = LOADED * device.clock / fits.warps
        integer = device.multiprocessor.integer / WARP
        each = hypot(accesses, operations / integer, waits) / lanes
        return soft_maximum((hypot(each, memory / 2), memory))

    least = device.processors * LEAST_THREADS
    fitting = [
        (along, lanes)
        for (along, lanes), (_, _, alive) in work.items()
        if alive <= MOST_ALIVE and (lanes == 1 or windows // lanes >= least)
    ]
    best = min(fitting, key=lambda plan: clocks(*plan), default=None)
    if best is None or clocks(*best) > WORTH * clocks(best[0], 1):
        return None
    near = [p for p in fitting if clocks(*p) <= NEAR * clocks(*best)]
    return min(near, key=lambda plan: plan[1])
