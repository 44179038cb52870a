"""What a thread knows of itself, under the names that Numba's CUDA gives it.

``cuda.threadIdx.x`` and its like, ``cuda.syncthreads()`` and ``cuda.syncwarp(mask)``:
all of that module that generated text uses.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

from llvmlite import ir
from numba.core import types
from numba.core.extending import models, typeof_impl
from numba.core.typing import templates

from gpucodegen.intrinsics.cuda.target import CODE, MODELS, TYPES
from gpucodegen.intrinsics.engines.instructions import register
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Face,
    Lowering,
    signature,
)
from gpucodegen.ir.number_formats import MOST_THREADS

REGISTERS = {
    "threadIdx": "tid",
    "blockIdx": "ctaid",
    "blockDim": "ntid",
    "gridDim": "nctaid",
}
"""Numba's name: the special register of PTX."""


class Triple(types.Dummy):
    """The type of ``threadIdx``: three numbers of 32 bits."""


MODELS.register(Triple, models.OpaqueModel)


def face(face: Face) -> ModuleType:
    """The module ``cuda`` of generated text."""
    module = ModuleType("cuda", __doc__)
    vars(module)["syncthreads"] = _syncthreads(face)
    vars(module)["syncwarp"] = _syncwarp(face)
    for name, special in REGISTERS.items():
        vars(module)[name] = _triple(face, name, special)
    return module


def _triple(face: Face, name: str, special: str) -> Any:
    ty, place = Triple(name), type(name, (), {"__doc__": f"``cuda.{name}``."})

    class Number(templates.AttributeTemplate):
        key = ty

        def generic_resolve(self, value: Any, attr: str) -> Any:
            del value
            return types.int32 if attr in ("x", "y", "z") else None

    TYPES.register_attr(Number)
    typeof_impl.register(place)(lambda _value, _context: ty)
    for dimension in "xyz":
        read = _reader(face, f"{special}.{dimension}")
        CODE.lower_getattr(ty, dimension)(read)
    return place()


def _reader(face: Face, special: str) -> Any:
    def read(context: Any, builder: Any, _type: Any, _value: Any) -> Any:
        low = Lowering(context, builder, None, face)
        value = register(low, special)
        end = _end(special, context.kernel.block)
        if end is not None:
            is_below = builder.icmp_unsigned("<", value, I32(end))
            low.call("llvm.assume", ir.VoidType(), [is_below])
        return value

    return read


def _end(special: str, block: tuple[int, int, int] | None) -> int | None:
    """Above what a register holds where the size of blocks is known, if that tells."""
    if block is None:
        return None
    name, _, dimension = special.partition(".")
    extent = max(block["xyz".index(dimension)], 1)  # no launch without threads
    return {"tid": extent, "ctaid": MOST_THREADS // extent}.get(name)


def _syncthreads(face: Face) -> Any:
    def lower(low: Lowering) -> None:
        low.call("llvm.nvvm.barrier0", ir.VoidType(), ())

    return face.define("syncthreads", 0, lambda: signature(types.void), lower)


def _syncwarp(face: Face) -> Any:
    def lower(low: Lowering, mask: Any) -> None:
        low.call("llvm.nvvm.bar.warp.sync", ir.VoidType(), (mask,))

    def typing_rule(_mask: Any) -> Any:
        return signature(types.void, types.int32)

    return face.define("syncwarp", 1, typing_rule, lower)
