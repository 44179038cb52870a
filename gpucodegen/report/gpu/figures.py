"""The numbers by which a kernel is judged, in one place.

Comes in: a `KernelReport`.  Goes out: `Figures`; some are better the lower they are.
What needs the assembler or the disassembler is None without it; shares of the vendor's
library and of a copy are estimates.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from math import ceil, prod
from typing import Any

from gpucodegen.ptx.entries import Instruction
from gpucodegen.report.gpu.counting import kind
from gpucodegen.report.gpu.model import Figures, FunctionReport, KernelReport
from gpucodegen.sass.mix import ARITHMETIC
from gpucodegen.tiling.machine.gpu.devices import GpuDevice

FULL_TILE = 64
"""Multiply-adds of a thread for each k, in a tile of 8 x 8 elements."""
LESS_IS_BETTER = frozenset(
    ("wavefronts", "unmerged", "registers", "spills", "barriers", "launches", "kernels")
)
FROM_TOOLS = frozenset(
    ("arithmetic", "narrowest", "registers", "spills", "resident", "in_flight")
)
"""Figures that the assembler and the disassembler tell, or tell better."""


def figures_of(kernel: KernelReport, device: GpuDevice) -> Figures:
    """Those of a kernel on a device."""
    launch, machine, limits = kernel.launch, kernel.machine_accesses, kernel.limits
    blocks = prod(launch.grid)
    waves = ceil(blocks / device.processors)
    stores, loads = launch.spill_stores, launch.spill_loads
    is_copy = limits.peak.startswith("copies")
    library = None if is_copy else limits.library
    return Figures(
        _arithmetic(kernel),
        None if machine is None else _narrowest(machine.widths),
        _wavefronts(kernel, "executed"),
        _wavefronts(kernel, "unmerged"),
        launch.registers,
        None if stores is None or loads is None else stores + loads,
        launch.resident_blocks,
        kernel.outer_loop.kinds.get("barrier", 0),
        blocks,
        blocks / (waves * device.processors),
        _in_flight(kernel, device),
        _used(kernel, ("load", "copy")),
        _used(kernel, ("store",)),
        None if library is None else library[0],
        limits.share_of_peak if is_copy else None,
    )


def function_figures(function: FunctionReport) -> dict[str, Any]:
    """Those of the kernel of most instructions, and ``kernels`` and ``launches``."""
    kernels = function.kernels
    main = max(kernels, key=lambda k: k.execution.instructions * k.launch.launches)
    return {
        **({} if main.figures is None else asdict(main.figures)),
        "kernels": len({kernel.name for kernel in kernels}),
        "launches": sum(kernel.launch.launches for kernel in kernels),
    }


def _arithmetic(kernel: KernelReport) -> float | None:
    loop = kernel.machine_loop
    if loop is None:
        return None
    return sum(loop.kinds.get(name, 0) for name in ARITHMETIC) / max(loop.stated, 1)


def _narrowest(widths: Mapping[str, Mapping[int, int]]) -> dict[str, int]:
    return {opcode: min(found) // 8 for opcode, found in widths.items()}


def _wavefronts(kernel: KernelReport, rule: str) -> float | None:
    total = sum(
        row.requests * getattr(row, rule)
        for row in kernel.accesses
        if (row.space, row.direction) == ("shared", "load")
    )
    counts = kernel.execution.mix.items()
    work = sum(count for name, count in counts if _multiplies(name))
    return FULL_TILE * total / work if total and work else None


def _multiplies(name: str) -> bool:
    x = Instruction.of(name, 0, 1, None)
    return x.opcode == "fma" and kind(x) in ("fma", "double")


def _in_flight(kernel: KernelReport, device: GpuDevice) -> float | None:
    """Bytes that the blocks of one multiprocessor wait for at a time."""
    if kernel.machine_accesses is None:
        return None
    each = prod(kernel.launch.grid) / device.processors
    threads = min(each, kernel.launch.resident_blocks) * prod(kernel.launch.block)
    return threads * kernel.machine_accesses.in_flight


def _used(kernel: KernelReport, directions: tuple[str, ...]) -> float | None:
    """Share of the bytes of sectors that threads asked for."""
    rows = [
        row
        for row in kernel.accesses
        if row.space == "global" and row.direction in directions
    ]
    moved = sum(row.moved for row in rows)
    return sum(row.used * row.moved for row in rows) / moved if moved else None
