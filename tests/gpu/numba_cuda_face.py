"""The CUDA face for numba-cuda's compiler: another decorator, all else is ours."""

from __future__ import annotations

from typing import Any

import numba_cuda  # noqa: F401  # pyright: ignore[reportMissingImports]
from llvmlite import ir
from numba import cuda
from numba.core.types import boolean, float32, float64, int8, int16, int32, int64
from numba.cuda import extending

from gpucodegen.intrinsics.cpu.backend import function
from gpucodegen.intrinsics.cuda import matrices, memory, threads
from gpucodegen.intrinsics.cuda.target import SharedPointer
from gpucodegen.intrinsics.framework import backends
from gpucodegen.intrinsics.framework.lowering import (
    Backend,
    Lowering,
    Tile,
    llvm_tile,
    signature,
)

_intrinsic = extending._intrinsic(target="cuda", prefer_literal=True)
FACE = Backend(
    _intrinsic,
    0,
    function,
    index_bits=32,
    global_space=1,
    atomic_bits=32,
    is_gpu=True,
)


@extending.register_model(Tile)
class _TileModel(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, tile: Tile) -> None:
        super().__init__(manager, tile, llvm_tile(tile, 0))


@extending.register_model(SharedPointer)
class _SharedPointerModel(extending.models.PrimitiveModel):
    def __init__(self, manager: Any, kind: SharedPointer) -> None:
        pointee = manager.lookup(kind.dtype).get_data_type()
        super().__init__(manager, kind, ir.PointerType(pointee, kind.space))


def _larger(low: Lowering, a: Any, b: Any) -> Any:
    """NVVM has no maximum that keeps a NaN."""
    is_nan = low.builder.fcmp_unordered("uno", a, b)
    largest = low.overloaded("maxnum", (a, b))
    return low.builder.select(is_nan, low.builder.fadd(a, b), largest)


globals().update(backends.shaped(FACE) | memory.factories(FACE) | backends.plain(FACE))
globals().update(memory.own_factories(FACE))
globals().update(threads.warp_factories(FACE) | threads.grid_factories(FACE))
globals().update(matrices.factories(FACE))
maximumf = FACE.define("maximumf", 2, lambda a, b: signature(a, a, b), _larger)
__all__ = ["boolean", "cuda", "float32", "float64", "int8", "int16", "int32", "int64"]
