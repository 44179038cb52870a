"""How rows are reduced on a GPU: the team of each row, and parts of long rows.

Comes in: how many rows there are, how long they are, the bytes of an iteration.  Goes
out: the plan of least estimated clocks.  A member of a team reads one element of each
``size`` of its row; then ``log2`` exchanges combine the members of a warp, and two
barriers the warps of a block.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import ceil, log2

from gpucodegen.tiling.machine.gpu.devices import WARP, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import Work, estimate
from gpucodegen.tiling.machine.gpu.occupancy import occupancy
from gpucodegen.tiling.machine.gpu.plan import DEFAULT

SIZES = (32, 64, 128, 256, 512, 1024)
"""Threads of a team."""
BLOCK = 256
"""Threads of a block of several teams."""
UNKNOWN = 1 << 12
"""What stands for an extent that is not known."""
REGISTERS = 32
"""Of a thread, about."""


@dataclass(frozen=True, slots=True)
class RowTeams:
    """``size`` threads for each row; ``count`` teams are a block."""

    size: int
    count: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.size * self.count


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to reduce: their number and length, and the bytes that each element moves.

    ``phases``: passes over a row.  ``alone``: a row needs a block of its own.
    """

    rows: int
    length: int
    bytes: int = 4
    phases: int = 1
    alone: bool = False


@cache
def plan_rows(problem: Rows, device: GpuDevice = DEFAULT) -> RowTeams:
    """The team of each row; of equal costs the smaller one.

    >>> plan_rows(Rows(1 << 16, 256)), plan_rows(Rows(64, 1 << 16)).count
    (RowTeams(size=32, count=8), 1)
    """
    candidates = [
        RowTeams(size, 1 if size > WARP or problem.alone else BLOCK // size)
        for size in SIZES
    ]
    return min(candidates, key=lambda teams: row_clocks(teams, problem, device))


def row_clocks(teams: RowTeams, problem: Rows, device: GpuDevice) -> float:
    """Estimated clocks of a kernel, without its start."""
    blocks = ceil(problem.rows / teams.count)
    warps = blocks * teams.threads // WARP
    steps = ceil(problem.length / teams.size)
    per_warp = problem.phases * (4 * steps + 4 * log2(WARP) + 20)
    is_warp = teams.size == WARP
    barriers = 0 if is_warp else 2 * problem.phases
    moved = problem.rows * problem.length * problem.bytes
    work = Work(
        blocks,
        teams.threads,
        per_warp * warps + barriers * warps * teams.size / WARP,
        sectors=moved / 32 * problem.phases,
        block_sectors=moved / 32,
        memory=moved,
        waits=problem.phases * ceil(steps / 4),
        barriers=barriers,
    )
    held = occupancy(device.multiprocessor, teams.threads, REGISTERS, 0)
    clocks = estimate(device, held.blocks, work).clocks
    return max(clock for unit, clock in clocks.items() if unit.name != "LAUNCH")
