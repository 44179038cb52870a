"""Plans of scatter-updates on GPUs: global atomics, or privatized cells per block.

The L2 cache serves global atomic updates and serialises those of one line, so few cells
are slow. Privatized cells in shared memory conflict within a block only, and several
``copies`` of them, used by neighbouring lanes, reduce conflicts further; they have to
be initialised, and each block updates every global cell once at its end.

The clocks of a plan are the largest of those of memory traffic, loads in flight,
updates and instructions, plus a tenth of the others, plus the prologue and the
epilogue.  The rates of global updates are fitted to three histograms of 16,777,216
random keys on an H100 (`LINE_RATE`).  Privatized, the same keys took 26, 27 and 32 us
for 256, 4096 and 32768 cells, where the estimate says 33, 41 and 78.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product
from math import ceil, log, sqrt

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import (
    LINE,
    SCHEDULERS,
    WARP,
    GpuDevice,
    occupancy,
)
from gpucodegen.tiling.machine.gpu.estimate import (
    BARRIER,
    BUSY_LATENCY,
    LATENCY_L2,
    LATENCY_MEMORY,
)
from gpucodegen.tiling.machine.gpu.streams import ADDRESSING, APART, LONGEST, REGISTER
from gpucodegen.tiling.machine.plan_space import Choose, least

LINE_RATE, LINE_POWER, MOST_RATE = 0.37, 0.8, 42.0
"""Global updates per clock of a device: ``LINE_RATE * lines ** LINE_POWER``, up to the
most.  Fitted to 1.96, 18.1 and 42.2 per clock of 1.98 GHz on an H100, for 8, 128 and
32768 lines of 128 bytes; assumed for the others."""
NATIVE, SWAPPED = 2, 24
"""Clocks per shared-memory wavefront of updates by one instruction, and by
compare-and-swap; assumed.
"""
COPIES = 1, 2, 4, 8, 16, 32
THREADS = 256, 512, 1024
GROUPS = 1, 2, 4
RESIDENT = 1, 2, 4
"""Blocks per multiprocessor."""
GUARD = 6
"""Instructions of an update beside those of the program: address and bounds check."""


@dataclass(frozen=True, slots=True)
class Cells:
    """Cells of one buffer, and their updates per iteration.

    ``bytes``: of a cell.  ``is_native``: shared memory has such an atomic instruction.
    """

    count: int
    bytes: int
    updates: int = 1
    is_native: bool = True


def is_native(operation: str, bytes_: int) -> bool:
    """Whether shared memory has this atomic operation as an instruction.

    Those of 32 bits, as ``ptxas`` shows for sm_80, sm_86, sm_90 and sm_100.

    >>> is_native("addi", 4), is_native("addi", 8), is_native("addf", 4)
    (True, False, False)
    """
    return bytes_ == 4 and operation in NATIVE_OPERATIONS


NATIVE_OPERATIONS = frozenset(
    {"addi", "minsi", "minui", "maxsi", "maxui", "andi", "ori", "xori"}
)


@dataclass(frozen=True, slots=True)
class ScatterLoop:
    """Iterations that load some ``bytes`` each, and update cells.

    ``widths``: neighbouring iterations that one access may load.  ``operations``:
    instructions of one iteration.
    """

    iterations: int
    cells: tuple[Cells, ...]
    bytes: int = 4
    widths: tuple[int, ...] = (1,)
    operations: int = 4


@dataclass(frozen=True, slots=True)
class ScatterPlan:
    """Where updates go: each block has ``copies`` of the cells if it ``owns`` them.

    ``resident``: blocks per multiprocessor, which loop over all iterations.  A thread
    takes ``groups`` groups of ``width`` neighbours at once.  All are 0 where updates go
    to global memory.
    """

    owns: bool
    copies: int = 0
    threads: int = 0
    resident: int = 0
    groups: int = 0
    width: int = 0

    @property
    def piece(self) -> int:
        """Iterations that a block takes at a time."""
        return self.threads * self.groups * self.width


IN_GLOBAL = ScatterPlan(owns=False)
"""Updates of global memory, by the kind of kernel that the loop is without this."""


def plan_scatter(
    problem: ScatterLoop, room: int, *, device: GpuDevice, choose: Choose = least
) -> ScatterPlan:
    """The plan of least estimated clocks; ``room``: bytes of shared memory of a block.

    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> h100, room = DEVICES["H100"], 99 << 10
    >>> few, many = (
    ...     ScatterLoop(1 << 24, (Cells(n, 4),)) for n in (256, 1 << 20)
    ... )
    >>> plan_scatter(few, room, device=h100).owns
    True
    >>> plan_scatter(many, room, device=h100).owns
    False
    """
    plans = [IN_GLOBAL, *candidates(problem, room, device)]
    return choose(plans, lambda plan: clocks(plan, problem, device))


def comparison(
    plan: ScatterPlan, problem: ScatterLoop, room: int, device: GpuDevice
) -> str:
    """The estimated times of a plan and of the alternative, in words.

    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> many = ScatterLoop(1 << 20, (Cells(1 << 20, 4),))
    >>> comparison(IN_GLOBAL, many, 99 << 10, DEVICES["H100"])
    '1048576 cells are more than the 101376 bytes of a block hold'
    """
    cells = sum(each.count for each in problem.cells)
    if sum(each.count * each.bytes for each in problem.cells) > room:
        return f"{cells} cells are more than the {room} bytes of a block hold"
    head = f"{problem.iterations} iterations, {cells} cells"
    in_global = _microseconds(IN_GLOBAL, problem, device)
    if not plan.owns:
        return f"{head}: {in_global} (estimated)"
    own = _microseconds(plan, problem, device)
    return f"{head}: {own} in place of {in_global} in global memory (estimated)"


def _microseconds(plan: ScatterPlan, problem: ScatterLoop, device: GpuDevice) -> str:
    return f"{clocks(plan, problem, device) / device.clock / 1000:.1f} us"


def candidates(
    problem: ScatterLoop, room: int, device: GpuDevice
) -> Iterator[ScatterPlan]:
    """Plans with privatized cells, where these fit shared memory.

    The copies of a cell fill whole words: narrow cells are swapped with their word.
    """
    for width, groups, threads, resident, copies in product(
        problem.widths, GROUPS, THREADS, RESIDENT, COPIES
    ):
        plan = ScatterPlan(True, copies, threads, resident, groups, width)
        is_long = width * groups * problem.operations > LONGEST
        is_whole = all(copies * cells.bytes >= REGISTER for cells in problem.cells)
        fits = is_whole and shared_bytes(plan, problem) <= room
        if fits and not is_long and _held(plan, problem, device) >= resident:
            yield plan


def shared_bytes(plan: ScatterPlan, problem: ScatterLoop) -> int:
    """Bytes of the privatized cells of a block."""
    return plan.copies * sum(cells.count * cells.bytes for cells in problem.cells)


def blocks_of(plan: ScatterPlan, iterations: int, device: GpuDevice) -> int:
    """Blocks of a launch: at most one per piece of iterations, and at least one.

    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> plan = ScatterPlan(True, 8, 512, 2, 1, 4)
    >>> [blocks_of(plan, n, DEVICES["H100"]) for n in (0, 5000, 1 << 24)]
    [1, 3, 264]
    """
    pieces = ceil(iterations / plan.piece)
    return max(1, min(plan.resident * device.processors, pieces))


def _held(plan: ScatterPlan, problem: ScatterLoop, device: GpuDevice) -> int:
    """Blocks that a multiprocessor holds at once."""
    loaded = plan.width * plan.groups * problem.bytes
    registers = min(2 * ADDRESSING + 2 * -(-loaded // REGISTER), 255)
    shared = shared_bytes(plan, problem)
    return occupancy(device.multiprocessor, plan.threads, registers, shared).blocks


def global_rate(cells: Cells) -> float:
    """Updates of random cells of global memory per clock of the device.

    >>> [round(global_rate(Cells(n, 4)), 1) for n in (256, 4096, 1 << 20)]
    [2.0, 17.9, 42.0]
    """
    lines = max(1.0, cells.count * cells.bytes / LINE)
    return min(MOST_RATE, LINE_RATE * lines**LINE_POWER)


def turns(cells: Cells, copies: int) -> float:
    """Approximate shared-memory wavefronts of a warp's update of random cells.

    The lanes of one copy hit its banks at random, and the most loaded bank decides:
    ``n / m + sqrt(2 n / m log m)`` of ``n`` balls in ``m`` bins, at most all.

    >>> [round(turns(Cells(256, 4), copies), 1) for copies in (1, 8, 32)]
    [3.6, 2.7, 1.0]
    >>> turns(Cells(1, 4), 1)
    32.0
    """
    lanes = WARP / copies
    banks = max(1, min(lanes, cells.count))
    most = lanes / banks + sqrt(2 * lanes / banks * log(banks))
    return min(lanes, most) * ceil(cells.bytes / REGISTER)


def clocks(plan: ScatterPlan, problem: ScatterLoop, device: GpuDevice) -> float:
    """Estimated clocks of a launch, without its start."""
    share = device.copy_bandwidth / device.clock
    memory = problem.iterations * problem.bytes / share
    if not plan.owns:
        meeting = sum(
            problem.iterations * cells.updates / global_rate(cells)
            for cells in problem.cells
        )
        return LATENCY_MEMORY + _overlapped((memory, meeting))
    blocks = blocks_of(plan, problem.iterations, device)
    most = ceil(blocks / device.processors)
    pieces = ceil(problem.iterations / plan.piece / blocks)
    warps = most * pieces * plan.piece / WARP
    latency = pieces * BUSY_LATENCY * device.clock
    updates = sum(
        warps * cells.updates * _update(cells, plan.copies) for cells in problem.cells
    )
    text = problem.operations + GUARD * sum(c.updates for c in problem.cells)
    issued = warps * (text + ADDRESSING / plan.width) / SCHEDULERS
    own = _overlapped((memory, latency, updates, issued))
    return LATENCY_MEMORY + own + _around(plan, problem, blocks, most, device)


def _update(cells: Cells, copies: int) -> float:
    """Clocks of a multiprocessor for one update of each lane of a warp."""
    return turns(cells, copies) * (NATIVE if cells.is_native else SWAPPED)


def _around(
    plan: ScatterPlan, problem: ScatterLoop, blocks: int, most: int, device: GpuDevice
) -> float:
    """Clocks before and after the loop: cells are initialised, summed and merged."""
    moved = 2 * most * shared_bytes(plan, problem) / device.multiprocessor.shared_rate
    sent = 0.0
    for cells in problem.cells:
        reached = min(cells.count, problem.iterations * cells.updates / blocks)
        sent += blocks * reached / global_rate(cells)
    return moved + sent + 2 * BARRIER + LATENCY_L2


def _overlapped(each: Sequence[float]) -> float:
    """The largest, plus a tenth of the others."""
    worst = max(each)
    return worst + APART * (sum(each) - worst)
