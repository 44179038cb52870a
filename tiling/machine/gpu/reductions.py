"""Plans of row reductions and scans on GPUs: threads per row, and parts of long rows.

From the number and length of rows and the bytes of an iteration, `plan_rows`,
`plan_columns` and `plan_parts` return the plan of least estimated clocks.  A member of
a team reads ``width`` elements of each ``size * width`` of its row; then shuffles
combine the members of a warp, and two barriers the warps of a block.  Where rows are
strided in memory, the lanes of a warp take neighbouring rows, and each of the block's
warps a share of their elements.
"""

from __future__ import annotations

from dataclasses import replace
from math import ceil, log2

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import SECTOR, WARP, GpuDevice, occupancy
from gpucodegen.tiling.machine.gpu.estimate import START, Unit, Work, estimate
from gpucodegen.tiling.machine.gpu.product_plan import DEFAULT
from gpucodegen.tiling.machine.plan_space import Choose, least

SIZES = (32, 64, 128, 256, 512, 1024)
"""Threads of a team."""
BLOCK = 256
"""Threads of a block of several teams."""
UNKNOWN = 1 << 12
"""Stands for an unknown extent."""
REGISTERS = 28
"""Approximate registers of a thread besides the elements that it keeps."""
OUTSTANDING = 2
"""Approximate loads in flight per thread of a loop."""
MOST_MEMBERS = 64
"""Members of a column, at most: the first one combines the results of all."""
FILL = 2
"""Blocks of each multiprocessor that keep it busy."""
SHARES = 4
"""By how much a multiprocessor may draw more than its share of the bandwidth, about."""
LOADED = 2400
"""Clocks of a load while all of them want memory: twice the 600 ns published for H100.

Twice, because an H100 made column sums at 5/6 of the rate of a copy where half of that
was on its way.
"""
KEPT = 32
"""Elements of a row that a member keeps in registers at most."""


@dataclass(frozen=True, slots=True)
class RowTeams:
    """``size`` threads for each row; ``count`` teams form a block.

    ``keeps``: each member keeps its part of the row in registers.
    """

    size: int
    count: int = 1
    keeps: bool = False

    @property
    def threads(self) -> int:
        return self.size * self.count


@dataclass(frozen=True, slots=True)
class ColumnTeams:
    """``lanes`` threads with ``width`` neighbouring rows each, ``members`` times."""

    members: int
    width: int
    lanes: int = WARP

    @property
    def threads(self) -> int:
        return self.lanes * self.members

    @property
    def rows(self) -> int:
        return self.lanes * self.width


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows to reduce: their number and length, and the bytes that each element moves.

    ``width``: neighbours per access.  ``phases``: passes over a row. ``alone``: a row
    needs a block of its own.  ``can_keep``: all passes read the same elements.
    ``across``: neighbouring rows are neighbours in memory, ``groups`` times ``rows`` of
    them; ``width`` is along these.
    """

    rows: int
    length: int
    width: int = 1
    bytes: int = 4
    phases: int = 1
    alone: bool = False
    can_keep: bool = False
    across: bool = False
    groups: int = 1


def plan_rows(
    problem: Rows, device: GpuDevice = DEFAULT, choose: Choose = least
) -> RowTeams:
    """The team of each row; ties go to the smaller one.

    >>> plan_rows(Rows(1 << 16, 256)), plan_rows(Rows(64, 1 << 16)).count
    (RowTeams(size=32, count=8, keeps=False), 1)
    """
    candidates = [_teams(size, problem) for size in SIZES]
    return choose(candidates, lambda teams: row_clocks(teams, problem, device))


def _teams(size: int, problem: Rows) -> RowTeams:
    count = 1 if size > WARP or problem.alone else BLOCK // size
    keeps = problem.can_keep and _held(size, problem) <= KEPT
    return RowTeams(size, count, keeps)


def _held(size: int, problem: Rows) -> int:
    """Elements of a row per member."""
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
    outstanding = steps if teams.keeps else min(steps, OUTSTANDING)
    registers = REGISTERS + (held if teams.keeps else 2 * problem.width)
    fits = occupancy(device.multiprocessor, teams.threads, registers, 0)
    busy = teams.count * min(teams.size, ceil(problem.length / problem.width))
    flying = busy * problem.width * problem.bytes * outstanding
    idle = _idle(device, blocks, fits.blocks, flying)
    work = Work(
        blocks,
        teams.threads,
        warps * (problem.phases * (2 * held + 2 * steps + exchanges) + 20),
        sectors=moved / SECTOR,
        block_sectors=moved / SECTOR,
        memory=moved * idle,
        waits=passes * ceil(steps / max(outstanding, 1)),
        barriers=barriers,
    )
    clocks = estimate(device, fits.blocks, work).clocks
    return max(clock for unit, clock in clocks.items() if unit is not Unit.LAUNCH)


def plan_columns(
    problem: Rows, device: GpuDevice = DEFAULT, choose: Choose = least
) -> ColumnTeams:
    """The warps that share strided rows; ties go to fewer warps.

    >>> plan_columns(Rows(1 << 13, 1 << 13, width=4, across=True)).width
    4
    """
    widths = [1 << power for power in range(problem.width.bit_length())]
    candidates = [
        ColumnTeams(threads // lanes, width, lanes)
        for width in reversed(widths)
        for lanes in (WARP, WARP // 2, WARP // 4, WARP // 8)
        for threads in SIZES
        if threads // lanes <= MOST_MEMBERS
    ]
    return choose(candidates, lambda teams: column_clocks(teams, problem, device))


def column_clocks(teams: ColumnTeams, problem: Rows, device: GpuDevice) -> float:
    """Estimated clocks of a kernel, without its start."""
    blocks = ceil(problem.rows / teams.rows) * problem.groups
    moved = problem.groups * problem.rows * problem.length * problem.bytes
    run = teams.rows * problem.bytes
    apart = 1 + (SECTOR / run) ** 2  # an assumption
    steps = ceil(problem.length / teams.members)
    warps = blocks * teams.threads / WARP
    registers = REGISTERS + 4 * teams.width
    fits = occupancy(device.multiprocessor, teams.threads, registers, 0)
    outstanding = min(steps, OUTSTANDING)
    flying = teams.threads * teams.width * problem.bytes * outstanding
    idle = _idle(device, blocks, fits.blocks, flying)
    work = Work(
        blocks,
        teams.threads,
        warps * (steps * (teams.width + 4) + 20 + 3 * teams.members),
        sectors=moved / SECTOR,
        block_sectors=moved / SECTOR,
        memory=apart * moved * idle,
        waits=ceil(steps / max(outstanding, 1)),
        barriers=teams.members,
    )
    clocks = estimate(device, fits.blocks, work).clocks
    return max(clock for unit, clock in clocks.items() if unit is not Unit.LAUNCH)


def _idle(device: GpuDevice, blocks: int, resident: int, flying: float) -> float:
    """The slowdown of memory by too few bytes in flight.

    Little's law: memory is busy if bandwidth times latency are in flight. ``flying``:
    bytes that a block has in flight.  A multiprocessor with one block waits for memory
    while that starts and ends; the others draw more than their share.
    """
    running = min(blocks, device.processors * max(resident, 1))
    needed = device.copy_bandwidth / device.clock * LOADED
    fill = min(FILL * device.processors / blocks, SHARES)
    return max(1.0, needed / max(running * flying, 1.0), fill)


MOST_PARTS = 4096
"""Parts of one row, at most."""


def plan_parts(
    problem: Rows, device: GpuDevice = DEFAULT, choose: Choose = least
) -> int:
    """Into how many parts each row is cut; a second kernel combines them.

    >>> plan_parts(Rows(1 << 13, 1 << 12)), plan_parts(Rows(1, 1 << 26)) > 256
    (1, True)
    """
    powers = (1 << power for power in range(MOST_PARTS.bit_length()))
    parts = [n for n in powers if n == 1 or n * WARP * problem.width <= problem.length]
    return choose(parts, lambda n: _in_parts(n, problem, device))


SHORTEST = 64
"""Least iterations of a part of a scan of strided rows."""


def plan_scan_parts(problem: Rows, device: GpuDevice = DEFAULT) -> int:
    """Into how many parts each row of a scan is cut.

    A scan in parts reads its rows twice.  Where rows are strided in memory, a thread
    has a part, and the parts provide as many threads as keep the device busy.

    >>> plan_scan_parts(Rows(1 << 13, 1 << 12)), plan_scan_parts(Rows(1, 1 << 26)) > 256
    (1, True)
    >>> plan_scan_parts(Rows(1 << 13, 1 << 13, across=True))
    8
    """
    if problem.across:
        threads = problem.rows * problem.groups
        wanted = FILL * device.processors * BLOCK
        most = max(1, problem.length // SHORTEST)
        return min(1 << (max(1, wanted // threads)).bit_length() - 1, most, MOST_PARTS)
    parts = plan_parts(problem, device)
    if parts == 1:
        return 1
    cut = 2 * _in_parts(parts, problem, device)
    return parts if cut < _best(problem, device) else 1


def _in_parts(parts: int, problem: Rows, device: GpuDevice) -> float:
    if parts == 1:
        return _best(problem, device)
    length = ceil(problem.length / parts)
    if problem.across:
        first = replace(problem, length=length, groups=problem.groups * parts)
    else:
        first = replace(problem, length=length, rows=problem.rows * parts)
    second = replace(problem, length=parts)
    start = START * device.clock
    return _best(first, device) + _best(second, device) + start


def _best(problem: Rows, device: GpuDevice) -> float:
    if problem.across:
        return column_clocks(plan_columns(problem, device), problem, device)
    return row_clocks(plan_rows(problem, device), problem, device)
