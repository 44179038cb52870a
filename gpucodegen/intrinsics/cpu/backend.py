"""CPU backend of intrinsics: pointer and tile models, memory, hints, C library, DMA.

Small arrays are on the stack, packed panels on the heap.  Library functions are Numba's
own and some derived from them. Asynchronous copies are recorded by the start and
performed by the wait: a tag is a descriptor of eight words, element size in bytes (0:
no transfer in flight), source and target address, count, and (stride, run) of both
sides.  Element ``e`` of a side lies at ``e // run * stride + e % run``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, reduce
from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.core.extending import (
    NativeValue,
    intrinsic,
    models,
    register_jitable,
    register_model,
    unbox,
)

from gpucodegen.intrinsics.framework.elements import TAG_WORDS, element
from gpucodegen.intrinsics.framework.features import register_bytes
from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I8,
    I32,
    I64,
    Backend,
    Lowering,
    Tile,
    llvm_tile,
    number,
    signature,
)
from gpucodegen.intrinsics.tile_memory import memory_scalar
from gpucodegen.intrinsics.vector_math.lanes import Lanes
from gpucodegen.intrinsics.vector_math.without_library import hypot

LN2 = math.log(2.0)


def function(low: Lowering, name: str, dtype: Any, args: Sequence[Any]) -> Any:
    """The value of a function for scalars of one type."""
    if name in DERIVED:
        return DERIVED[name](low, dtype, *args)
    typing_context = low.context.typing_context
    resolved = typing_context.resolve_value_type(getattr(math, name))
    wanted = resolved.get_call_type(typing_context, (dtype,) * len(args), {})
    implementation = low.context.get_function(resolved, wanted)
    return implementation(low.builder, args)


def _exp2(low: Lowering, dtype: Any, x: Any) -> Any:
    return function(low, "pow", dtype, (number(x.type, 2.0), x))


def _log2(low: Lowering, dtype: Any, x: Any) -> Any:
    log = function(low, "log", types.float64, (_double(low, x),))
    quotient = low.builder.fdiv(log, number(log.type, LN2))
    return _back(low, quotient, dtype)


def _cbrt(low: Lowering, dtype: Any, x: Any) -> Any:
    """A power, and one step of Newton's method for f64.

    The rounding error of the exponent times the logarithm of ``x`` is up to 60 ULP of
    f64, which the step corrects.
    """
    builder, wide = low.builder, _double(low, x)
    size = low.overloaded("fabs", (wide,))
    third = number(wide.type, 1.0 / 3.0)
    root = function(low, "pow", types.float64, (size, third))
    if x.type == wide.type:
        rest = builder.fsub(builder.fdiv(size, builder.fmul(root, root)), root)
        better = builder.fadd(root, builder.fdiv(rest, number(wide.type, 3.0)))
        is_nan = builder.fcmp_unordered("uno", better, better)
        root = builder.select(is_nan, root, better)
    # In the narrow type: LLVM would round a sign of f64 to f16 by `__truncdfhf2`,
    # a routine that processes lack.
    return low.overloaded("copysign", (_back(low, root, dtype), x))


def _rsqrt(low: Lowering, _dtype: Any, x: Any) -> Any:
    return low.builder.fdiv(number(x.type, 1.0), low.overloaded("sqrt", (x,)))


def _double(low: Lowering, x: Any) -> Any:
    wide = low.value_type(types.float64)
    return x if x.type == wide else low.builder.fpext(x, wide)


def _back(low: Lowering, x: Any, dtype: Any) -> Any:
    narrow = low.value_type(dtype)
    return x if x.type == narrow else low.builder.fptrunc(x, narrow)


DERIVED: dict[str, Callable[..., Any]] = {
    "exp2": _exp2,
    "exp_approximate": lambda low, dtype, x: function(low, "exp", dtype, (x,)),
    "exp2_approximate": _exp2,
    "log2": _log2,
    "cbrt": _cbrt,
    "rsqrt": _rsqrt,
    "hypot": lambda low, _, *sides: hypot(*(Lanes(low, x) for x in sides)).value,
}


BACKEND = Backend(intrinsic(prefer_literal=True), register_bytes(), function)


class Address(types.CPointer):
    """A pointer parameter: Python passes an integer, the text indexes it (``A[i]``)."""


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
        super().__init__(manager, tile, llvm_tile(tile, BACKEND.register_bytes))


def pointer(name: str) -> Any:
    """The Numba type of a pointer to elements inside a kernel."""
    return types.CPointer(getattr(types, element(name).pointee))


def parameter(kind: str, name: str) -> Any:
    """The Numba type of a kernel parameter."""
    if kind == "pointer":
        return Address(getattr(types, element(name).pointee))
    return getattr(types, element(name).carrier)


BYTES = ir.IntType(8).as_pointer()


def _one_at_a_time(low: Lowering) -> None:
    """An empty side effect, which keeps vectorisers from duplicating the code."""
    function = ir.FunctionType(ir.VoidType(), [])
    low.builder.call(ir.InlineAsm(function, "", "", side_effect=True), [])


one_at_a_time = BACKEND.define(
    "one_at_a_time", 0, lambda: signature(types.void), _one_at_a_time
)
"""``one_at_a_time()``: the iterations of the loop around it stay scalar."""


@cache
def prefetch(write: bool, locality: int) -> Any:
    """``prefetch(p, i, distances)``: fetches elements for later use.

    They are at constant ``distances`` from the one at ``i``; locality 3 stands for data
    that is reused often.
    """

    def lower(low: Lowering, p: Any, i: Any, distances: Any) -> None:
        build, data = low.builder, ir.Constant(I32, 1)
        hints = (ir.Constant(I32, int(write)), ir.Constant(I32, locality))
        for distance in low.pieces(distances):
            place = build.bitcast(build.gep(p, [build.add(i, distance)]), BYTES)
            low.call("llvm.prefetch.p0", ir.VoidType(), (place, *hints, data))

    return BACKEND.define(
        "prefetch", 3, lambda p, i, d: signature(types.void, p, i, d), lower
    )


ALIGNMENT = 64
"""Bytes; a cache line, and the widest vector register."""


def _words(name: str) -> int:
    return TAG_WORDS if name == "tag" else 1


@cache
def local(n: int, name: str) -> Any:
    """``local()``: ``n`` elements on the stack; tags are cleared.

    Numba's own allocation fills the array, by one instruction per element.
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

    return BACKEND.define(
        f"local_{n}_{name}", 0, lambda: signature(pointer(name)), lower
    )


shared = local
"""Shared memory of a block is the stack of the one thread that runs it."""


def _bytes(low: Lowering, name: str, n: Any) -> Any:
    return low.builder.mul(n, number(I64, element(name).size * _words(name)))


def _malloc(low: Lowering, size: Any) -> Any:
    """Memory for ``size`` bytes behind an address, aligned to a cache line."""
    total = low.builder.add(size, number(I64, 2 * ALIGNMENT))
    return low.call("malloc", I8.as_pointer(), (total,))


def _aligned(low: Lowering, raw: Any) -> Any:
    """The aligned address in memory of `_malloc`, which is stored before it."""
    builder = low.builder
    end = builder.add(builder.ptrtoint(raw, I64), number(I64, 2 * ALIGNMENT - 1))
    start = builder.and_(end, number(I64, -ALIGNMENT))
    before = builder.sub(start, number(I64, 8))
    builder.store(raw, builder.inttoptr(before, raw.type.as_pointer()))
    return start


def _as_elements(low: Lowering, name: str, start: Any, size: Any) -> Any:
    """A pointer to the elements at an address; tags are cleared."""
    result = low.builder.inttoptr(start, low.value_type(low.signature.return_type))
    if name == "tag":
        cgutils.memset(low.builder, result, size, 0)
    return result


@cache
def heap(name: str) -> Any:
    """``heap(n)``: ``n`` elements, aligned to a cache line.

    The word before them holds the address from malloc.
    """

    def lower(low: Lowering, n: Any) -> Any:
        size = _bytes(low, name, n)
        start = _aligned(low, _malloc(low, size))
        return _as_elements(low, name, start, size)

    return BACKEND.define(
        f"heap_{name}", 1, lambda _: signature(pointer(name), types.int64), lower
    )


MOST_ELEMENTS = 2.0**48
"""Elements of a buffer beyond any memory; more could overflow its size in bytes."""


@cache
def heap_dynamic(rank: int, name: str) -> Any:
    """``heap_dynamic(n0, n1, ..)``: row-major memory of ``heap`` for these extents.

    The pointer is null where an extent is negative or memory is short.
    """

    def lower(low: Lowering, *extents: Any) -> Any:
        builder = low.builder
        pointer_type = low.value_type(low.signature.return_type)
        null = ir.Constant(pointer_type, None)
        doubles = [builder.sitofp(n, ir.DoubleType()) for n in extents]
        most = ir.Constant(ir.DoubleType(), MOST_ELEMENTS)
        count = reduce(builder.fmul, doubles)
        fits = builder.fcmp_ordered("<=", count, most)
        for n in extents:
            at_least = builder.icmp_signed(">=", n, number(I64, 0))
            fits = builder.and_(fits, at_least)
        slot = cgutils.alloca_once_value(builder, null)
        with builder.if_then(fits, likely=True):
            size = _bytes(low, name, reduce(builder.mul, extents))
            raw = _malloc(low, size)
            exists = builder.icmp_unsigned("!=", raw, ir.Constant(raw.type, None))
            with builder.if_then(exists, likely=True):
                found = _as_elements(low, name, _aligned(low, raw), size)
                builder.store(found, slot)
        return builder.load(slot)

    def typed(*extents: Any) -> Any:
        return signature(pointer(name), *[types.int64] * len(extents))

    return BACKEND.define(f"heap_{rank}d_{name}", rank, typed, lower)


@cache
def is_null(name: str) -> Any:
    """``is_null(p)``: whether a pointer to elements is null."""

    def lower(low: Lowering, p: Any) -> Any:
        return low.builder.icmp_unsigned("==", p, ir.Constant(p.type, None))

    return BACKEND.define(
        f"is_null_{name}", 1, lambda p: signature(types.boolean, p), lower
    )


@cache
def heap_free(name: str) -> Any:
    """``heap_free(p)``: frees memory of ``heap``; null is no memory."""

    def lower(low: Lowering, p: Any) -> None:
        builder = low.builder
        start = builder.ptrtoint(p, I64)
        exists = builder.icmp_unsigned("!=", start, number(I64, 0))
        with builder.if_then(exists, likely=True):
            before = builder.sub(start, number(I64, 8))
            raw_type = I8.as_pointer()
            raw = builder.load(builder.inttoptr(before, raw_type.as_pointer()))
            low.call("free", ir.VoidType(), (raw,))

    return BACKEND.define(
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


copy_bytes = BACKEND.define(
    "copy_bytes", 3, lambda *_: signature(types.void, *[types.int64] * 3), _copy_bytes
)
"""``copy_bytes(target address, source address, count)``."""


@cache
def address_of(name: str) -> Any:
    """``address_of(p, i)``: the address of an element as an integer."""

    def lower(low: Lowering, p: Any, i: Any) -> Any:
        return low.builder.ptrtoint(low.builder.gep(p, [i]), I64)

    return BACKEND.define(
        f"address_of_{name}",
        2,
        lambda p, _: signature(types.int64, p, types.int64),
        lower,
    )


@register_jitable
def _finish(tag: Any, tag_index: int) -> None:
    """Performs the tag's transfer, run by run, and clears the tag."""
    first = tag_index * TAG_WORDS
    size = tag[first]
    if size == 0:
        return
    source, target, count = tag[first + 1], tag[first + 2], tag[first + 3]
    source_stride, source_run = tag[first + 4], max(1, tag[first + 5])
    target_stride, target_run = tag[first + 6], max(1, tag[first + 7])
    tag[first] = 0
    done = 0
    while done < count:
        source_rest, target_rest = done % source_run, done % target_run
        source_at = done // source_run * source_stride + source_rest
        target_at = done // target_run * target_stride + target_rest
        length = min(count - done, source_run - source_rest, target_run - target_rest)
        copy_bytes(target + target_at * size, source + source_at * size, length * size)
        done += length


@cache
def dma_start(
    name: str,
    source_space: str = "global",
    target_space: str = "shared",
    width: int = 0,
) -> Any:
    """Records a transfer in its tag.

    ``dma_start(src, src_off, dst, dst_off, tag, tag_idx, count, src_stride, src_run,
    dst_stride, dst_run)``.
    A transfer still in flight on the tag is performed first.
    """
    del source_space, target_space, width
    size = element(name).size
    locate = address_of(name)

    @register_jitable
    def start(
        src: Any,
        src_off: int,
        dst: Any,
        dst_off: int,
        tag: Any,
        tag_idx: int,
        count: int,
        src_stride: int,
        src_run: int,
        dst_stride: int,
        dst_run: int,
    ) -> None:
        _finish(tag, tag_idx)
        first = tag_idx * TAG_WORDS
        tag[first] = size
        tag[first + 1] = locate(src, src_off)
        tag[first + 2] = locate(dst, dst_off)
        tag[first + 3] = count
        tag[first + 4], tag[first + 5] = src_stride, src_run
        tag[first + 6], tag[first + 7] = dst_stride, dst_run

    return start


@cache
def dma_wait(name: str, pending: int = 0) -> Any:
    """``dma_wait(tag, tag_idx, count)``: performs the tag's transfer, if any."""
    del name, pending

    @register_jitable
    def wait(tag: Any, tag_idx: int, count: int) -> None:  # noqa: ARG001
        _finish(tag, tag_idx)

    return wait
