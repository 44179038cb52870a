"""Roofline-style estimate of a GPU launch: clocks of each unit, and the binding one.

`estimate` takes the counts of a launch (`Work`), executed or planned, and returns lower
bounds in clocks, one for each unit of the device; the largest limits the kernel.
Nothing is measured.  A multiprocessor that gets ``n`` of the blocks needs
``n * count / rate`` clocks of each of its units; the caches and the memory of the
device serve all multiprocessors together. A warp that waits for memory is idle unless
other warps run: a block needs at least the latencies of its sequential stalls.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from math import ceil

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import (
    SCHEDULERS,
    SECTOR,
    WARP,
    GpuDevice,
    Multiprocessor,
)

LATENCY_L1, LATENCY_L2, LATENCY_MEMORY, BARRIER = 33, 260, 480, 30
"""Clocks until a load from there arrives, and of a barrier; as published for sm_90."""
MEETING = 1500
"""Nanoseconds of a barrier of the grid with one block on each multiprocessor; published
for V100 (Zhang et al., "A study of single and multi-device synchronization methods in
NVIDIA GPUs", 2020), assumed for the others."""
BUSY_LATENCY = 600
"""Nanoseconds of a load while the memory is busy: the most that was published."""
START = 2400
"""Nanoseconds from a launch to a kernel's start; published for A100 and H100."""


class Unit(Enum):
    """A unit that may limit a kernel."""

    __hash__ = object.__hash__  # members are single; Enum hashes their names in Python

    ISSUE = "instruction issue"
    FMA = "f32 arithmetic"
    DOUBLE = "f64 arithmetic"
    INTEGER = "integer arithmetic"
    SPECIAL = "special functions"
    TENSOR = "tensor cores"
    SHARED = "shared memory"
    L1 = "L1 cache"
    L2 = "L2 cache"
    MEMORY = "device memory"
    LATENCY = "latency"
    LAUNCH = "starting the kernel"


@dataclass(frozen=True, slots=True)
class Work:
    """Counts of a whole launch, and its extents.

    Instructions count warps: ``instructions`` all of them, ``fma``, ``double``,
    ``integer``, ``special`` those of a unit.  ``tensor`` and ``warpgroup`` count fused
    multiply-adds of 16 bits by ``mma.sync`` and by ``wgmma`` (one of 8 bits is half of
    one, one of tf32 two), ``double_tensor`` those of f64,
    ``wavefronts`` those of shared memory, ``sectors`` the 32-byte sectors that warps
    request, ``block_sectors`` those that are new to their block, ``memory`` the least
    bytes that the device memory moves.  ``waits``: stalls of one warp for loads,
    ``barriers`` for a barrier, ``meetings`` for all other blocks.  ``abreast``: blocks
    that read the same data do so together, so all wait for memory.

    Known of executed kernels alone: ``copy_waits`` of one warp for groups of
    ``cp.async``, each divided by the groups in flight; ``results``, the bytes of
    ``memory`` in arrays that are written; ``operands``, those of all other arrays;
    ``staged``, bytes that tensor copies bring to shared memory; ``chained``, waits for
    certain other blocks.
    """

    blocks: int
    threads: int
    instructions: float
    fma: float = 0
    double: float = 0
    integer: float = 0
    special: float = 0
    tensor: float = 0
    warpgroup: float = 0
    double_tensor: float = 0
    wavefronts: float = 0
    sectors: float = 0
    block_sectors: float = 0
    memory: float = 0
    waits: float = 0
    barriers: float = 0
    meetings: float = 0
    abreast: bool = False
    copy_waits: float = 0
    results: float = 0
    operands: float = 0
    staged: float = 0
    chained: float = 0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Clocks that each used unit needs for a launch."""

    clocks: Mapping[Unit, float]

    @property
    def binding(self) -> Unit:
        """The unit that needs most clocks."""
        return max(self.clocks, key=lambda unit: self.clocks[unit])

    @property
    def total(self) -> float:
        """A lower bound of the launch in clocks, without its neighbours."""
        return self.clocks[self.binding]

    def share(self, unit: Unit) -> float:
        """The utilisation of a unit if only the binding one causes stalls."""
        return self.clocks.get(unit, 0.0) / self.total


def needed_in_flight(device: GpuDevice) -> float:
    """Bytes in flight per multiprocessor that keep the memory busy.

    Little's law: bandwidth times latency.

    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> round(needed_in_flight(DEVICES["H200"]) / 1024, 1)
    19.2
    """
    return device.copy_bandwidth * BUSY_LATENCY / device.processors


def busiest(blocks: int, processors: int) -> int:
    """Blocks of the multiprocessor that gets most of them.

    >>> busiest(1024, 132), busiest(3, 132)
    (8, 1)
    """
    return ceil(blocks / processors)


def estimate(device: GpuDevice, resident: int, work: Work) -> Estimate:
    """The clocks of each unit; ``resident`` blocks share a multiprocessor.

    The 128 x 128 tile of an f32 product with its 456 wavefronts for 256 clocks of fused
    multiply-adds, per warp and K tile of 16 terms:

    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> warps = 1024 * 8 * 256
    >>> counts = Work(1024, 256, 1365 * warps, 1024 * warps, wavefronts=456 * warps)
    >>> found = estimate(DEVICES["H200"], 2, counts)
    >>> found.binding.value, round(found.share(Unit.FMA), 2)
    ('shared memory', 0.56)
    """
    most = busiest(work.blocks, device.processors)
    mine = most / work.blocks
    running = min(most, max(resident, 1))
    warps = running * ceil(work.threads / WARP)
    clocks = {
        unit: count * mine / rate
        for unit, count, rate in _local(device.multiprocessor, work, warps)
    }
    clocks[Unit.L2] = max(clocks[Unit.L2], work.block_sectors * SECTOR / device.l2_rate)
    clocks[Unit.MEMORY] = work.memory * device.clock / device.copy_bandwidth
    clocks[Unit.LATENCY] = ceil(most / running) * _waiting(device, work)
    clocks[Unit.LAUNCH] = START * device.clock
    return Estimate({unit: value for unit, value in clocks.items() if value})


def _local(
    processor: Multiprocessor, work: Work, warps: int
) -> tuple[tuple[Unit, float, float], ...]:
    """Per unit of a multiprocessor: its work for all blocks, and its rate per clock."""
    return (
        (Unit.ISSUE, work.instructions, min(SCHEDULERS, warps)),
        (Unit.FMA, work.fma, processor.fma / WARP),
        (Unit.DOUBLE, work.double, processor.double / WARP),
        (Unit.INTEGER, work.integer, processor.integer / WARP),
        (Unit.SPECIAL, work.special, processor.special / WARP),
        (Unit.TENSOR, _on_tensor_cores(processor, work), 1),
        (Unit.SHARED, work.wavefronts, 1),
        (Unit.L1, work.sectors * SECTOR, processor.l1_rate),
        (Unit.L2, work.block_sectors * SECTOR, processor.l2_rate),
    )


def _on_tensor_cores(processor: Multiprocessor, work: Work) -> float:
    """Clocks of one multiprocessor's tensor cores for all products."""
    return sum(count / rate for count, rate in tensor_rates(processor, work))


def tensor_rates(processor: Multiprocessor, work: Work) -> Sequence[tuple[float, int]]:
    """The work of tensor cores and its rate per clock, where that is published."""
    rates = (
        (work.tensor, processor.tensor),
        (work.warpgroup, processor.warpgroup),
        (work.double_tensor, processor.double_tensor or processor.double),
    )
    return [(count, rate) for count, rate in rates if count and rate]


def _waiting(device: GpuDevice, work: Work) -> float:
    """Clocks of a block that nothing else slows: its stalls and its instructions.

    Its own warps share the schedulers; no other warps fill gaps. Sectors that are new
    to a block come from beyond the L1 cache.  As many of them as the device memory
    moves at least come from there, or all of them if ``abreast``.
    """
    new = work.block_sectors / work.sectors if work.sectors else 0.0
    far = min(1.0, work.memory / SECTOR / max(work.block_sectors, 1.0))
    far = 1.0 if work.abreast else far
    beyond = far * LATENCY_MEMORY + (1 - far) * LATENCY_L2
    load = new * beyond + (1 - new) * LATENCY_L1
    warps = ceil(work.threads / WARP)
    turns = ceil(warps / SCHEDULERS)
    own = work.instructions / (work.blocks * warps) * turns
    met = work.barriers * BARRIER + work.meetings * MEETING * device.clock
    return own + work.waits * load + met
