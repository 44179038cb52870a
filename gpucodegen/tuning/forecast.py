"""Forecasts: schedules estimated for a GPU that is not here, by sampled emulation.

Each schedule is compiled, and a sample of its blocks runs on the emulated device with
the arguments of the call.  The counts are priced as in reports.  A schedule that is
estimated to beat the default must also leave its numbers, on the emulated device, with
arguments reduced to sizes that run completely. Nothing is timed.  `predicted_for`
decides whether a tuning measures or predicts.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.compiling.targets import Target, registry
from gpucodegen.compiling.tuned_schedules import Point, is_cuda, with_point
from gpucodegen.program import Program
from gpucodegen.program_text import of_module
from gpucodegen.records import dataclass
from gpucodegen.report.gpu.emulated_counters import Enough, MeasuringDevice
from gpucodegen.report.gpu.kernel_report import launch_clocks
from gpucodegen.report.gpu.machine_code import machine_code_of
from gpucodegen.report.gpu.report import ARCHITECTURE, device_of
from gpucodegen.runtime.cuda.compilation import capability as capability_of
from gpucodegen.runtime.devices import choice, inventory
from gpucodegen.tiling.tuning.calibration import LEAST_GAIN
from gpucodegen.tiling.tuning.search import Identity, Status, Trial, failed
from gpucodegen.tuning.paired_benchmark import DEFAULT, PairedBenchmark

if TYPE_CHECKING:
    from gpucodegen.runtime.devices.protocol import Device


CELLS = 1 << 15
"""The approximate largest number of elements of an array."""


def reduced(
    program: Program, name: str, arguments: Sequence[Any]
) -> tuple[Any, ...] | None:
    """Arguments of smaller extents; None where the function's types fix them.

    Numbers of type ``index`` are reduced too, as they may be extents.  Floats are
    random, integers zero.
    """
    from gpucodegen.report.gpu.example_arguments import HostMemory, OpenExtents, made_up
    from gpucodegen.report.sizes import Sizes

    function = program[name]
    parameters = function.signature.parameters
    names = OpenExtents.of(program.module, name, parameters).names
    if not names:
        return None
    rank = max(len(p.shape or ()) for p in parameters)
    most = round(CELLS ** (1 / rank))
    given: dict[str, int] = {}
    for p, argument in zip(parameters, arguments, strict=True):
        if p.shape is None and p.dtype == "index":
            given[p.name] = min(int(argument), most)
        for axis, extent in enumerate(p.shape or ()):
            if extent is None:
                given[names[p.name, axis][-1]] = min(argument.shape[axis], most)
    made = made_up(program.module, function, Sizes(given), HostMemory()).values
    random = np.random.default_rng(0)
    for array in made:
        if getattr(array, "dtype", None) is not None and array.dtype.kind == "f":
            array[...] = random.random(array.shape)
    return made


def predicted_for(target: str, arch: str, arguments: Sequence[Any]) -> str:
    """The architecture that a tuning predicts for; "" where calls are timed.

    The emulated device is never timed.  ``arch``: the caller's choice.  Raises
    InvalidOption for an unknown one, or one of a target without architectures.

    >>> predicted_for("cpu", "", []), predicted_for("sim", "", [])
    ('', 'sm_90a')
    """
    target = _chosen(target, arguments).name
    if not is_cuda(target):
        if arch:
            hint = "Give it with target='cuda' or 'sim'"
            raise errors.InvalidOption(name="arch", value=arch, hint=hint)
        return ""
    emulated = is_emulated(target, arguments)
    if not (arch or emulated or inventory.missing_for_cuda()):
        return ""
    wanted = arch or ARCHITECTURE
    device_of(wanted)
    return wanted


def is_emulated(target: str, arguments: Sequence[Any]) -> bool:
    """Whether calls run on the emulated device."""
    emulates = _chosen(target, arguments).emulates
    return emulates or choice.kind() == choice.EMULATED


def _chosen(target: str, arguments: Sequence[Any]) -> Target:
    """The target of calls, from the environment and the arguments."""
    name = os.environ.get("GPUCODEGEN_TARGET") or target
    on_device = (hasattr(a, "__cuda_array_interface__") for a in arguments)
    return registry.chosen(name, on_device)


BLOCKS = 2
"""Blocks of a launch that are executed, where that is many."""
ROUNDS = 24
"""The rounds of a final comparison; estimates do not differ between rounds."""
EMULATED = 1 << 25
"""Instructions of threads that a call may take to be run whole: some seconds."""


@dataclass(slots=True)
class Forecast:
    """Estimates of schedules of ``program[name]``, which has the target ``sim``.

    ``checked``: the arguments on which numbers were compared, in words.
    """

    program: Program
    name: str
    arguments: Sequence[Any]
    arch: str
    seconds: dict[Identity, float] = field(default_factory=dict[Identity, float])
    instructions: float = 0.0
    """Of threads, in a call of the default schedule."""
    contest: PairedBenchmark | None = None
    checked: str = ""

    @staticmethod
    def of(
        program: Program, name: str, arguments: Sequence[Any], *, arch: str
    ) -> Forecast:
        """A forecast for an architecture."""
        return Forecast(program, name, arguments, arch)

    def trial(self, point: Point) -> Trial:
        """The estimate of one point.

        A point that is estimated to beat the default and leaves other numbers is wrong.
        """
        try:
            default = self.expected(DEFAULT)
            seconds = self.expected(point)
            if seconds <= (1 - LEAST_GAIN) * default:
                self._compare(point)
        except Exception as error:  # noqa: BLE001  (what fails is no candidate)
            return failed(point, error)
        return Trial(point, Status.PREDICTED, seconds)

    def rounds(self, points: Sequence[Point]) -> list[list[float]]:
        """Estimates, equal in each round."""
        return [[self.expected(point)] * ROUNDS for point in points]

    def repeated(self, points: Sequence[Point]) -> list[list[float]]:
        """As `rounds`: estimates do not depend on caches between calls."""
        return self.rounds(points)

    def told(self) -> str:
        """The arguments on which numbers were compared, if they were."""
        if not self.checked:
            return ""
        return f"numbers were compared on the emulated device, with {self.checked}"

    def close(self) -> None:
        """Does nothing: it holds no resources."""

    def expected(self, point: Point) -> float:
        """Estimated seconds of a call."""
        key = tuple(sorted((name, size) for name, size in point.items() if size))
        if key not in self.seconds:
            self.seconds[key] = self._estimate(point)
        return self.seconds[key]

    def _estimate(self, point: Point) -> float:
        device, capability = device_of(self.arch), capability_of(self.arch)
        function = self._program(point)[self.name]
        emulated = MeasuringDevice(0, compute_capability=capability, most=BLOCKS)
        with suppress(Enough):
            function(*(_moved(argument, emulated) for argument in self.arguments))
        launches = list(emulated.launched.values())
        if not launches:
            reason = "all of its work is done by the host"
            hint = "See what becomes of it with: gpucodegen explain --target cuda"
            raise errors.NoKernel(function=self.name, reason=reason, hint=hint)
        if not self.instructions:
            self.instructions = sum(
                launch.count
                * launch.scale
                * launch.counters.instructions("lanes").total()
                for launch in launches
            )
        codes = {
            spec.name: machine_code_of(spec, capability)
            for spec in function.executable().kernels
        }
        clocks = sum(
            launch.count
            * launch_clocks(launch, codes[launch.name], device, emulated.sizes)
            for launch in launches
        )
        return clocks / device.clock * 1e-9

    def _program(self, point: Point) -> Program:
        """The program with a schedule."""
        base = replace(self.program[self.name].options, tuned=False)
        return Program(of_module(self.program.module), with_point(base, point))

    def _compare(self, point: Point) -> None:
        """Runs a schedule and the default on the emulated device.

        Raises WrongResult where they leave different numbers.
        """
        if self.contest is None and not self.checked:
            self._begin()
        if self.contest is None:
            return
        try:
            self.contest.check(point)
        except errors.InvalidPassOption:  # smaller extents have other plans
            self.checked += "; one had no such plan there"

    def _begin(self) -> None:
        """Chooses arguments for comparisons."""
        arguments, self.checked = self.arguments, "its arguments"
        if self.instructions > EMULATED:
            small = reduced(self.program, self.name, self.arguments)
            self.checked = "smaller arguments"
            if small is None:
                self.checked = "none: the types fix extents that take long to emulate"
                return
            arguments = small
        self.contest = PairedBenchmark.of(self.program, self.name, arguments)


def _moved(argument: Any, device: Device) -> Any:
    """An array in the memory of a device, with its strides; numbers as they are."""
    if not isinstance(argument, np.ndarray):
        return argument
    return _copied(cast("np.ndarray", argument), device)


def _copied(host: np.ndarray, device: Device) -> Any:
    shape, strides, dtype = host.shape, host.strides, host.dtype
    pairs = [(n - 1) * step for n, step in zip(shape, strides, strict=True) if n]
    low, high = sum(min(p, 0) for p in pairs), sum(max(p, 0) for p in pairs)
    whole = device.empty(((high - low) // dtype.itemsize + 1,), dtype)
    array = device.view(whole, whole.data.ptr - low, shape, strides, dtype)
    device.upload(array, host)
    return array
