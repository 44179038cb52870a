"""What a schedule is expected to take on a GPU that is not here.

Each schedule is compiled, and a sample of its blocks runs on the emulated device on the
arguments of the call.  What they did is priced as every report prices it.  A schedule
that promises more than the default also has to leave its numbers, on the emulated
device.  Nothing is timed.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from gpucodegen import errors
from gpucodegen.compiling.winners import Point, with_point
from gpucodegen.program import Program
from gpucodegen.program_text import of_module
from gpucodegen.report.gpu.building import launch_clocks
from gpucodegen.report.gpu.machine_code import machine_code_of
from gpucodegen.report.gpu.measuring import Enough, MeasuringDevice
from gpucodegen.report.gpu.report import device_of
from gpucodegen.runtime.cuda.compilation import capability as capability_of
from gpucodegen.tiling.tuning.calibration import LEAST_GAIN
from gpucodegen.tiling.tuning.search import Identity, Status, Trial, failed
from gpucodegen.tuning.forecasts.reduced import reduced
from gpucodegen.tuning.measuring.contest import DEFAULT, Contest

if TYPE_CHECKING:
    from gpucodegen.runtime.devices.protocol import Device

BLOCKS = 2
"""Blocks of a launch that are executed, where that is many."""
ROUNDS = 24
"""As a final has them; estimates do not differ."""
EMULATED = 1 << 25
"""Instructions of threads that a call may take to be run whole: some seconds."""


@dataclass(slots=True)
class Forecast:
    """Estimates of schedules of ``program[name]``, which is of the target ``sim``.

    ``checked``: on which arguments numbers were compared, in words.
    """

    program: Program
    name: str
    arguments: Sequence[Any]
    arch: str
    seconds: dict[Identity, float] = field(default_factory=dict[Identity, float])
    instructions: float = 0.0
    """Of threads, in a call of the default schedule."""
    contest: Contest | None = None
    checked: str = ""

    @staticmethod
    def of(
        program: Program, name: str, arguments: Sequence[Any], *, arch: str
    ) -> Forecast:
        """A forecast for an architecture."""
        return Forecast(program, name, arguments, arch)

    def trial(self, point: Point) -> Trial:
        """The estimate of one point.

        One that is expected to beat the default and leaves other numbers is wrong.
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
        """Estimates, which are the same in each round."""
        return [[self.expected(point)] * ROUNDS for point in points]

    def repeated(self, points: Sequence[Point]) -> list[list[float]]:
        """The same: where arguments lie is not part of an estimate."""
        return self.rounds(points)

    def told(self) -> str:
        """On what numbers were compared, if they were."""
        if not self.checked:
            return ""
        return f"numbers were compared on the emulated device, with {self.checked}"

    def close(self) -> None:
        """Nothing is held."""

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
        """Run a schedule and the default on the emulated device.

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
        """Choose arguments for comparisons."""
        arguments, self.checked = self.arguments, "its arguments"
        if self.instructions > EMULATED:
            small = reduced(self.program, self.name, self.arguments)
            self.checked = "smaller arguments"
            if small is None:
                self.checked = "none: the types fix extents that take long to emulate"
                return
            arguments = small
        self.contest = Contest.of(self.program, self.name, arguments)


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
