"""Memory of CPU kernels: the stack for small arrays, the heap for packed panels."""

from __future__ import annotations

from functools import cache
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types

from gpucodegen.intrinsics.cpu.face import FACE, pointer
from gpucodegen.intrinsics.framework.elements import TAG_WORDS, element
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I8,
    I64,
    Lowering,
    number,
    signature,
)
from gpucodegen.intrinsics.tiles.memory import memory_scalar

ALIGNMENT = 64
"""Bytes; a cache line, and the widest vector register."""


def _words(name: str) -> int:
    return TAG_WORDS if name == "tag" else 1


@cache
def local(n: int, name: str) -> Any:
    """``local()``: ``n`` elements on the stack; tags are cleared.

    Numba's own way to allocate fills the array, by one instruction an element.
    """

    def lower(low: Lowering) -> Any:
        builder, count = low.builder, n * _words(name)
        with builder.goto_entry_block():
            slot = builder.alloca(ir.ArrayType(memory_scalar(name), count))
        slot.align = ALIGNMENT
        result = builder.bitcast(slot, low.value_type(low.signature.return_type))
        if name == "tag":
            size = number(I64, count * element(name).size)
            cgutils.memset(builder, result, size, 0)
        return result

    return FACE.define(f"local_{n}_{name}", 0, lambda: signature(pointer(name)), lower)


shared = local
"""Shared memory of a block is the stack of the one thread that runs it."""


@cache
def heap(name: str) -> Any:
    """``heap(n)``: ``n`` elements, aligned to a cache line.

    The address given by malloc stands in the word before it.
    """

    def lower(low: Lowering, n: Any) -> Any:
        builder = low.builder
        size = number(I64, element(name).size * _words(name))
        total = builder.add(builder.mul(n, size), number(I64, 2 * ALIGNMENT))
        raw = low.call("malloc", I8.as_pointer(), (total,))
        end = builder.add(builder.ptrtoint(raw, I64), number(I64, 2 * ALIGNMENT - 1))
        start = builder.and_(end, number(I64, -ALIGNMENT))
        before = builder.sub(start, number(I64, 8))
        builder.store(raw, builder.inttoptr(before, raw.type.as_pointer()))
        result = builder.inttoptr(start, low.value_type(low.signature.return_type))
        if name == "tag":
            cgutils.memset(builder, result, builder.mul(n, size), 0)
        return result

    return FACE.define(
        f"heap_{name}", 1, lambda _: signature(pointer(name), types.int64), lower
    )


@cache
def heap_free(name: str) -> Any:
    """``heap_free(p)``: give back what ``heap`` gave."""

    def lower(low: Lowering, p: Any) -> None:
        builder = low.builder
        before = builder.sub(builder.ptrtoint(p, I64), number(I64, 8))
        raw_type = I8.as_pointer()
        raw = builder.load(builder.inttoptr(before, raw_type.as_pointer()))
        low.call("free", ir.VoidType(), (raw,))

    return FACE.define(
        f"heap_free_{name}", 1, lambda p: signature(types.void, p), lower
    )


def _copy_bytes(low: Lowering, target: Any, source: Any, count: Any) -> None:
    builder = low.builder
    pointer_type = I8.as_pointer()
    args = (
        builder.inttoptr(target, pointer_type),
        builder.inttoptr(source, pointer_type),
        count,
        ir.Constant(I1, 0),
    )
    low.call("llvm.memcpy.p0.p0.i64", ir.VoidType(), args)


copy_bytes = FACE.define(
    "copy_bytes", 3, lambda *_: signature(types.void, *[types.int64] * 3), _copy_bytes
)
"""``copy_bytes(target address, source address, count)``."""


@cache
def address_of(name: str) -> Any:
    """``address_of(p, i)``: the address of an element as an integer."""

    def lower(low: Lowering, p: Any, i: Any) -> Any:
        return low.builder.ptrtoint(low.builder.gep(p, [i]), I64)

    return FACE.define(
        f"address_of_{name}",
        2,
        lambda p, _: signature(types.int64, p, types.int64),
        lower,
    )
