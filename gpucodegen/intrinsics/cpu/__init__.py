"""The CPU backend: tiles in vector registers, memory from the stack and the heap."""

from __future__ import annotations

from numba import prange
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

from gpucodegen.intrinsics.cpu.backend import (
    BACKEND,
    dma_start,
    dma_wait,
    heap,
    heap_free,
    local,
    one_at_a_time,
    prefetch,
    shared,
)
from gpucodegen.intrinsics.framework import backends

FACTORIES = backends.shaped(BACKEND) | {
    "dma_start": dma_start,
    "dma_wait": dma_wait,
    "heap": heap,
    "heap_free": heap_free,
    "local": local,
    "shared": shared,
}
PLAIN = backends.plain(BACKEND) | {
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
HINTS = {"one_at_a_time": one_at_a_time, "prefetch": prefetch}
"""Hints for LLVM without semantics, which the CUDA backend does not have."""
globals().update(FACTORIES | PLAIN | HINTS)

__all__ = ["FACTORIES", "HINTS", "PLAIN", "prange"]
