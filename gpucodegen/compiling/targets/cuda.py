"""The CUDA targets: passes, emission and engine of a GPU or the emulated device.

Affine nests on buffers become grids of blocks; kernels are compiled to PTX. The target
``sim`` is CUDA on the emulated device and needs no GPU.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from gpucodegen.compiling.targets.record import Target, always, unknown
from gpucodegen.options import Options
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.gpu.expose_parallelism import ExposeParallelism, FuseRows
from gpucodegen.passes.gpu.map_gpu import MapGpu
from gpucodegen.passes.loops.array_contraction import ContractArrays
from gpucodegen.passes.loops.array_privatization import Privatize
from gpucodegen.passes.loops.fusion import FuseElementwise
from gpucodegen.passes.loops.histogram_privatization import AtomicUpdates
from gpucodegen.passes.loops.rectangular_tiling import Tile
from gpucodegen.passes.prepare.argument_facts import MarkOverwritten
from gpucodegen.tiling.machine.gpu.devices import WARP, WIDEST

if TYPE_CHECKING:
    from gpucodegen.emit.emissions import Emission
    from gpucodegen.runtime.host.engines import Engine
    from gpucodegen.runtime.host.spec import KernelSpec


def mapped(options: Options) -> list[ModulePass]:
    """Passes: parallelize updates, privatize scalars, fuse nests, outline kernels."""
    return [
        AtomicUpdates(WARP, options.reassociate, options.exact),
        Privatize(min_iterations=WARP),
        *_nests(options),
        MarkOverwritten(),
        MapGpu(
            contractions=not options.exact,
            time_tiles=options.time_tiles,
            relaxed=options.reassociate,
            exact=options.exact,
            precision=options.precision,
            arch=options.arch,
            plan=tuple(item for pair in options.plan for item in pair),
            strict=not options.tuned,
        ),
    ]


def _nests(options: Options) -> list[ModulePass]:
    """Given tile sizes, or fusion and loop orders; ``exact`` keeps the order."""
    if options.tile_sizes:
        return [Tile(options.tile_sizes, options.reassociate, fewer=True)]
    if options.exact:
        return []
    orders = [ExposeParallelism(options.arch)] if options.time_tiles else []
    return [FuseRows(options.arch), FuseElementwise(), ContractArrays(), *orders]


def passes(options: Options) -> Sequence[ModulePass]:
    """The mapping passes to grids and blocks."""
    return mapped(options)


def emission() -> Emission:
    """The emission with blocks, shared memory and 32-bit indices."""
    from gpucodegen.emit.emissions import CUDA as EMISSION

    return EMISSION


def engine() -> Engine:
    """The engine on the device of a call."""
    from gpucodegen.runtime.cuda.engine import CudaEngine

    return CudaEngine()


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


def emulated_engine() -> Engine:
    from gpucodegen.runtime.cuda.engine import CudaEngine
    from gpucodegen.runtime.devices.choice import EMULATED

    return CudaEngine(EMULATED)


SIM = replace(
    CUDA,
    name="sim",
    engine=emulated_engine,
    require=always,
    architecture=unknown,
    emulates=True,
)
