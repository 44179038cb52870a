"""The CPU target: mapping passes, emission and engine.

Affine nests on buffers are tiled for caches, register-tiled, vectorized and divided
among threads; Numba compiles the kernels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from gpucodegen.compiling.targets.record import Target

if TYPE_CHECKING:
    from gpucodegen.emit.emissions import Emission
    from gpucodegen.options import Options
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.runtime.host.engines import Engine
    from gpucodegen.runtime.host.spec import KernelSpec


def passes(options: Options) -> Sequence[ModulePass]:
    from gpucodegen.compiling.targets.cpu_passes import mapped

    return mapped(options)


def emission() -> Emission:
    """The emission with threads, vectors and heap memory."""
    from gpucodegen.emit.emissions import CPU as EMISSION

    return EMISSION


def engine() -> Engine:
    """The engine on NumPy's memory with machine code of this processor."""
    from gpucodegen.runtime.cpu.engine import NumpyEngine, compiled

    return NumpyEngine(compiled)


def assembly(spec: KernelSpec) -> str:
    """Assembler text of a kernel."""
    from gpucodegen.runtime.cpu.kernels import assembly as text_of

    return text_of(spec)


def plan_fields() -> Sequence[str]:
    """Plan fields: sizes of products, loop orders, fusions and time tiles."""
    from gpucodegen.passes.cpu.map_cpu import PRODUCT_FIELDS
    from gpucodegen.passes.loops.requested_schedules import FIELDS, time_tile_fields

    return (*PRODUCT_FIELDS, *FIELDS, *time_tile_fields())


CPU = Target(
    "cpu",
    passes,
    emission,
    engine,
    assembly,
    plan_fields=plan_fields,
    guards_accesses=True,
    repeats_calls=True,
)
