"""How a grid sweeps over streams of memory: elements that pass once, in any order.

A thread takes ``groups`` groups of ``width`` neighbours, a block ``columns x rows`` of
such threads.  The cost of a plan is the largest of these clocks of the busiest
multiprocessor, a tenth of the others, which do not wholly overlap, and its start:

* the memory of the device, all bytes at the rate of a copy;
* loads under way (Little's law): bytes / (bytes in flight / latency), where the
  threads that fit hold ``groups * width`` elements of each load;
* sectors of the L1 cache: an access of ``w`` elements by lanes that are ``width``
  elements apart touches every sector that it has a byte of, in each row of its warp;
* instructions.

These are estimates from published facts: four such kernels took 1.04 to 1.13 times
theirs on an H100 (``bench/results/gpu``).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import ceil

from gpucodegen.tiling.machine.gpu.devices import DEVICES, SCHEDULERS, SECTOR, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import BUSY_LATENCY, LATENCY_MEMORY, busiest
from gpucodegen.tiling.machine.gpu.limits import WARP
from gpucodegen.tiling.machine.gpu.occupancy import occupancy
from gpucodegen.tiling.machine.menu import Choose, least

GROUPS = 1, 2, 4, 8
THREADS = 128, 256
ADDRESSING = 12
"""Instructions of a thread before its first access, and registers beside elements."""
LONGEST = 512
"""Operations of a thread's text: each takes time to compile."""
APART = 0.1
"""Share of the clocks of units that do not bind which comes on top; assumed."""
REGISTER = 4
"""Bytes of one."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One access of each iteration.

    ``element``: bytes of one.  ``distance``: elements from one iteration to the next;
    None where that is no fixed number.  ``widths``: elements that one access moves at
    most, by the width of the groups, where it is not 1.
    """

    element: int
    loads: bool
    distance: int | None
    widths: tuple[tuple[int, int], ...] = ()

    def at_once(self, width: int) -> int:
        """Elements that one access moves in groups of a width."""
        return dict(self.widths).get(width, 1)

    def requests(self, width: int) -> int:
        """Accesses of a thread for a group."""
        if self.distance == 0 and self.loads:
            return 1
        return width // self.at_once(width)

    def sectors(self, width: int, columns: int) -> float:
        """Sectors that a warp asks for in a group of each lane.

        >>> of_f32 = Stream(4, True, 1, ((2, 2), (4, 4)))
        >>> of_f32.sectors(4, 128), of_f32.sectors(4, 1), of_f32.sectors(1, 128)
        (16, 32, 4)
        >>> Stream(4, True, 1).sectors(4, 128), Stream(4, True, None).sectors(1, 32)
        (64, 32)
        """
        lanes = min(columns, WARP)
        bytes_ = self.at_once(width) * self.element
        apart = SECTOR if self.distance is None else abs(self.distance) * self.element
        span = (lanes - 1) * width * apart + bytes_
        touched = min(ceil(span / SECTOR), lanes * ceil(bytes_ / SECTOR))
        return self.requests(width) * (WARP // lanes) * touched


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """``columns x rows`` threads, each with ``groups`` groups of ``width`` elements."""

    width: int
    groups: int
    columns: int
    rows: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.columns * self.rows

    @property
    def row(self) -> int:
        """Elements of a row that a block takes."""
        return self.columns * self.width * self.groups


def plan_streams(
    streams: Sequence[Stream],
    extents: tuple[int, int],
    operations: int,
    *,
    device: GpuDevice = DEVICES["H100"],
    choose: Choose = least,
) -> StreamPlan:
    """The plan of least estimated clocks for ``extents``: rows, and elements of a row.

    ``operations``: of the text of one iteration.  Of equal costs, the plan with more
    blocks wins.

    >>> of_f32 = ((2, 2), (4, 4))
    >>> relu = [Stream(4, True, 1, of_f32), Stream(4, False, 1, of_f32)]
    >>> plan_streams(relu, (1, 1 << 24), 3)
    StreamPlan(width=4, groups=2, columns=128, rows=1)
    >>> plan_streams(relu, (1 << 20, 16), 3)
    StreamPlan(width=4, groups=2, columns=2, rows=64)
    """

    def cost(plan: StreamPlan) -> tuple[float, int]:
        return clocks(plan, streams, extents, operations, device), plan.row * plan.rows

    return choose(candidates(streams, extents, operations), cost)


def candidates(
    streams: Sequence[Stream], extents: tuple[int, int], operations: int
) -> Iterator[StreamPlan]:
    """Plans whose text is short, the plainest first."""
    rows, row = extents
    known = {width for stream in streams for width, _ in stream.widths}
    for width, groups, threads in product(sorted({1, *known}), GROUPS, THREADS):
        is_long = width * groups * operations > LONGEST
        if (is_long or width * groups > row) and (width, groups) != (1, 1):
            continue
        needed = ceil(row / (width * groups))
        columns = min(threads, 1 << (needed - 1).bit_length())
        down = min(threads // columns, 1 << max(rows - 1, 0).bit_length())
        yield StreamPlan(width, groups, columns, max(down, 1))


def clocks(
    plan: StreamPlan,
    streams: Sequence[Stream],
    extents: tuple[int, int],
    operations: int,
    device: GpuDevice,
) -> float:
    """Estimated clocks of a launch."""
    rows, row = extents
    across, down = ceil(row / plan.row), ceil(rows / plan.rows)
    blocks = max(across * down, 1)
    most, unit = busiest(blocks, device.processors), device.multiprocessor
    held = plan.width * plan.groups
    kept = sum(-(-held * stream.element // REGISTER) for stream in streams)
    registers = min(2 * ADDRESSING + kept, 255)
    fits = occupancy(unit, plan.threads, registers, 0).blocks
    running = max(1, min(most, fits))
    moved = held * plan.threads
    loaded = moved * sum(s.element for s in streams if s.loads and s.distance != 0)
    stored = moved * sum(s.element for s in streams if not s.loads)
    warps = ceil(plan.threads / WARP)
    requests = plan.groups * sum(s.requests(plan.width) for s in streams)
    instructions = warps * (ADDRESSING + requests + held * operations)
    sectors = (
        warps * plan.groups * sum(s.sectors(plan.width, plan.columns) for s in streams)
    )
    share = device.copy_bandwidth / device.clock / device.processors
    flight = running * loaded / (BUSY_LATENCY * device.clock)
    each = (
        (loaded + stored) / share,
        loaded / flight if flight else 0.0,
        sectors * SECTOR / unit.l1_rate,
        instructions / min(SCHEDULERS, running * warps),
    )
    worst = max(each)
    start = LATENCY_MEMORY * (1 + APART * (ceil(most / running) - 1))
    return start + most * (worst + APART * (sum(each) - worst))
