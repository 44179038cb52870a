"""Thread groups for programs of dependent parallel steps: sizes of least clocks.

`plan_steps` chooses the blocks and threads that run a sequence of steps, `plan_lanes`
those for many independent programs, which share a block without waiting for other
blocks (`LaneTeams`).  A step ends with a barrier, which costs more among blocks than
within one.  Its parallel loops are distributed over the threads, which takes rounds.  A
step takes a multiprocessor

    rounds (waits latency + DEPENDENT operations) / together
    + warps max(operations / schedulers, sectors SECTOR / rate)

clocks: the stalls of one thread, plus the instructions or sectors of all warps. The
terms add up, for a step is too short to hide one behind the other.  A thread overlaps
the stalls of several iterations (`side_by_side`). The project has not measured these
constants.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import combinations, pairwise
from math import ceil, prod

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import SCHEDULERS, SECTOR, WARP, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import (
    BARRIER,
    LATENCY_L2,
    MEETING,
    busiest,
)
from gpucodegen.tiling.machine.gpu.product_plan import DEFAULT
from gpucodegen.tiling.machine.plan_space import Choose, least

DEPENDENT = 4
"""Latency of a dependent operation in clocks."""
THREADS = (32, 64, 128, 256, 512, 1024)
"""Block sizes; 1024 threads have 64 registers each, enough for a step."""
TOGETHER = 4
"""Iterations that a thread interleaves, if it has as many."""
UNKNOWN = 1 << 16
"""Assumed iterations of a loop of unknown extent."""
DIMENSIONS = 3
"""Loops of a nest that are distributed, at most."""

Extents = tuple[int | None, ...]


@dataclass(frozen=True, slots=True)
class ThreadGroup:
    """``blocks`` of ``threads``; all blocks are resident at once."""

    blocks: int
    threads: int

    @property
    def positions(self) -> tuple[int, ...]:
        """The digits of a thread's number: its block, its warp, its lane.

        >>> ThreadGroup(4, 64).positions, ThreadGroup(1, 64).positions
        ((4, 2, 32), (2, 32))
        """
        warp = min(WARP, self.threads)
        inside = (self.threads // warp, warp)
        return (self.blocks, *inside) if self.blocks > 1 else inside


@dataclass(frozen=True, slots=True)
class LaneTeams:
    """Blocks of ``lanes`` independent programs, each run by ``members`` threads.

    Neighbouring threads belong to different programs.  ``members`` is a multiple of a
    program's threads per warp.
    """

    lanes: int
    members: int

    @property
    def threads(self) -> int:
        return self.lanes * self.members

    @property
    def positions(self) -> tuple[int, ...]:
        """The digits of a member's number: its warp, and its place in the warp.

        >>> LaneTeams(8, 32).positions, LaneTeams(1, 256).positions
        ((8, 4), (8, 32))
        """
        inside = max(1, WARP // self.lanes)
        return self.members // inside, inside


@dataclass(frozen=True, slots=True)
class Access:
    """A memory access that an iteration makes ``times`` times.

    ``along``: bytes from one iteration of the innermost loop to the next, ``across``:
    from one program to its neighbour.  None where these vary.
    """

    along: int | None
    across: int | None = 0
    times: int = 1

    def sectors(self, neighbours: int, lanes: int) -> int:
        """Sectors that a warp moves for neighbouring iterations of several programs.

        >>> [Access(stride).sectors(32, 1) for stride in (0, 4, 8, 4096)]
        [1, 4, 8, 32]
        >>> Access(4096, 8).sectors(4, 8)
        8
        """
        if self.along is None or self.across is None:
            return lanes * neighbours
        return _sectors(self.along, self.across, neighbours, lanes)


@lru_cache(maxsize=1 << 12)
def _sectors(along: int, across: int, neighbours: int, lanes: int) -> int:
    starts = {
        (n * along + lane * across) // SECTOR
        for n in range(neighbours)
        for lane in range(lanes)
    }
    return len(starts)


@dataclass(frozen=True, slots=True)
class Step:
    """A nest of parallel loops with ``extents``, None where unknown.

    An iteration executes ``operations`` instructions and stalls ``waits`` times for
    memory, sequentially.  ``dealt``: innermost loops that are distributed over threads;
    all threads run the others.  ``times``: executions of the step.  ``varies``: its
    extents are means.  ``is_straight``: iterations of the innermost loop may be
    interleaved.
    """

    extents: Extents
    operations: int
    waits: int = 1
    accesses: tuple[Access, ...] = ()
    dealt: int = DIMENSIONS
    times: float = 1
    varies: bool = False
    is_straight: bool = False


def mean_step(steps: Sequence[Step]) -> Step:
    """The mean of several steps.

    >>> mean_step([Step((30,), 4), Step((10,), 4)]).extents
    (20,)
    """
    extents = [_mean(each) for each in zip(*(s.extents for s in steps), strict=True)]
    return replace(
        steps[0],
        extents=tuple(extents),
        operations=sum(step.operations for step in steps) // len(steps),
        waits=ceil(sum(step.waits for step in steps) / len(steps)),
        times=sum(step.times for step in steps) / len(steps),
        varies=len({step.extents for step in steps}) > 1,
    )


def _mean(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) // len(known) if len(known) == len(counts) else None


def plan_steps(
    steps: Sequence[Step], *, device: GpuDevice = DEFAULT, choose: Choose = least
) -> ThreadGroup:
    """The thread group that runs these steps in turn, repeatedly.

    >>> plan_steps([Step((100,), 10)]), plan_steps([Step((1000,), 10)])
    (ThreadGroup(blocks=1, threads=128), ThreadGroup(blocks=1, threads=1024))
    >>> plan_steps([Step((10000000,), 10)])
    ThreadGroup(blocks=132, threads=1024)
    """
    counts = [1, *(1 << n for n in range(1, 16) if 1 << n < device.processors)]
    teams = [
        ThreadGroup(blocks, threads)
        for blocks in (*counts, device.processors)
        for threads in THREADS
    ]
    return choose(teams, lambda team: _team_clocks(team, steps, device))


def step_clocks(steps: Sequence[Step], *, device: GpuDevice = DEFAULT) -> float:
    """Estimated clocks of these steps with their best thread group."""
    return _team_clocks(plan_steps(steps, device=device), steps, device)


def plan_lanes(
    programs: int,
    neighbours: Sequence[int],
    steps: Sequence[Step],
    *,
    device: GpuDevice = DEFAULT,
    choose: Choose = least,
) -> LaneTeams:
    """The teams that run the steps of independent programs.

    ``neighbours``: the most programs of a block.

    >>> rows = Step((512,), 6, accesses=(Access(8192, 8), Access(0, 8), Access(8192)))
    >>> plan_lanes(1024, [1, 2, 4, 8, 16, 32], [rows])
    LaneTeams(lanes=8, members=128)
    """
    teams = [
        LaneTeams(lanes, threads // (lanes * inside) * inside)
        for lanes in neighbours
        for inside in (max(1, WARP // lanes),)
        for threads in THREADS
    ]
    return choose(teams, lambda team: lane_clocks(team, programs, steps, device))


def lane_clocks(
    team: LaneTeams, programs: int, steps: Sequence[Step], device: GpuDevice
) -> float:
    """Estimated clocks of all programs; blocks hide each other's stalls."""
    blocks = ceil(programs / team.lanes)
    most = busiest(blocks, device.processors)
    running = min(most, max(1, max(THREADS) // team.threads))
    load = _Load(team.lanes * running, min(blocks, device.processors), device)
    return ceil(most / running) * sum(
        step.times * (BARRIER + load.clocks(step, team.positions, team.lanes))
        for step in steps
    )


def split(
    extents: Sequence[int | None], positions: Sequence[int], most: int = DIMENSIONS
) -> list[slice]:
    """The distribution of thread positions over nested loops, outermost first.

    Neighbouring positions are joined, so that no loop divides a number; the split with
    the fewest rounds is taken.  Loops beyond the innermost ``most``, and beyond the
    positions, get none.

    >>> [split(e, (132, 16, 32))[-1] for e in ([None], [9, 900], [9, 9, 9, 9])]
    [slice(0, 3, None), slice(1, 3, None), slice(2, 3, None)]
    """
    most = min(most, len(positions))
    alone = [slice(0, 0)] * max(0, len(extents) - most)
    shared = extents[len(alone) :]
    if not shared:
        return alone
    cuts = combinations(range(1, len(positions)), len(shared) - 1)
    ways = [
        [slice(first, last) for first, last in pairwise((0, *cut, len(positions)))]
        for cut in cuts
    ]

    def rounds(way: Sequence[slice]) -> int:
        known = [UNKNOWN if extent is None else extent for extent in shared]
        counts = [prod(positions[part]) for part in way]
        return prod(ceil(n / c) for n, c in zip(known, counts, strict=True))

    return [*alone, *min(ways, key=rounds)]


def side_by_side(extent: int | None, count: int) -> int:
    """Iterations that each of ``count`` threads interleaves.

    >>> [side_by_side(extent, 128) for extent in (100, 300, 4096, None)]
    [1, 3, 4, 1]
    """
    return max(1, min(TOGETHER, ceil((extent or 0) / count)))


def _team_clocks(team: ThreadGroup, steps: Sequence[Step], device: GpuDevice) -> float:
    barrier = BARRIER if team.blocks == 1 else MEETING * device.clock
    load = _Load(1 / team.blocks, team.blocks, device)
    return sum(
        step.times * (barrier + load.clocks(step, team.positions)) for step in steps
    )


@dataclass(frozen=True, slots=True)
class _Load:
    """``programs`` on each of some multiprocessors, or a part of one; all in step."""

    programs: float
    processors: int
    device: GpuDevice

    def clocks(self, step: Step, positions: Sequence[int], lanes: int = 1) -> float:
        """Clocks of a step, without its barrier."""
        parts = split(step.extents, positions, step.dealt)
        counts = [prod(positions[part]) for part in parts]
        known = [UNKNOWN if extent is None else extent for extent in step.extents]
        warps = max(1.0, self.programs * prod(known) / WARP)
        neighbours = min(WARP // lanes, counts[-1]) if counts else 1
        sectors = sum(a.times * a.sectors(neighbours, lanes) for a in step.accesses)
        busy = max(step.operations / SCHEDULERS, sectors * SECTOR / self._rate)
        waited = step.waits * LATENCY_L2 + DEPENDENT * step.operations
        together = 1
        if counts and step.is_straight:
            together = side_by_side(step.extents[-1], counts[-1])
        return _rounds(step, counts) * waited / together + warps * busy

    @property
    def _rate(self) -> float:
        """Bytes per clock between a multiprocessor and the L2 cache."""
        fair = self.device.l2_rate / self.processors
        return min(self.device.multiprocessor.l2_rate, fair)


def _rounds(step: Step, counts: Sequence[int]) -> float:
    """Rounds of all loops; the last round of varying extents is half full."""
    rounds = 1.0
    for extent, count in zip(step.extents, counts, strict=True):
        full = (UNKNOWN if extent is None else extent) / count
        rounds *= max(1.0, full + 0.5) if step.varies and count > 1 else ceil(full)
    return max(rounds, 1.0)
