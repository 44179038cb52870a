"""Numba for the CPU as a `Face`: the models of pointers and tiles."""

from __future__ import annotations

from typing import Any

from numba.core import types
from numba.core.extending import (
    NativeValue,
    intrinsic,
    models,
    register_model,
    unbox,
)

from gpucodegen.intrinsics.cpu.library import function
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.features import register_bytes
from gpucodegen.intrinsics.framework.lowering import Face
from gpucodegen.intrinsics.framework.vector_type import Tile, llvm_tile

FACE = Face(intrinsic(prefer_literal=True), register_bytes(), function)


class Address(types.CPointer):
    """A pointer parameter: Python passes an integer, the text says ``A[i]``."""


@register_model(Address)
class _AddressModel(models.PointerModel):
    """An address is a plain pointer."""


@unbox(Address)
def _unbox_address(ty: Any, integer: Any, c: Any) -> NativeValue:
    address = c.pyapi.long_as_voidptr(integer)
    value = c.builder.bitcast(address, c.context.get_value_type(ty))
    return NativeValue(value, is_error=c.pyapi.c_api_error())


@register_model(Tile)
class _TileModel(models.PrimitiveModel):
    """A tile is an array of vector registers."""

    def __init__(self, manager: Any, tile: Tile) -> None:
        super().__init__(manager, tile, llvm_tile(tile, FACE.register_bytes))


def pointer(name: str) -> Any:
    """The Numba type of a pointer to elements inside a kernel."""
    return types.CPointer(getattr(types, element(name).pointee))


def parameter(kind: str, name: str) -> Any:
    """The Numba type of a kernel parameter."""
    if kind == "pointer":
        return Address(getattr(types, element(name).pointee))
    return getattr(types, element(name).carrier)
