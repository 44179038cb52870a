"""CUDA's kernels without a GPU: Python runs their text, thread by thread."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpucodegen.compiling.targets.cuda import assembly, emission, passes
from gpucodegen.compiling.targets.record import Target

if TYPE_CHECKING:
    from gpucodegen.runtime.host.engines import Engine


def engine() -> Engine:
    """NumPy's memory, the emulator."""
    from gpucodegen.runtime.cpu.engine import NumpyEngine, emulated

    return NumpyEngine(emulated)


SIM = Target("sim", passes, emission, engine, assembly, runs_launches=True)
