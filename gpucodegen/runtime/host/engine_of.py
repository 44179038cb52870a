"""The engine of each target, imported when a program first wants it."""

from __future__ import annotations

from gpucodegen.runtime.host.engines import Engine


def engine_of(target: str) -> Engine:
    """The engine of ``cpu``, ``cuda`` or ``sim``."""
    if target == "cuda":
        from gpucodegen.runtime.cuda.engine import CudaEngine

        return CudaEngine()
    from gpucodegen.runtime.cpu.engine import NumpyEngine

    return NumpyEngine(target)
