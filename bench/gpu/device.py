"""The GPU that is there: its arrays, its clock, its facts."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from importlib import import_module
from typing import Any, Protocol

from bench.harness import wall_clock
from gpucodegen.tiling.machine.gpu.devices import (
    DEVICES,
    GpuDevice,
    devices_of,
    own_architecture,
)
from gpucodegen.tuning.clocks import DeviceClock

ASKED = (
    "name",
    "driver_version",
    "clocks.sm",
    "clocks.max.sm",
    "clocks.mem",
    "power.limit",
    "temperature.gpu",
)
"""What the vendor's tool is asked about a GPU."""


class Target(Protocol):
    """A device on which kernels are checked and timed.

    ``target`` is that of `gpucodegen.compile`; ``cache``: bytes of the L2 cache.
    ``model``: the device whose facts estimates take, None where it is unknown.
    """

    target: str
    name: str
    architecture: str
    cache: int
    model: GpuDevice | None

    def put(self, value: Any) -> Any:
        """An argument with its array, if it is one, on the device."""
        ...

    def get(self, value: Any) -> Any:
        """The same on the host."""
        ...

    def clock(self, call: Callable[[], object]) -> float:
        """Seconds that the device takes for a call."""
        ...

    def facts(self) -> dict[str, str]:
        """What stands at the head of the results."""
        ...


class Gpu:
    """The first CUDA device, through CuPy; raises what CuPy raises without one."""

    target = "cuda"

    def __init__(self) -> None:
        self.cupy: Any = import_module("cupy")
        properties = self.cupy.cuda.runtime.getDeviceProperties(0)
        self.name = properties["name"].decode()
        self.cache = int(properties["l2CacheSize"])
        capability = properties["major"], properties["minor"]
        self.architecture = own_architecture(capability)
        self.model = model_of(self.name, self.architecture)
        self.events = DeviceClock(self.cupy)

    def put(self, value: Any) -> Any:
        """An argument with its array, if it is one, on the device."""
        return self.cupy.asarray(value) if hasattr(value, "shape") else value

    def get(self, value: Any) -> Any:
        """The same on the host."""
        return self.cupy.asnumpy(value) if hasattr(value, "device") else value

    def clock(self, call: Callable[[], object]) -> float:
        """Seconds of the device in a call; what the host takes does not count."""
        return self.events(call)

    def host_clock(self, call: Callable[[], object]) -> float:
        """Seconds of the host in a call, which finds the device idle."""
        self.cupy.cuda.Device().synchronize()
        return wall_clock(call)

    def facts(self) -> dict[str, str]:
        """What the vendor's tool says now: clocks change under load."""
        driver = str(self.cupy.cuda.runtime.driverGetVersion())
        return {"device": self.name, "cuda driver": driver, **asked()}


def model_of(name: str, arch: str) -> GpuDevice | None:
    """The known device of a name, else the first one of its architecture.

    >>> model_of("NVIDIA H100 80GB HBM3", "sm_90a").name
    'H100'
    """
    named = [device for known, device in DEVICES.items() if known in name]
    fitting = [*named, *devices_of(arch)]
    return fitting[0] if fitting else None


def asked() -> dict[str, str]:
    """Clocks and limits, if the vendor's tool is there."""
    tool = shutil.which("nvidia-smi")
    if tool is None:
        return {}
    command = [
        tool,
        f"--query-gpu={','.join(ASKED)}",
        "--format=csv,noheader",
        "-i",
        "0",
    ]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    values = [part.strip() for part in found.stdout.split(",")]
    return dict(zip(ASKED, values, strict=False)) if found.returncode == 0 else {}
