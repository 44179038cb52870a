"""Builds the report of one kernel: static facts, counters, estimates, access tables.

`site_costs` compares, per access, the cost stated by the text with the executed one;
`access_rows` groups them by line and array.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from gpucodegen.ptx import Entry
from gpucodegen.ptx.dataflow import Request, Setting, States, requests
from gpucodegen.ptx.entries import Instruction
from gpucodegen.ptx.execution.counters import Counters, Traffic
from gpucodegen.ptx.types import align
from gpucodegen.records import dataclass
from gpucodegen.report.gpu.emulated_counters import MeasuredLaunch
from gpucodegen.report.gpu.expected_time import expected_time
from gpucodegen.report.gpu.figures import Counted, figures_of
from gpucodegen.report.gpu.limits import Situation, limit_facts
from gpucodegen.report.gpu.machine_code import MachineCode
from gpucodegen.report.gpu.model import AccessRow, Execution, KernelReport, LaunchFacts
from gpucodegen.tiling.machine.gpu.devices import GpuDevice, occupancy, waves
from gpucodegen.tiling.machine.gpu.estimate import estimate
from gpucodegen.tiling.machine.gpu.product_plan import busy
from gpucodegen.tiling.machine.gpu.product_work import HELD

SECTOR, WAVEFRONT = 32, 128
"""Bytes per sector and per wavefront."""
_DIRECTIONS = {"ld": "load", "st": "store", "cp": "copy", "ldmatrix": "load"}


@dataclass(frozen=True, slots=True)
class SiteCost:
    """One access of an instruction: stated cost, None if unknown, and executed one."""

    space: str
    instruction: Instruction
    line: int
    width: int
    array: str
    stated: Request | None
    executed: Traffic


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of arrays and lines: allocations by first offset, lines by number."""

    allocations: Mapping[int, str]
    lines: Sequence[str]

    def source(self, line: int) -> str:
        """The text of a line."""
        return self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""

    def array(self, space: str, offset: int, entry: Entry, dynamic: int) -> str:
        """The array that an access goes to."""
        if space != "shared":
            starts = [start for start in self.allocations if start <= offset]
            return self.allocations[max(starts)] if starts else "?"
        size = align(max(entry.shared_bytes + dynamic, 1), 16)
        within = offset % size
        found = [v.offset for v in entry.shared.variables.values()]
        start = max((at for at in found if at <= within), default=0)
        return f"shared+{start}"


def site_costs(
    counters: Counters, stated: Sequence[Request], naming: Naming, dynamic: int
) -> Iterator[SiteCost]:
    """Every executed access, in textual order."""
    entry = counters.program.entry
    lines = _lines(entry)
    tiles = _tiles(counters, naming, dynamic)
    texts = {(r.site.space, r.site.index): r for r in stated}
    for key in sorted(counters.traffic, key=lambda key: key[1]):
        space, index = key
        traffic, offset = counters.traffic[key], counters.places[key]
        x = entry.instructions[index]
        request = None if "bulk" in x.modifiers else texts.get(key)
        width = request.site.width if request else counters.widths[key]
        array = naming.array(space, offset, entry, dynamic)
        held = tiles.get(array, "")
        array = f"{array} ({held})" if held else array
        yield SiteCost(space, x, lines[index], width, array, request, traffic)


def _lines(entry: Entry) -> list[int]:
    """The line of each instruction; one without a line has that of its predecessor."""
    found: list[int] = []
    for x in entry.instructions:
        line = x.location.line if x.location else 0
        found.append(line or (found[-1] if found else 0))
    return found


def _tiles(counters: Counters, naming: Naming, dynamic: int) -> dict[str, str]:
    """By array in shared memory, the global arrays that are copied to it.

    Values are followed from a load through moves and conversions to a store.
    """
    entry, origin = counters.program.entry, dict[str, str]()
    found: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for x in entry.instructions:
        from_global = counters.places.get(("global", x.index))
        to_shared = counters.places.get(("shared", x.index))
        source = naming.array("global", from_global or 0, entry, 0)
        if x.opcode == "ld" and from_global is not None:
            origin |= dict.fromkeys(_names(x.operands[0]), source)
        elif x.opcode in ("mov", "cvt") and x.operands[1] in origin:
            origin[x.operands[0]] = origin[x.operands[1]]
        elif "bulk_group" in x.modifiers:
            continue
        elif to_shared is not None and x.opcode in ("st", "cp"):
            target = naming.array("shared", to_shared, entry, dynamic)
            held = [origin[n] for n in _names(x.operands[-1]) if n in origin]
            if x.opcode == "cp" and from_global is not None:
                held = [source]
            found[target] |= dict.fromkeys(held)
    return {target: ", ".join(arrays) for target, arrays in found.items()}


def _names(operand: str) -> list[str]:
    return [name.strip() for name in operand.strip("{} ").split(",")]


def access_rows(
    sites: Sequence[SiteCost], naming: Naming, scale: float
) -> Iterator[AccessRow]:
    """The accesses by line, array, direction and width; counts are scaled."""
    groups: defaultdict[tuple[str, ...], list[SiteCost]] = defaultdict(list)
    for site in sites:
        opcode = site.instruction.opcode
        direction = _DIRECTIONS.get(opcode, "atomic")
        key = site.space, direction, site.array, str(site.line), str(site.width)
        groups[key].append(site)
    for (space, direction, array, line, width), members in groups.items():
        total = Traffic()
        for site in members:
            total.add(site.executed)
        unit = WAVEFRONT if space == "shared" else SECTOR
        yield AccessRow(
            "shared" if space == "shared" else "global",
            direction,
            array,
            int(line) or None,
            naming.source(int(line)),
            int(width),
            "wavefronts" if space == "shared" else "sectors",
            len(members),
            _stated(members),
            total.requests * scale,
            total.cost / total.requests,
            total.ideal / total.requests,
            total.bytes * scale,
            total.cost * unit * scale,
            total.unmerged / total.requests,
        )


def _stated(members: Sequence[SiteCost]) -> tuple[float, float] | None:
    """The stated cost of an average request; None where one is unknown."""
    requests = sum(site.executed.requests for site in members)

    def mean(of: Callable[[Request], float | None]) -> float | None:
        total = 0.0
        for site in members:
            value = of(site.stated) if site.stated else None
            if value is None:
                return None
            total += value * site.executed.requests
        return total / requests

    least, most = mean(lambda r: r.least), mean(lambda r: r.most)
    return None if least is None or most is None else (least, most)


@dataclass(frozen=True, slots=True)
class KernelContext:
    """The context of all kernels of a function: the device, arrays, source lines.

    ``sizes``: bytes of the allocations by first offset, ``arrays``: their names.
    """

    device: GpuDevice
    sizes: Mapping[int, int]
    arrays: Mapping[int, str]
    lines: tuple[str, ...]


def kernel_report(
    launch: MeasuredLaunch, code: MachineCode | None, around: KernelContext
) -> KernelReport:
    """The complete report of a kernel."""
    counted = Counted(launch)
    facts = launch_facts(launch, code, around.device)
    loop, outer = counted.trip(counted.main), counted.trip(counted.outermost)
    machine = code.loop(loop) if code is not None else None
    held = _held_of_a_block(around.device, facts, launch)
    work = counted.work(around.sizes, machine, held)
    accesses = accesses_of(launch, around)
    execution = _execution(launch, accesses)
    found = estimate(around.device, max(facts.resident_blocks, 1), work)
    expected = expected_time(around.device, facts.resident_blocks, work)
    expected = None if execution.cut else expected
    known = around.device, facts, accesses, outer, work, execution.flops, found
    limits = limit_facts(Situation(*known, expected, counted.arithmetic))
    made = KernelReport(
        launch.name,
        facts,
        accesses,
        loop,
        outer,
        machine,
        execution,
        limits,
        code.accesses if code is not None else None,
    )
    return replace(made, figures=figures_of(made, around.device))


def launch_clocks(
    launch: MeasuredLaunch,
    code: MachineCode | None,
    device: GpuDevice,
    sizes: Mapping[int, int],
) -> float:
    """Estimated clocks of one launch; ``sizes``: of allocations by first offset."""
    counted = Counted(launch)
    machine = None if code is None else code.loop(counted.trip(counted.main))
    facts = launch_facts(launch, code, device)
    work = counted.work(sizes, machine, _held_of_a_block(device, facts, launch))
    return busy(estimate(device, max(facts.resident_blocks, 1), work))


def _held_of_a_block(
    device: GpuDevice, facts: LaunchFacts, launch: MeasuredLaunch
) -> float:
    """The bytes of the L2 cache for what a block has touched."""
    together = device.processors * max(facts.resident_blocks, 1)
    return HELD * device.l2 / max(min(launch.blocks, together), 1)


def accesses_of(launch: MeasuredLaunch, around: KernelContext) -> tuple[AccessRow, ...]:
    """The accesses of a kernel, the most wasteful first."""
    naming = Naming(around.arrays, around.lines)
    states = States(setting(launch))
    sites = list(
        site_costs(launch.counters, list(requests(states)), naming, launch.dynamic)
    )
    rows = access_rows(sites, naming, launch.scale)
    return tuple(sorted(rows, key=lambda row: (-row.wasted, row.space, row.array)))


def setting(launch: MeasuredLaunch) -> Setting:
    """The launch of a kernel, for the static analysis of its text."""
    program = launch.counters.program
    known = {
        p.offset: int.from_bytes(
            launch.parameters[p.offset : p.offset + p.size], "little", signed=True
        )
        for p in program.entry.parameters
        if not p.type.startswith("f")
    }
    return Setting(program, launch.block, launch.grid, known)


def launch_facts(
    launch: MeasuredLaunch, code: MachineCode | None, device: GpuDevice
) -> LaunchFacts:
    """Registers, shared memory, and occupancy."""
    shared = launch.counters.program.entry.shared_bytes + launch.dynamic
    registers = code.cubin.registers if code is not None else None
    held = occupancy(device.multiprocessor, launch.threads, registers, shared)
    return LaunchFacts(
        launch.grid,
        launch.block,
        launch.count,
        registers,
        code.cubin.spill_stores if code is not None else None,
        code.cubin.spill_loads if code is not None else None,
        shared,
        held.blocks,
        held.warps,
        held.share,
        held.limits,
        waves(launch.blocks, device.processors, held.blocks),
    )


def _execution(launch: MeasuredLaunch, accesses: tuple[AccessRow, ...]) -> Execution:
    counters, scale = launch.counters, launch.scale
    totals = counters.totals()
    return Execution(
        counters.blocks,
        launch.blocks * launch.measured,
        launch.measured,
        counters.blocks >= launch.blocks * launch.measured and not counters.is_cut,
        counters.is_cut,
        totals["instructions"] * scale,
        (totals["flops"]) * scale,
        totals["global cost"] * scale,
        totals["shared cost"] * scale,
        sum(row.bytes for row in accesses if row.space == "global"),
        sum(row.bytes for row in accesses if row.space == "shared"),
        {
            name: float(np.round(count * scale))
            for name, count in counters.instructions().most_common()
        },
    )
