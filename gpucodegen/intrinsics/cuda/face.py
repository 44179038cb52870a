"""Our target for CUDA as a `Face`: tiles are scalars, an index has 32 bits."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.datamodel import models
from numba.core.extending import intrinsic

from gpucodegen.intrinsics.cuda import arithmetic
from gpucodegen.intrinsics.cuda.functions import function
from gpucodegen.intrinsics.cuda.target import MODELS, NAME, GlobalPointer
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import Face
from gpucodegen.intrinsics.framework.vector_type import Tile, llvm_tile

FACE = Face(
    intrinsic(prefer_literal=True, target=NAME),
    0,
    function,
    index_bits=32,
    global_space=1,
    atomic_bits=32,
    is_gpu=True,
)
arithmetic.provide()


class _TileModel(models.PrimitiveModel):
    """A tile is an array of scalars, which the compiler keeps in registers."""

    def __init__(self, manager: Any, tile: Tile) -> None:
        super().__init__(manager, tile, llvm_tile(tile, FACE.register_bytes))


MODELS.register(Tile, _TileModel)


def parameter(kind: str, name: str) -> Any:
    """The Numba type of a kernel parameter; an index is 32 bits on a GPU."""
    if kind == "pointer":
        return GlobalPointer(getattr(types, element(name).pointee))
    if name == "index":
        return types.int32
    return getattr(types, element(name).carrier)
