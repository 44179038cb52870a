"""NVIDIA's GPUs, or the emulated device: kernels as PTX in a device's memory."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from gpucodegen.compiling.targets.record import Target
from gpucodegen.tiling.machine.gpu.devices import WIDEST

if TYPE_CHECKING:
    from gpucodegen.emit.emissions import Emission
    from gpucodegen.options import Options
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.runtime.host.engines import Engine
    from gpucodegen.runtime.host.spec import KernelSpec


def passes(options: Options) -> Sequence[ModulePass]:
    """Grids and blocks, and kernels of their threads."""
    from gpucodegen.compiling.targets.cuda_passes import mapped

    return mapped(options)


def emission() -> Emission:
    """Threads in blocks, memory that they share, indices of 32 bits."""
    from gpucodegen.emit.emissions import CUDA as EMISSION

    return EMISSION


def engine() -> Engine:
    """Memory and kernels of the device of a call."""
    from gpucodegen.runtime.cuda.engine import CudaEngine

    return CudaEngine()


def assembly(spec: KernelSpec) -> str:
    """PTX, which needs no GPU."""
    from gpucodegen.runtime.cuda.compilation import compile_ptx

    return compile_ptx(spec)


def require() -> None:
    """Refuse where there is neither a GPU nor an emulated device."""
    from gpucodegen.runtime.devices.inventory import require_cuda

    require_cuda()


def architecture(values: Sequence[Any]) -> str:
    """That of the device on which an array lies, else of the current GPU."""
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
    """Those of the plans of kernels."""
    from gpucodegen.passes.gpu.plan_fields import plan_fields as of_kernels

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
