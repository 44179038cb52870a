"""Text of GPU reports: limits, launches, accesses, loops, figures, counters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from gpucodegen.ir.attributes import print_symbol
from gpucodegen.report.gpu.emulated_counters import LAUNCHES
from gpucodegen.report.gpu.limits import clocks
from gpucodegen.report.gpu.model import (
    AccessRow,
    Execution,
    Figures,
    FunctionReport,
    KernelReport,
    LaunchFacts,
    LimitFacts,
    LoopFacts,
    TransferRow,
)
from gpucodegen.report.wording import Lines, counted, equations, indented, section, size
from gpucodegen.runtime.cuda.compilation import EXTRA
from gpucodegen.tiling.machine.gpu.devices import GpuDevice

CLOCKS = "clocks: "
ROWS = 12
"""Most accesses of a kernel that the text lists."""
KINDS = 9
"""Most kinds of instructions."""


def lines(
    architecture: str, device: GpuDevice, functions: Sequence[FunctionReport]
) -> Lines:
    yield heading(architecture, device)
    for function in functions:
        yield ""
        given = equations(function.sizes)
        yield f"{print_symbol(function.name)}{f' for {given}' if given else ''}"
        yield from indented(section("tuned", map(str, function.tuned)))
        yield from indented(total_lines(function))
        for kernel in function.kernels:
            yield f"  kernel {kernel.name}"
            yield from indented(kernel_lines(kernel), 4)
        yield from indented(section("transfers", transfer_lines(function.transfers)), 2)
        if function.stopped:
            yield f"  stopped after {LAUNCHES} launches; it would make more"
    if any(k.launch.registers is None for f in functions for k in f.kernels):
        yield ""
        yield f"To see registers, spills and the machine code's main loop: {EXTRA}"
    elif any(k.machine_loop is None for f in functions for k in f.kernels):
        yield ""
        yield f"To see the machine code's main loop: {EXTRA}"


def total_lines(function: FunctionReport) -> Lines:
    """The expected time of all launches, where there are several."""
    launches = sum(kernel.launch.launches for kernel in function.kernels)
    if launches > 1 and function.time is not None:
        yield f"{launches} launches, expected: {duration(function.time)} together"


def transfer_lines(transfers: Sequence[TransferRow]) -> Lines:
    """Each transfer of a function: its kind of copy, its pieces, and the reason."""
    for row in transfers:
        yield f"{row.line or '?'}: {row.operation} {row.what}: {row.how}"


def heading(architecture: str, device: GpuDevice) -> str:
    """The architecture and device of the estimates."""
    return (
        f"Kernels for {architecture}; estimates for {device.name}: {device.processors}"
        f" multiprocessors, {device.clock} GHz, {device.bandwidth:.0f} GB/s, and no"
        " clock was taken"
    )


def kernel_lines(kernel: KernelReport) -> Lines:
    """One kernel: limits first, then the facts that explain them."""
    yield from section("limits (estimated)", limit_lines(kernel.limits))
    yield from section("launch", launch_lines(kernel.launch))
    yield from section("accesses", table(access_cells(kernel.accesses[:ROWS])))
    left = len(kernel.accesses) - ROWS
    if left > 0:
        yield f"  and {left} more, which waste less"
    yield from section("a warp's trip of a loop", loop_lines(kernel))
    yield from section("executed", execution_lines(kernel.execution))
    if kernel.figures is not None:
        yield from section("figures", figure_lines(kernel.figures))


def limit_lines(limits: LimitFacts) -> Lines:
    """The limit in words, then the clocks of each unit."""
    yield from limits.words
    yield f"At most {limits.share_of_peak:.0%} of {limits.peak}."
    yield from _expected(limits)
    ordered = sorted(limits.clocks.items(), key=lambda item: -item[1])
    most = ordered[0][1]
    yield CLOCKS + ", ".join(
        f"{unit} {clocks(count).removesuffix(' clocks')} ({count / most:.0%})"
        for unit, count in ordered
    )
    if limits.in_flight:
        yield (
            f"loads in flight: {size(round(limits.in_flight))} on a multiprocessor,"
            f" {size(round(limits.needed_in_flight))} keep the memory busy"
        )
    if limits.intensity is not None:
        yield (
            f"roofline: {limits.intensity:.3g} flops a byte of device memory,"
            f" arithmetic binds from {limits.ridge:.3g}"
        )


def _expected(limits: LimitFacts) -> Lines:
    """The interval of the time, and the shares that are reached in it."""
    if limits.time is None:
        yield "Expected: unknown, since blocks wait for others or were given up."
        return
    words = f"Expected: {duration(limits.time)} a launch"
    known = (limits.expected, "it"), (limits.library, "the vendor's library")
    for low, high, whole in ((*shares, x) for shares, x in known if shares):
        words += f", {low:.0%} to {high:.0%} of {whole}"
    yield f"{words}."


def duration(microseconds: tuple[float, float]) -> str:
    """The ends of an interval of time.

    >>> duration((44.46, 54.3)), duration((2650.0, 3240.0))
    ('44.5 to 54.3 us', '2.65 to 3.24 ms')
    """
    low, high = microseconds
    unit, scale = ("us", 1) if high < 1000 else ("ms", 1000)
    return f"{low / scale:.3g} to {high / scale:.3g} {unit}"


def launch_lines(launch: LaunchFacts) -> Lines:
    """Grid, registers, occupancy."""
    times = f", launched {launch.launches} times" if launch.launches > 1 else ""
    yield f"grid {_by(launch.grid)}, block {_by(launch.block)}{times}"
    if launch.registers is None:
        registers = "registers unknown"
    else:
        registers = (
            f"{launch.registers} registers a thread, spills"
            f" {launch.spill_stores} B stored and {launch.spill_loads} B loaded"
        )
    yield f"{registers}; {size(launch.shared_bytes)} of shared memory a block"
    at_most = "at most " if launch.registers is None else ""
    yield (
        f"{at_most}{counted(launch.resident_blocks, 'block')} or"
        f" {counted(launch.resident_warps, 'warp')} on"
        f" a multiprocessor ({launch.occupancy:.0%}), held back by"
        f" {' and '.join(launch.held_back_by)}; {launch.waves:.2f} waves"
    )


def access_cells(rows: Sequence[AccessRow]) -> Iterator[Sequence[str]]:
    """A table of accesses with its head."""
    if not rows:
        return
    yield ("access", "bytes", "cost", "by text", "ideal", "used", "line")
    for row in rows:
        yield (
            f"{row.space} {row.direction} {row.array}",
            str(row.width),
            counted(row.executed, row.unit[:-1]),
            stated(row),
            f"{row.ideal:.4g}",
            f"{row.used:.1%}",
            f"{row.line or '?'}: {row.source}",
        )


def stated(row: AccessRow) -> str:
    """The cost of a request as the kernel's text states it."""
    if row.stated is None:
        return "open"
    least, most = row.stated
    return f"{least:.4g}" if least == most else f"{least:.4g}-{most:.4g}"


def loop_lines(kernel: KernelReport) -> Lines:
    """The outermost and the main loop in PTX, the main one in machine code."""
    loop, outer, machine = kernel.loop, kernel.outer_loop, kernel.machine_loop
    if outer != loop:
        yield from _trip("outermost", outer)
    yield from _trip("main", loop)
    if machine is not None:
        yield (
            f"main, machine code: {counted(machine.stated, 'instruction')};"
            f" {counted(machine.trips, 'trip')}"
        )
        yield f"  {mixture(machine.kinds, machine.stated)}"


def _trip(name: str, loop: LoopFacts) -> Lines:
    yield (
        f"{name}, PTX: {counted(loop.stated, 'instruction')}, {loop.executed:.4g}"
        f" executed; {counted(loop.wavefronts, 'wavefront')},"
        f" {counted(loop.sectors, 'sector')}; {counted(loop.trips, 'trip')}"
    )
    yield f"  {mixture(loop.kinds, round(loop.executed))}"


def mixture(kinds: Mapping[str, int], total: int) -> str:
    """Kinds of instructions with their shares."""
    shown = sorted(kinds.items(), key=lambda item: -item[1])[:KINDS]
    return ", ".join(
        f"{name} {count} ({count / max(total, 1):.0%})"
        for name, count in shown
        if count
    )


def figure_lines(figures: Figures) -> Lines:
    """The figures of merit; unknown ones are left out."""
    if figures.arithmetic is not None:
        yield f"arithmetic: {figures.arithmetic:.1%} of the machine code's main loop"
    if figures.narrowest is not None:
        found = sorted(figures.narrowest.items())
        shown = ", ".join(f"{opcode} {width} B" for opcode, width in found)
        yield f"narrowest accesses: {shown}"
    if figures.wavefronts is not None:
        yield (
            f"loads from shared memory: {counted(figures.wavefronts, 'wavefront')} for"
            f" 64 multiply-adds of a warp by the merged rule, which the community has"
            f" measured; {figures.unmerged:.4g} without it"
        )
    yield f"multiprocessors in use: {figures.filled:.0%} of the time"
    if figures.in_flight is not None:
        yield f"under way to a multiprocessor: {number(figures.in_flight, 'B')}"
    shares = {"loads": figures.loads, "stores": figures.stores}
    used = ", ".join(f"{k} {v:.1%}" for k, v in shares.items() if v is not None)
    yield f"sectors used by {used}" if used else "no global memory"


def execution_lines(execution: Execution) -> Lines:
    """The counters of the emulated device."""
    yield f"{coverage(execution)}; one launch:"
    yield (
        f"{number(execution.instructions)} instructions of warps,"
        f" {number(execution.flops)} flops"
    )
    yield (
        f"global {number(execution.sectors)} sectors for"
        f" {number(execution.global_bytes, 'B')}; shared"
        f" {number(execution.wavefronts)} wavefronts for"
        f" {number(execution.shared_bytes, 'B')}"
    )


def coverage(execution: Execution) -> str:
    """The executed part of a launch."""
    if execution.complete:
        return f"all of {counted(execution.of_blocks, 'block')}"
    words = f"{execution.blocks} of {execution.of_blocks} blocks"
    if execution.cut:
        return f"{words}, given up before their end: counts are too small"
    return f"{words}, scaled to all"


def number(count: float, unit: str = "") -> str:
    """A large number with its unit.

    >>> number(1234), number(137438953472), number(100663296, "B")
    ('1234', '137 G', '101 MB')
    """
    for power, prefix in ((12, "T"), (9, "G"), (6, "M")):
        if count >= 10**power:
            return f"{count / 10**power:.3g} {prefix}{unit}"
    return f"{count:.0f} {unit}".rstrip()


def table(rows: Iterator[Sequence[str]]) -> Lines:
    """Rows in aligned columns; the last column is not padded.

    >>> list(table(iter([("a", "b"), ("long", "c")])))
    ['a     b', 'long  c']
    """
    found = list(rows)
    widths = [max(map(len, column)) for column in zip(*found, strict=True)]
    for row in found:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        yield "  ".join(cells).rstrip()


def _by(extents: Sequence[int]) -> str:
    return " x ".join(map(str, extents))
