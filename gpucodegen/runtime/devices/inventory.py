"""Which GPUs this machine has, and what it lacks.  Nothing heavy at import."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass
from functools import cache

from gpucodegen import errors
from gpucodegen.runtime.devices import choice
from gpucodegen.runtime.machine.processor import cores, cpu
from gpucodegen.runtime.machine.quota import quota


@dataclass(frozen=True, slots=True)
class Gpu:
    """One CUDA device."""

    name: str
    compute_capability: tuple[int, int]
    memory: int
    multiprocessors: int
    driver: int = 0

    @property
    def architecture(self) -> str:
        """As assemblers name it."""
        major, minor = self.compute_capability
        return f"sm_{major}{minor}"

    def __str__(self) -> str:
        return (
            f"{self.name}, {self.architecture}, {self.multiprocessors} multiprocessors,"
            f" {self.memory >> 30} GiB"
        )


@cache
def gpus() -> tuple[Gpu, ...]:
    """The CUDA devices that CuPy can reach; none without CuPy or a driver."""
    if importlib.util.find_spec("cupy") is None:
        return ()
    import cupy

    runtime = cupy.cuda.runtime
    try:
        count = runtime.getDeviceCount()
    except runtime.CUDARuntimeError:
        return ()
    driver = runtime.driverGetVersion()
    return tuple(_gpu(runtime.getDeviceProperties(i), driver) for i in range(count))


def current_gpu() -> Gpu | None:
    """The GPU that work goes to now; None where kernels run on the emulated device."""
    if choice.kind() == choice.EMULATED or not gpus():
        return None
    import cupy

    return gpus()[cupy.cuda.runtime.getDevice()]


def _gpu(facts: dict[str, object], driver: int) -> Gpu:
    name = facts["name"]
    return Gpu(
        name.decode() if isinstance(name, bytes) else str(name),
        (int(str(facts["major"])), int(str(facts["minor"]))),
        int(str(facts["totalGlobalMem"])),
        int(str(facts["multiProcessorCount"])),
        driver,
    )


def missing_for_cuda() -> tuple[str, str] | None:
    """(what is missing to run CUDA kernels, the remedy), or None if nothing is."""
    if choice.kind() == choice.EMULATED or gpus():
        return None
    if importlib.util.find_spec("cupy") is None:
        return "CuPy is not installed", WITHOUT_CUPY
    return "no CUDA device or driver was found", WITHOUT_A_GPU


WITHOUT_CUPY = (
    "Run pip install 'gpucodegen[cuda13]' on a machine with an NVIDIA GPU, set"
    " GPUCODEGEN_DEVICE=emulated, or use target='cpu' or target='sim'"
)
WITHOUT_A_GPU = (
    "Run on a machine with an NVIDIA GPU, set GPUCODEGEN_DEVICE=emulated, or use"
    " target='cpu' or target='sim'"
)


def require_cuda() -> None:
    """Refuse a CUDA request that this machine cannot serve."""
    missing = missing_for_cuda()
    if missing is not None:
        reason, hint = missing
        raise errors.NoDevice(reason=reason, hint=hint)


def describe() -> list[str]:
    """Lines for ``gpucodegen doctor``."""
    lines = [f"CPU         {cpu()}", f"threads     {_threads()}"]
    lines += [f"GPU         {gpu}" for gpu in gpus()]
    missing = missing_for_cuda()
    lines.append(f"target sim runs on {choice.current(choice.EMULATED)}")
    if choice.kind() == choice.EMULATED:
        lines.append(f"target cuda runs on {choice.current()} ({choice.VARIABLE})")
    if missing is not None:
        lines.append(f"GPU         none: {missing[0]}. {missing[1]}")
    return lines


def _threads() -> str:
    limit = f"a quota of {quota():g} processors" if quota() else "no quota"
    return f"{cpu().threads} of {cores()} cores that this process may use, {limit}"
