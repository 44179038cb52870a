"""``gpucodegen.report``: what limits the kernels of a program on a GPU."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gpucodegen import errors
from gpucodegen.api import compile as compile_module
from gpucodegen.api import read_module
from gpucodegen.calls.function import Function
from gpucodegen.compiling.stored_tunings import in_use
from gpucodegen.compiling.tuned_schedules import is_cuda
from gpucodegen.dialects.builtin import Module
from gpucodegen.emit.copy_plan import PlannedTransfer
from gpucodegen.ir.locations import file_location
from gpucodegen.options import Options
from gpucodegen.program import Program
from gpucodegen.ptx.memory import BASE
from gpucodegen.records import dataclass
from gpucodegen.report import NOTHING
from gpucodegen.report.calls import Call
from gpucodegen.report.gpu import html_page, text
from gpucodegen.report.gpu.emulated_counters import Enough, MeasuringDevice
from gpucodegen.report.gpu.example_arguments import MadeUp, copied, made_up
from gpucodegen.report.gpu.kernel_report import KernelContext, kernel_report
from gpucodegen.report.gpu.machine_code import machine_code_of
from gpucodegen.report.gpu.model import FunctionReport, TransferRow, as_json
from gpucodegen.report.sizes import Sizes, make_sizes
from gpucodegen.runtime.cuda.compilation import capability as capability_of
from gpucodegen.runtime.cuda.compilation import has_assembler, tool
from gpucodegen.runtime.devices.emulated_array import EmulatedArray
from gpucodegen.tiling.machine.gpu.devices import (
    DEVICES,
    MULTIPROCESSORS,
    GpuDevice,
    devices_of,
)

ARCHITECTURE = "sm_90a"
"""The default architecture."""


@dataclass(frozen=True, slots=True)
class GpuReport:
    """The report of a module: ``text()``, ``json()`` and ``html()`` show it.

    ``tools``: whether registers and the disassembly are known.  ``refused``: per
    function without a report, the reason.
    """

    architecture: str
    device: GpuDevice
    tools: tuple[bool, bool]
    functions: tuple[FunctionReport, ...]
    module: Module
    source: str
    refused: Mapping[str, errors.Error]
    options: Options
    call: Call | None = None

    def text(self) -> str:
        """All of it as lines."""
        return "\n".join(text.lines(self.architecture, self.device, self.functions))

    def __str__(self) -> str:
        return self.text()

    def record(self) -> dict[str, Any]:
        """The records for machines; docs/reading-the-report.md explains them."""
        return as_json(self.architecture, self.device.name, self.functions)

    def json(self) -> str:
        """The records as JSON."""
        return json.dumps(self.record(), indent=2)

    def html(self) -> str:
        """One page without external resources, with `explain`'s pictures."""
        shown = self.functions, self.module, self.source, self.options, self.call
        return html_page.html(self.architecture, self.device, *shown)


def report(
    source: str | os.PathLike[str] | Module,
    *,
    arch: str = ARCHITECTURE,
    device: str = "",
    entry: str = "",
    sizes: Sizes | Mapping[str, int] | int | str | None = None,
    options: Mapping[str, Any] = NOTHING,
) -> GpuReport:
    """Reports the limits of the kernels of every public function, or of ``entry``.

    ``source`` is MLIR text, a path or a module.  ``arch``: the architecture that
    kernels are compiled for.  ``device``: the model of GPU for the estimates, default
    the first one of the architecture.  ``sizes``: ``"N=8,M=6"``, a dictionary, or one
    number for all open extents.  ``options``: those of `gpucodegen.compile`. Raises
    ParseError, VerifyError, UnknownFunction, InvalidOption; and the error of a function
    if all functions are refused.

    >>> made = report('''func.func @twice(%a: memref<4096xf32>) {
    ...   affine.for %i = 0 to 4096 {
    ...     %v = affine.load %a[%i] : memref<4096xf32>
    ...     %w = arith.addf %v, %v : f32
    ...     affine.store %w, %a[%i] : memref<4096xf32>
    ...   }
    ...   return
    ... }''')
    >>> (kernel,) = made.functions[0].kernels
    >>> kernel.launch.grid, kernel.launch.block, kernel.execution.flops
    ((32, 1, 1), (128, 1, 1), 4096.0)
    >>> [(row.direction, row.array, row.executed, row.used) for row in kernel.accesses]
    [('load', 'a', 4.0, 1.0), ('store', 'a', 4.0, 1.0)]
    """
    module, text_of_it = read_module(source)
    where = arch, device, entry
    return report_module(module, text_of_it, *where, make_sizes(sizes), options)


def report_module(
    module: Module,
    source: str,
    arch: str,
    device: str,
    entry: str,
    sizes: Sizes,
    options: Mapping[str, Any] = NOTHING,
    call: Call | None = None,
) -> GpuReport:
    """As `report` for a parsed module; ``source`` is its text, where it is known.

    ``call``: the call of ``entry`` that is reported, with its own options and target.
    """
    chosen = device_of(arch, device)
    asked: dict[str, Any] = {"arch": arch, **options, "target": "sim"}
    program = compile_module(module, **asked)
    if call is not None:
        own = replace(call.function.options, arch=asked["arch"])
        target = call.target if is_cuda(call.target) else "sim"
        program = Program(call.function.source, replace(own, target=target))
    functions: list[FunctionReport] = []
    refused: dict[str, errors.Error] = {}
    for name in [entry] if entry else program.names:
        reported = _Reporting(module, program, source, arch, chosen, sizes, call)
        try:
            functions.append(reported.function(name))
        except errors.Error as error:
            refused[name] = error
    if refused and not functions:
        raise next(iter(refused.values()))
    if not functions:
        raise errors.NoKernel(
            function="", reason="it has no body", hint="Define a public function"
        )
    tools = has_assembler(), has_assembler() and bool(tool("nvdisasm"))
    shown = arch, chosen, tools, tuple(functions), module, source, refused
    return GpuReport(*shown, program.options, call)


def device_of(arch: str, name: str = "") -> GpuDevice:
    """The model of GPU with this name, else the first of an architecture.

    Raises InvalidOption.
    """
    if arch not in MULTIPROCESSORS:
        known = ", ".join(MULTIPROCESSORS)
        raise errors.InvalidOption(
            name="arch", value=arch, hint=f"Known architectures: {known}"
        )
    fitting = devices_of(arch)
    if not name:
        return fitting[0]
    found = {device.name.lower(): device for device in DEVICES.values()}.get(
        name.lower()
    )
    if found not in fitting:
        hint = f"Devices of {arch}: {', '.join(device.name for device in fitting)}"
        if found is not None:
            hint += f". {found.name} has --arch {found.architecture}"
        raise errors.InvalidOption(name="device", value=name, hint=hint)
    return found


def transfer_row(planned: PlannedTransfer) -> TransferRow:
    """A planned transfer in the form of reports and records."""
    place = file_location(planned.location) if planned.location else None
    return TransferRow(
        planned.operation,
        planned.what,
        planned.mechanism,
        planned.width,
        planned.groups,
        planned.reason,
        place.line if place else None,
        planned.how,
    )


@dataclass(frozen=True, slots=True)
class _Reporting:
    """The state of a report in progress."""

    module: Module
    program: Program
    source: str
    arch: str
    device: GpuDevice
    sizes: Sizes
    call: Call | None

    def function(self, name: str) -> FunctionReport:
        """The report of a function, which is called once.

        Arguments are copies of the call's, or made up.
        """
        function = self.program[name]
        capability = capability_of(self.arch)
        emulated = MeasuringDevice(0, compute_capability=capability)
        if self.call is None:
            arguments = made_up(self.module, function, self.sizes, emulated)
        else:
            given = self.call.arguments
            arguments = copied(self.module, function, given, emulated)
        around = self._around(arguments)
        stopped = self._is_stopped(function, arguments)
        if not emulated.launched:
            raise errors.NoKernel(
                function=name,
                reason="all of its work is done by the host",
                hint="See what becomes of it with: gpucodegen explain --target cuda",
            )
        specs = {spec.name: spec for spec in function.executable().kernels}
        kernels = tuple(
            kernel_report(
                launch,
                machine_code_of(specs[launch.name], capability),
                self._sized(around, emulated),
            )
            for launch in emulated.launched.values()
        )
        transfers = tuple(map(transfer_row, function.executable().transfers))
        options = [replace(function.options, target=one) for one in ("cuda", "sim")]
        tuned = tuple(in_use(function.source, name, options))
        return FunctionReport(name, arguments.sizes, kernels, stopped, transfers, tuned)

    def _is_stopped(self, function: Function, arguments: MadeUp) -> bool:
        """Calls a function; True if it was stopped at the limit of launches."""
        try:
            function(*arguments.values)
        except Enough:
            return True
        except (errors.ShapesDisagree, errors.WrongExtent) as problem:
            raise errors.InvalidOption(
                name="sizes",
                value=", ".join(f"{k}={v}" for k, v in arguments.sizes.items()),
                hint=f"Give extents that fit together: {problem.message}",
            ) from problem
        return False

    def _around(self, arguments: MadeUp) -> KernelContext:
        named: dict[int, str] = {}
        for name, value in zip(arguments.names, arguments.values, strict=True):
            if isinstance(value, EmulatedArray):
                named.setdefault(value.allocation.address - BASE, name)
        return KernelContext(self.device, {}, named, tuple(self.source.split("\n")))

    def _sized(self, around: KernelContext, emulated: MeasuringDevice) -> KernelContext:
        """The context with sizes of all allocations; the function's have numbers."""
        own = sorted(emulated.sizes.keys() - around.arrays.keys())
        names = {start: f"buffer {n}" for n, start in enumerate(own)}
        arrays = {**names, **around.arrays}
        return KernelContext(around.device, emulated.sizes, arrays, around.lines)
