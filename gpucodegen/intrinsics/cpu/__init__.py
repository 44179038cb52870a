"""The CPU backend: tiles in vector registers, memory from the stack and the heap."""

from __future__ import annotations

from numba import prange

from gpucodegen.intrinsics.cpu.backend import (
    BACKEND,
    dma_start,
    dma_wait,
    heap,
    heap_dynamic,
    heap_free,
    is_null,
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
    "heap_dynamic": heap_dynamic,
    "heap_free": heap_free,
    "is_null": is_null,
    "local": local,
    "shared": shared,
}
PLAIN = backends.plain(BACKEND)
HINTS = {"one_at_a_time": one_at_a_time, "prefetch": prefetch}
"""Hints for LLVM without semantics, which the CUDA backend does not have."""
globals().update(FACTORIES | PLAIN | HINTS)

__all__ = ["FACTORIES", "HINTS", "PLAIN", "prange"]
