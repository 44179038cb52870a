"""Records of GPU reports; docs/reading-the-report.md documents `as_json`.

Unknown numbers are None.  Counts are those of one launch; `Execution` has the executed
part of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

from gpucodegen.records import dataclass

if TYPE_CHECKING:
    from gpucodegen.compiling.stored_tunings import Stored


@dataclass(frozen=True, slots=True)
class LaunchFacts:
    """A launch and its occupancy; ``registers`` are those of a thread.

    ``shared_bytes`` of a block, ``spill_stores`` and ``spill_loads`` in bytes of a
    thread.  ``resident_blocks`` and ``resident_warps`` share a multiprocessor;
    ``held_back_by`` names the limit.  ``waves``: the number of waves of blocks.
    """

    grid: tuple[int, int, int]
    block: tuple[int, int, int]
    launches: int
    registers: int | None
    spill_stores: int | None
    spill_loads: int | None
    shared_bytes: int
    resident_blocks: int
    resident_warps: int
    occupancy: float
    held_back_by: tuple[str, ...]
    waves: float


@dataclass(frozen=True, slots=True)
class AccessRow:
    """Accesses of one line of MLIR to one array, all of one width.

    ``unit`` is "sectors" or "wavefronts".  ``instructions``: in the text of the kernel.
    ``stated``: (least, most) of a request by the text alone, None if unknown;
    ``executed`` and ``ideal``: of a request, as executed and at best.  ``requests``,
    ``bytes`` and ``moved`` are those of the launch.  ``unmerged``: wavefronts of a
    request without the rule, measured by the community, that two phases of a wide
    access merge where neighbouring lanes share their addresses.
    """

    space: str
    direction: str
    array: str
    line: int | None
    source: str
    width: int
    unit: str
    instructions: int
    stated: tuple[float, float] | None
    requests: float
    executed: float
    ideal: float
    bytes: float
    moved: float
    unmerged: float

    @property
    def used(self) -> float:
        """Share of the moved bytes that the threads requested."""
        return min(self.bytes / self.moved, 1.0) if self.moved else 1.0

    @property
    def cost(self) -> float:
        """Sectors or wavefronts of all its requests."""
        return self.requests * self.executed

    @property
    def wasted(self) -> float:
        """Sectors or wavefronts in excess of those that the bytes need."""
        return self.cost - self.requests * self.ideal


@dataclass(frozen=True, slots=True)
class LoopFacts:
    """One trip of a loop, for one warp: instructions by kind.

    ``trips``: those of a warp; ``stated``: instructions in the text of the loop,
    ``executed``: those of an average trip.
    """

    trips: float
    stated: int
    executed: float
    wavefronts: float
    sectors: float
    kinds: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class MachineAccesses:
    """Accesses of the machine code.

    ``widths``: by opcode, the number of instructions by bits per thread. ``in_flight``:
    the most bytes of global memory in flight of a thread.
    """

    widths: Mapping[str, Mapping[int, int]]
    in_flight: int


@dataclass(frozen=True, slots=True)
class Execution:
    """The executed part of a launch, and the counts of the whole launch."""

    blocks: int
    of_blocks: int
    launches: int
    complete: bool
    cut: bool
    instructions: float
    flops: float
    sectors: float
    wavefronts: float
    global_bytes: float
    shared_bytes: float
    mix: Mapping[str, float]


@dataclass(frozen=True, slots=True)
class LimitFacts:
    """Estimates: clocks of each unit, the binding unit, shares of peaks.

    ``peak`` names the roof of the kernel, and ``share_of_peak`` the most that it may
    reach of it.  ``time``: microseconds that a launch is expected to take, ``expected``
    the shares of the peak and ``library`` those of the vendor's library that it then
    reaches; the least and the most of each, None where unknown.  ``intensity``: flops
    per byte of device memory, ``ridge``: the intensity from which arithmetic binds.
    ``in_flight``: bytes of global memory in flight of a multiprocessor,
    ``needed_in_flight``: to keep the memory busy.
    """

    clocks: Mapping[str, float]
    binding: str
    peak: str
    share_of_peak: float
    expected: tuple[float, float] | None
    library: tuple[float, float] | None
    memory_bytes: float
    intensity: float | None
    ridge: float
    in_flight: float
    needed_in_flight: float
    words: tuple[str, ...]
    time: tuple[float, float] | None = None


@dataclass(frozen=True, slots=True)
class Figures:
    """The figures of merit of a kernel.

    ``arithmetic``: share of the machine code's main loop.  ``narrowest``: bytes of the
    narrowest access of the machine code by opcode.  ``wavefronts``: those of loads from
    shared memory for 64 multiply-adds of a warp, which is one k of a tile of 8 x 8
    elements a thread, by the merged rule; ``unmerged``: without it.  ``spills``: bytes.
    ``resident``: blocks that share a multiprocessor.  ``barriers`` of a trip of the
    outermost loop.  ``blocks`` of the launch, ``filled``: share of the multiprocessors'
    time that they use.  ``in_flight``: bytes in flight of a multiprocessor.  ``loads``
    and ``stores``: shares of the sectors' bytes that threads requested.  ``library``:
    expected share of the vendor's library, in the middle of the interval; ``copy``: the
    most that the kernel may reach of a copy of memory.
    """

    arithmetic: float | None
    narrowest: Mapping[str, int] | None
    wavefronts: float | None
    unmerged: float | None
    registers: int | None
    spills: int | None
    resident: int
    barriers: int
    blocks: int
    filled: float
    in_flight: float | None
    loads: float | None
    stores: float | None
    library: float | None
    copy: float | None


@dataclass(frozen=True, slots=True)
class KernelReport:
    """The report of a kernel.

    ``loop``: the innermost loop of most executed instructions, ``outer_loop``: the
    outermost one around it; the whole kernel if it has none.  ``machine_loop``: the
    main loop of the disassembly, ``machine_accesses``: all its accesses.
    """

    name: str
    launch: LaunchFacts
    accesses: tuple[AccessRow, ...]
    loop: LoopFacts
    outer_loop: LoopFacts
    machine_loop: LoopFacts | None
    execution: Execution
    limits: LimitFacts
    machine_accesses: MachineAccesses | None = None
    figures: Figures | None = None


@dataclass(frozen=True, slots=True)
class TransferRow:
    """How a transfer, a wait, or a product of tiles is implemented.

    The fields are those of `gpucodegen.program.Program.transfers`; ``line``: in the
    program; ``how``: all of it in words.
    """

    operation: str
    what: str
    mechanism: str
    width: int
    groups: int
    reason: str
    line: int | None
    how: str


@dataclass(frozen=True, slots=True)
class FunctionReport:
    """A function, the sizes it was reported for, its kernels in order of launches.

    ``stopped``: it was left after `emulated_counters.LAUNCHES` launches.
    ``tuned``: the tuned schedules that `compile` uses.
    """

    name: str
    sizes: Mapping[str, int]
    kernels: tuple[KernelReport, ...]
    stopped: bool = False
    transfers: tuple[TransferRow, ...] = ()
    tuned: tuple[Stored, ...] = ()

    @property
    def time(self) -> tuple[float, float] | None:
        """Microseconds that all launches are expected to take, least and most.

        None where that of a kernel is unknown, or not all were launched.
        """
        low = high = 0.0
        for kernel in self.kernels:
            if kernel.limits.time is None or self.stopped:
                return None
            low += kernel.limits.time[0] * kernel.launch.launches
            high += kernel.limits.time[1] * kernel.launch.launches
        return low, high


VERSION = 1
"""The version of the record format."""


def as_json(
    architecture: str, device: str, functions: tuple[FunctionReport, ...]
) -> dict[str, Any]:
    """The records as JSON."""
    return {
        "version": VERSION,
        "architecture": architecture,
        "device": device,
        "estimates": True,
        "functions": [
            asdict(replace(function, tuned=()))
            | {"tuned": list(map(str, function.tuned)), "time": function.time}
            for function in functions
        ],
    }
