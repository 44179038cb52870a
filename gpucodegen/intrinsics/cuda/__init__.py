"""The CUDA face: tiles in registers, shared memory, asynchronous copies.

- `target`: the compiler's target: global pointers, launches, no arrays
- `arithmetic`: of 32 bits, and of complex numbers
- `functions`: formulas in place of C's library
- `threads`: what a thread knows of itself
- `warps`: what the lanes of a warp tell one another
- `grids`: all blocks of a launch meet
- `lines`: lines of MLIR in PTX
- `unrolling`: how often loops are repeated
- `assembly`: PTX of a kernel
- `face`: models of parameters and tiles
- `memory`: shared, private, asynchronous copies
- `matrices`: fragments in the lanes of a warp
"""

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

from gpucodegen.intrinsics.cuda import (
    grids,
    matrices,
    memory,
    threads,
    warps,
)
from gpucodegen.intrinsics.cuda.face import FACE
from gpucodegen.intrinsics.engines import (
    barriers,
    bulk_copies,
    subgroups,
    tensor_copies,
    warpgroups,
)
from gpucodegen.intrinsics.framework import faces

FACTORIES = faces.shaped(FACE) | memory.factories(FACE)
PLAIN = faces.plain(FACE) | {
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
cuda = threads.face(FACE)
OWN = (
    warps.factories(FACE)
    | grids.factories(FACE)
    | memory.own_factories(FACE)
    | matrices.factories(FACE)
    | barriers.factories(FACE)
    | bulk_copies.factories(FACE)
    | subgroups.factories(FACE)
    | tensor_copies.factories(FACE)
    | warpgroups.factories(FACE)
)
"""Factories that CUDA alone has."""
globals().update(FACTORIES | PLAIN | OWN)

__all__ = ["FACTORIES", "OWN", "PLAIN", "cuda"]
