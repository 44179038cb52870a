"""The CUDA face: tiles in registers, shared memory, asynchronous copies."""

from __future__ import annotations

from numba.core.types import (
    boolean,
    complex64,
    complex128,
    float32,
    float64,
    int8,
    int16,
    int32,
    int64,
)

from gpucodegen.intrinsics.cuda import threads
from gpucodegen.intrinsics.cuda.engine import ENGINE
from gpucodegen.intrinsics.cuda.memory import (
    dma_start,
    dma_wait,
    heap,
    heap_free,
    local,
    shared,
)
from gpucodegen.intrinsics.framework import faces

FACTORIES = faces.shaped(ENGINE) | {
    "dma_start": dma_start,
    "dma_wait": dma_wait,
    "heap": heap,
    "heap_free": heap_free,
    "local": local,
    "shared": shared,
}
PLAIN = faces.plain(ENGINE) | {
    "boolean": boolean,
    "complex64": complex64,
    "complex128": complex128,
    "float32": float32,
    "float64": float64,
    "int8": int8,
    "int16": int16,
    "int32": int32,
    "int64": int64,
}
cuda = threads.face(ENGINE)
globals().update(FACTORIES | PLAIN)

__all__ = ["FACTORIES", "PLAIN", "cuda"]
