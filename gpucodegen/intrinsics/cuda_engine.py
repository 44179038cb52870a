"""The one place that imports the CUDA engine, and that engine as an `Engine`.

numba-cuda is in maintenance; its successor numba-cuda-mlir is reached by changing the
imports here.
"""

from __future__ import annotations

from typing import Any

from numba import cuda
from numba.core import types
from numba.cuda import extending

from gpucodegen.intrinsics.elements import element
from gpucodegen.intrinsics.lowering import Engine
from gpucodegen.intrinsics.vector_type import Tile, llvm_tile

__all__ = ["ENGINE", "cuda", "parameter", "pointer"]

# `extending.intrinsic` is this decorator without the literals.
_intrinsic = extending._intrinsic(target="cuda", prefer_literal=True)  # noqa: SLF001

ENGINE = Engine("cuda", _intrinsic, 0)


@extending.register_model(Tile)
class _TileModel(extending.models.PrimitiveModel):
    """A tile is an array of scalars, which the compiler keeps in registers."""

    def __init__(self, manager: Any, tile: Tile) -> None:
        super().__init__(manager, tile, llvm_tile(tile, ENGINE.register_bytes))


def pointer(name: str) -> Any:
    """The Numba type of a pointer to elements."""
    return types.CPointer(getattr(types, element(name).pointee))


def parameter(kind: str, name: str) -> Any:
    """The Numba type of a kernel parameter; an index is 32 bits on a GPU."""
    if kind == "pointer":
        return pointer(name)
    if name == "index":
        return types.int32
    return getattr(types, element(name).carrier)
