"""The processors of this machine: loops of Numba, vectors and threads of our own."""

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
    """Loops in tiles and vectors, and kernels of them."""
    from gpucodegen.compiling.targets.cpu_passes import mapped

    return mapped(options)


def emission() -> Emission:
    """Loops on threads, vectors, memory of the heap."""
    from gpucodegen.emit.emissions import CPU as EMISSION

    return EMISSION


def engine() -> Engine:
    """NumPy's memory, machine code of this processor."""
    from gpucodegen.runtime.cpu.engine import NumpyEngine, compiled

    return NumpyEngine(compiled)


def assembly(spec: KernelSpec) -> str:
    """Assembler text."""
    from gpucodegen.runtime.cpu.kernels import assembly as text_of

    return text_of(spec)


def plan_fields() -> Sequence[str]:
    """Orders, fusions and time tiles."""
    from gpucodegen.passes.loops.order.asked import FIELDS
    from gpucodegen.passes.loops.tiling.asked_tiles import time_tile_fields

    return (*FIELDS, *time_tile_fields())


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
