"""Memory that kernels have of their own: shared by a block, private to a thread."""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen import errors
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Face,
    Lowering,
    signature,
)
from gpucodegen.intrinsics.tiles.memory import memory_scalar

SHARED = 3
"""The address space of PTX."""
ALIGNMENT = 16
DYNAMIC = "dynamic_shared"
"""The memory of a block whose size a launch gives."""


def pointer(name: str) -> Any:
    """The Numba type of a pointer to elements."""
    return types.CPointer(getattr(types, element(name).pointee))


def shared(face: Face, n: int, name: str, alignment: int = ALIGNMENT) -> Any:
    """``shared()``: ``n`` elements of the block's shared memory, one array per call."""

    def lower(low: Lowering) -> Any:
        module = low.builder.module
        ty = ir.ArrayType(memory_scalar(name), n)
        unique = module.get_unique_name("shared")
        array = ir.GlobalVariable(module, ty, unique, addrspace=SHARED)
        array.linkage = "internal"
        array.initializer = ir.Constant(ty, ir.Undefined)
        array.align = alignment
        generic = low.builder.addrspacecast(array, ty.as_pointer())
        return low.builder.bitcast(generic, low.value_type(low.signature.return_type))

    return face.define(f"shared_{n}_{name}", 0, lambda: signature(pointer(name)), lower)


def dynamic_shared(
    face: Face, offset: int, name: str, alignment: int = ALIGNMENT
) -> Any:
    """``dynamic_shared()``: elements from a byte of what each launch gives a block."""

    def lower(low: Lowering) -> Any:
        module = low.builder.module
        array = module.globals.get(DYNAMIC)
        if array is None:
            ty = ir.ArrayType(ir.IntType(8), 0)
            array = ir.GlobalVariable(module, ty, DYNAMIC, addrspace=SHARED)
            array.linkage = "external"
            array.align = alignment
        array.align = max(array.align, alignment)
        start = low.builder.gep(array, [I32(0), I32(offset)])
        generic = low.builder.addrspacecast(start, ir.IntType(8).as_pointer())
        return low.builder.bitcast(generic, low.value_type(low.signature.return_type))

    hint = f"dynamic_shared_{offset}_{name}"
    return face.define(hint, 0, lambda: signature(pointer(name)), lower)


def local(face: Face, n: int, name: str) -> Any:
    """``local()``: ``n`` elements private to the thread."""

    def lower(low: Lowering) -> Any:
        ty = ir.ArrayType(memory_scalar(name), n)
        with low.builder.goto_entry_block():
            slot = low.builder.alloca(ty)
        slot.align = ALIGNMENT
        return low.builder.bitcast(slot, low.value_type(low.signature.return_type))

    return face.define(f"local_{n}_{name}", 0, lambda: signature(pointer(name)), lower)


def heap(face: Face, name: str) -> Any:
    """A GPU kernel allocates no memory while it runs."""
    del face, name
    raise errors.UnsupportedOperation(operation="memref.alloc", target="cuda")


MADE = {"heap": heap, "heap_free": heap, "local": local, "shared": shared}
OWN = {"dynamic_shared": dynamic_shared}
