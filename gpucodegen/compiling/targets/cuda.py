"""The CUDA targets: passes, emission and engine of a GPU or the emulated device.

Affine nests on buffers become grids of blocks; kernels are compiled to PTX. The target
``sim`` is CUDA on the emulated device and needs no GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpucodegen.compiling.targets.record import Target, always, unknown
from gpucodegen.tiling.machine.gpu.devices import WIDEST

if TYPE_CHECKING:
    from gpucodegen.emit.emissions import Emission
    from gpucodegen.options import Options
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.runtime.host.engines import Engine
    from gpucodegen.runtime.host.spec import KernelSpec


def passes(options: Options) -> Sequence[ModulePass]:
    """The mapping passes to grids and blocks."""
    from gpucodegen.compiling.targets.cuda_passes import mapped

    return mapped(options)


def engine() -> Engine:
    """The engine on the device of a call."""
    from gpucodegen.runtime.cuda.engine import CudaEngine

    return CudaEngine()


def emulated_engine() -> Engine:
    from gpucodegen.runtime.cuda.engine import CudaEngine
    from gpucodegen.runtime.devices.choice import EMULATED

    return CudaEngine(EMULATED)


def emission() -> Emission:
    """The emission with blocks, shared memory and 32-bit indices."""
    from gpucodegen.emit.emissions import CUDA as EMISSION

    return EMISSION


def assembly(spec: KernelSpec) -> str:
    """PTX of a kernel; no GPU is needed."""
    from gpucodegen.runtime.cuda.compilation import compile_ptx

    return compile_ptx(spec)


def require() -> None:
    """Raise NoDevice if there is neither a GPU nor an emulated device."""
    from gpucodegen.runtime.devices.inventory import require_cuda

    require_cuda()


def architecture(values: Sequence[Any]) -> str:
    """The architecture of the device that holds an array, else of the current GPU."""
    from gpucodegen.runtime.devices import choice
    from gpucodegen.runtime.devices.inventory import current_gpu
    from gpucodegen.runtime.host.buffers import CPU, Buffer
    from gpucodegen.tiling.machine.gpu.devices import own_architecture

    buffers = [v for v in values if isinstance(v, Buffer) and v.device != CPU]
    if buffers:
        return choice.device_of(buffers[0].array).architecture
    gpu = current_gpu()
    return "" if gpu is None else own_architecture(gpu.compute_capability)


def plan_fields() -> Sequence[str]:
    """Plan fields of GPU kernels."""
    from gpucodegen.passes.framework.plan_options import plan_fields as of_kernels

    return of_kernels()


CUDA = Target(
    "cuda",
    passes,
    emission,
    engine,
    assembly,
    require,
    architecture,
    plan_fields,
    runs_launches=True,
    has_own_memory=True,
    repeats_calls=True,
    widest=WIDEST,
)


SIM = replace(
    CUDA,
    name="sim",
    engine=emulated_engine,
    require=always,
    architecture=unknown,
    emulates=True,
)
