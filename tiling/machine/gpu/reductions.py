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

from gpucodegen.tiling.machine.gpu.devices import SECTOR, WARP, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import Unit, Work, estimate
from gpucodegen.tiling.machine.gpu.occupancy import occupancy
from gpucodegen.tiling.machine.gpu.plan import DEFAULT

SIZES = (32, 64, 128, 256, 512, 1024)
"""Threads of a team."""
BLOCK = 256
"""Threads of a block of several teams."""
UNKNOWN = 1 << 12
"""What stands for an extent that is not known."""
REGISTERS = 28
"""Of a thread, about, besides the elements that it keeps."""
KEPT = 32
"""Elements of a row that a member keeps in registers at most."""


@dataclass(frozen=True, slots=True)
class RowTeams:
    """``size`` threads for each row; ``count`` teams are a block.

    ``keeps``: each member keeps its part of the row in registers.
    """

    size: int
    count: int = 1
    keeps: bool = False

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.size * self.count


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to reduce: their number and length, and the bytes that each element moves.

    ``width``: neighbours that a member takes at once.  ``phases``: passes over a row.
    ``alone``: a row needs a block of its own.  ``can_keep``: all passes are alike.
    """

    rows: int
    length: int
    width: int = 1
    bytes: int = 4
    phases: int = 1
    alone: bool = False
    can_keep: bool = False


@cache
def plan_rows(problem: Rows, device: GpuDevice = DEFAULT) -> RowTeams:
    """The team of each row; of equal costs the smaller one.

    >>> plan_rows(Rows(1 << 16, 256)), plan_rows(Rows(64, 1 << 16)).count
    (RowTeams(size=32, count=8, keeps=False), 1)
    """
    candidates = [_teams(size, problem) for size in SIZES]
    return min(candidates, key=lambda teams: row_clocks(teams, problem, device))


def _teams(size: int, problem: Rows) -> RowTeams:
    count = 1 if size > WARP or problem.alone else BLOCK // size
    keeps = problem.can_keep and _held(size, problem) <= KEPT
    return RowTeams(size, count, keeps)


def _held(size: int, problem: Rows) -> int:
    """Elements of a row that one member has."""
    return ceil(problem.length / (size * problem.width)) * problem.width


def row_clocks(teams: RowTeams, problem: Rows, device: GpuDevice) -> float:
    """Estimated clocks of a kernel, without its start."""
    blocks = ceil(problem.rows / teams.count)
    warps = blocks * teams.threads // WARP
    held = _held(teams.size, problem)
    steps = held / problem.width
    exchanges = 4 * log2(WARP) + (0 if teams.size == WARP else 2 * teams.size / WARP)
    barriers = 0 if teams.size == WARP else 2 * problem.phases
    passes = 1 if teams.keeps else problem.phases
    moved = passes * problem.rows * problem.length * problem.bytes
    outstanding = steps if teams.keeps else 4
    work = Work(
        blocks,
        teams.threads,
        warps * (problem.phases * (2 * held + 2 * steps + exchanges) + 20),
        sectors=moved / SECTOR,
        block_sectors=moved / SECTOR,
        memory=moved,
        waits=passes * ceil(steps / outstanding),
        barriers=barriers,
    )
    registers = REGISTERS + (held if teams.keeps else 2 * problem.width)
    fits = occupancy(device.multiprocessor, teams.threads, registers, 0)
    clocks = estimate(device, fits.blocks, work).clocks
    return max(clock for unit, clock in clocks.items() if unit is not Unit.LAUNCH)
