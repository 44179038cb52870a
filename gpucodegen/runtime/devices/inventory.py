"""Inventory of GPUs and missing components, without heavy imports."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from dataclasses import asdict
from functools import cache
from typing import Any

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.runtime.devices import choice
from gpucodegen.runtime.processor import cores, cpu, quota


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
        """Its architecture, as assemblers name it."""
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
    """The current GPU; None where kernels run on the emulated device."""
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
    """Raises an error if this machine cannot run CUDA kernels."""
    missing = missing_for_cuda()
    if missing is not None:
        reason, hint = missing
        raise errors.NoDevice(reason=reason, hint=hint)


def record() -> dict[str, Any]:
    """The available devices.

    ``missing``: the missing component and the remedy, else None.  ``emulated``: the
    device of the target sim; ``cuda``: that of cuda, where it is an emulated one.

    >>> sorted(record())
    ['cores', 'cpu', 'cuda', 'emulated', 'gpus', 'missing', 'quota', 'threads']
    """
    missing = missing_for_cuda()
    return {
        "cpu": str(cpu()),
        "threads": cpu().threads,
        "cores": cores(),
        "quota": quota() or None,
        "gpus": [asdict(gpu) for gpu in gpus()],
        "missing": missing and dict(zip(("what", "remedy"), missing, strict=True)),
        "emulated": str(choice.current(choice.EMULATED)),
        "cuda": str(choice.current()) if choice.kind() == choice.EMULATED else None,
    }


def lines(found: dict[str, Any]) -> Iterator[str]:
    """A record as lines of text, for ``gpucodegen doctor``."""
    yield f"CPU         {found['cpu']}"
    yield f"threads     {_threads(found)}"
    for gpu in found["gpus"]:
        yield f"GPU         {Gpu(**gpu)}"
    yield f"target sim runs on {found['emulated']}"
    instead = found["cuda"]
    if instead is not None:
        yield f"target cuda runs on {instead} ({choice.VARIABLE})"
    if found["missing"] is not None:
        yield f"GPU         none: {'. '.join(found['missing'].values())}"


def _threads(found: dict[str, Any]) -> str:
    limit = "no quota"
    if found["quota"]:
        limit = f"a quota of {found['quota']:g} processors"
    known, all_of_them = found["threads"], found["cores"]
    return f"{known} of {all_of_them} cores that this process may use, {limit}"
