"""The report of one kernel: static facts, counters, estimates."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from gpucodegen.ptx.dataflow import Setting, States, requests
from gpucodegen.report.gpu.accesses import Naming, access_rows, site_costs
from gpucodegen.report.gpu.counting import Counted
from gpucodegen.report.gpu.figures import figures_of
from gpucodegen.report.gpu.limits import Situation, limit_facts
from gpucodegen.report.gpu.machine_code import MachineCode
from gpucodegen.report.gpu.measuring import MeasuredLaunch
from gpucodegen.report.gpu.model import AccessRow, Execution, KernelReport, LaunchFacts
from gpucodegen.tiling.machine.gpu.devices import GpuDevice, occupancy, waves
from gpucodegen.tiling.machine.gpu.estimate import estimate
from gpucodegen.tiling.machine.gpu.product_plan import busy


@dataclass(frozen=True, slots=True)
class Around:
    """What all kernels of a function share: the device, arrays, the program's lines.

    ``sizes``: bytes of the allocations by first offset, ``arrays``: their names.
    """

    device: GpuDevice
    sizes: Mapping[int, int]
    arrays: Mapping[int, str]
    lines: tuple[str, ...]


def kernel_report(
    launch: MeasuredLaunch, code: MachineCode | None, around: Around
) -> KernelReport:
    """All that is known of a kernel."""
    counted = Counted(launch)
    facts = launch_facts(launch, code, around.device)
    loop, outer = counted.trip(counted.main), counted.trip(counted.outermost)
    machine = code.loop(loop) if code is not None else None
    work = counted.work(around.sizes, machine)
    accesses = accesses_of(launch, around)
    execution = _execution(launch, accesses)
    found = estimate(around.device, max(facts.resident_blocks, 1), work)
    situation = Situation(
        around.device, facts, accesses, outer, work, execution.flops, found
    )
    limits = limit_facts(situation)
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
    resident = launch_facts(launch, code, device).resident_blocks
    return busy(estimate(device, max(resident, 1), counted.work(sizes, machine)))


def accesses_of(launch: MeasuredLaunch, around: Around) -> tuple[AccessRow, ...]:
    """The accesses of a kernel, the most wasteful first."""
    naming = Naming(around.arrays, around.lines)
    states = States(setting(launch))
    sites = list(
        site_costs(launch.counters, list(requests(states)), naming, launch.dynamic)
    )
    rows = access_rows(sites, naming, launch.scale)
    return tuple(sorted(rows, key=lambda row: (-row.wasted, row.space, row.array)))


def setting(launch: MeasuredLaunch) -> Setting:
    """The kernel as it was launched, for the analysis of its text."""
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
    """Registers, shared memory, and how many blocks a multiprocessor holds."""
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
