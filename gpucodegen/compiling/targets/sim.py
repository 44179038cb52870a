"""CUDA on the emulated device: needs neither a GPU nor a variable."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gpucodegen.compiling.targets.cuda import CUDA
from gpucodegen.compiling.targets.record import always, unknown

if TYPE_CHECKING:
    from gpucodegen.runtime.host.engines import Engine


def engine() -> Engine:
    """Memory and kernels of the emulated device."""
    from gpucodegen.runtime.cuda.engine import CudaEngine
    from gpucodegen.runtime.devices.choice import EMULATED

    return CudaEngine(EMULATED)


SIM = replace(
    CUDA,
    name="sim",
    engine=engine,
    require=always,
    architecture=unknown,
    emulates=True,
)
