"""Memory of CUDA kernels: shared and local arrays, and ``cp.async`` copies.

cp.async moves 4, 8 or 16 bytes from global to shared memory without a register; its
groups complete in order, so a wait names how many may still be in flight.
"""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen import errors
from gpucodegen.intrinsics.cuda.instructions import (
    cooperatively,
    element_offset,
    in_space,
)
from gpucodegen.intrinsics.cuda.target import GLOBAL, SHARED, SharedPointer
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Backend,
    Lowering,
    signature,
)
from gpucodegen.intrinsics.tile_memory import memory_scalar, retyped

ALIGNMENT = 16
WORD = 4
"""Bytes of the words of wide accesses."""
DYNAMIC = "dynamic_shared"
"""The name of dynamic shared memory, whose size a launch gives."""


def factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


def own_factories(face: Backend) -> dict[str, Any]:
    """Intrinsics without a CPU counterpart."""
    return {name: cache(partial(make, face)) for name, make in OWN.items()}


def _shared(name: str) -> Any:
    """The Numba type of a pointer to shared memory."""
    return SharedPointer(getattr(types, element(name).pointee))


def shared(face: Backend, n: int, name: str, alignment: int = ALIGNMENT) -> Any:
    """``shared()``: ``n`` elements of the block's shared memory, one array per call."""

    def lower(low: Lowering) -> Any:
        module = low.builder.module
        ty = ir.ArrayType(memory_scalar(name), n)
        unique = module.get_unique_name("shared")
        array = ir.GlobalVariable(module, ty, unique, addrspace=SHARED)
        array.linkage = "internal"
        array.initializer = ir.Constant(ty, ir.Undefined)
        array.align = alignment
        return retyped(low, array, memory_scalar(name))

    return face.define(f"shared_{n}_{name}", 0, lambda: signature(_shared(name)), lower)


def dynamic_shared(
    face: Backend, offset: int, name: str, alignment: int = ALIGNMENT
) -> Any:
    """``dynamic_shared()``: elements at a byte offset of dynamic shared memory."""

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
        return retyped(low, start, memory_scalar(name))

    hint = f"dynamic_shared_{offset}_{name}"
    return face.define(hint, 0, lambda: signature(_shared(name)), lower)


def local(face: Backend, n: int, name: str) -> Any:
    """``local()``: ``n`` elements private to the thread."""
    made = types.CPointer(getattr(types, element(name).pointee))

    def lower(low: Lowering) -> Any:
        ty = ir.ArrayType(memory_scalar(name), n)
        with low.builder.goto_entry_block():
            slot = low.builder.alloca(ty)
        slot.align = ALIGNMENT
        return low.builder.bitcast(slot, low.value_type(made))

    return face.define(f"local_{n}_{name}", 0, lambda: signature(made), lower)


def heap(*_: object) -> Any:
    """Raises an error: a GPU kernel allocates no memory while it runs."""
    raise errors.UnsupportedOperation(operation="memref.alloc", target="cuda")


# Asynchronous copies.


def _assembly(low: Lowering, text: str, constraints: str, args: list[Any]) -> None:
    """An instruction on addresses and sizes.

    Like the addresses of loads they are ``noundef``: else LLVM's strength reduction
    scans the instructions behind each address for a use that excludes poison.
    """
    function = ir.FunctionType(ir.VoidType(), [arg.type for arg in args])
    code = ir.InlineAsm(function, text, constraints, side_effect=True)
    known = ("noundef",) if low.face.has_noundef else ()
    low.builder.call(code, args, arg_attrs=dict.fromkeys(range(len(args)), known))


def dma_start(
    face: Backend,
    name: str,
    source_space: str = "global",
    target_space: str = "shared",
    width: int = 0,
    closes: bool = True,
) -> Any:
    """The threads of a block start one transfer together.

    ``dma_start(src, src_off, dst, dst_off, tag, tag_idx, count, src_stride, src_run,
    dst_stride, dst_run)``.
    ``width``: bytes of each access, which divide both addresses and all lengths; 0 is
    one element.  4, 8 or 16 use one cp.async from global to shared memory. Otherwise
    the threads copy at once, which the semantics allow.  A start that ``closes``
    commits one group of each thread, an empty one for such a copy, so that waits can
    count groups.
    """
    is_free = bool(width) and (source_space, target_space) == ("global", "shared")
    step = max(1, width // element(name).size)

    def typing_rule(src: Any, _so: Any, dst: Any, _do: Any, tag: Any, *_: Any) -> Any:
        index = types.int32
        return signature(
            types.void, src, index, dst, index, tag, index, index, *[index] * 4
        )

    def lower(
        low: Lowering, src: Any, src_off: Any, dst: Any, dst_off: Any, *rest: Any
    ) -> None:
        _tag, _tag_idx, count, *sides = rest

        def move(e: Any) -> None:
            source = element_offset(low, src_off, e, *sides[:2])
            target = element_offset(low, dst_off, e, *sides[2:])
            if is_free:
                _start_copy(low, width, (dst, target), (src, source))
            else:
                _copy_now(low, width, (dst, target), (src, source))

        cooperatively(low, count, I32(step), move)
        if closes:
            _close_group(low)

    return face.define(f"dma_start_{name}", 11, typing_rule, lower)


def _copy_now(low: Lowering, width: int, target: Any, source: Any) -> None:
    """A load and a store of an element, or of so many bytes in words."""
    builder = low.builder
    places = [builder.gep(p, [i]) for p, i in (source, target)]
    if width:
        word = min(width, WORD)
        one = ir.IntType(8 * word)
        wide = ir.VectorType(one, width // word) if width > word else one
        places = [retyped(low, place, wide) for place in places]
    value = builder.load(places[0], align=width or None)
    builder.store(value, places[1], align=width or None)


def _start_copy(
    low: Lowering, width: int, target: Any, source: Any, *real: Any
) -> None:
    """One cp.async of 4, 8 or 16 bytes; only 16 bytes may bypass the L1 cache."""
    caching = "cg" if width == 16 else "ca"
    less = ", $2" if real else ""
    text = f"cp.async.{caching}.shared.global [$0], [$1], {width}{less};"
    places = [in_space(low, *target, SHARED), in_space(low, *source, GLOBAL)]
    sizes = [low.builder.trunc(n, I32) if n.type != I32 else n for n in real]
    _assembly(low, text, f"r,l{',r' * len(sizes)},~{{memory}}", [*places, *sizes])


def dma_wait(face: Backend, name: str, pending: int = 0) -> Any:
    """``dma_wait(tag, tag_idx, count)``: the thread's own part has arrived.

    A block barrier must follow before other threads' parts are read.  ``pending``
    younger transfers may stay in flight.
    """
    del name

    def typing_rule(tag: Any, _tag_idx: Any, _count: Any) -> Any:
        return signature(types.void, tag, types.int32, types.int32)

    def lower(low: Lowering, _tag: Any, _tag_idx: Any, _count: Any) -> None:
        _wait_groups(low, pending)

    return face.define(f"dma_wait_{pending}", 3, typing_rule, lower)


# Copies of single threads.


def async_copy(face: Backend, width: int, padded: bool = False) -> Any:
    """``async_copy(src, a, b, c, dst, dst_off[, real])``: one cp.async.

    It begins ``a + b + c`` elements behind ``src``, each of which fits 32 bits, and
    copies ``width`` bytes. ``padded``: only ``real`` bytes come from the source,
    followed by zeros.
    """

    def typing_rule(*arguments: Any) -> Any:
        return signature(types.void, *arguments)

    def lower(
        low: Lowering, src: Any, a: Any, b: Any, c: Any, dst: Any, at: Any, *real: Any
    ) -> None:
        near = low.builder.gep(low.builder.gep(src, [a]), [b])
        _start_copy(low, width, (dst, at), (near, c), *real)

    return face.define(f"async_copy_{width}", 6 + padded, typing_rule, lower)


def close_group(face: Backend) -> Any:
    """``close_group()``: commits the thread's copies since its last commit."""
    return face.define("close_group", 0, lambda: signature(types.void), _close_group)


def wait_groups(face: Backend, pending: int) -> Any:
    """``wait_groups()``: leaves the thread's ``pending`` newest groups in flight."""

    def lower(low: Lowering) -> None:
        _wait_groups(low, pending)

    name = f"wait_groups_{pending}"
    return face.define(name, 0, lambda: signature(types.void), lower)


def _close_group(low: Lowering) -> None:
    _assembly(low, "cp.async.commit_group;", "~{memory}", [])


def _wait_groups(low: Lowering, pending: int) -> None:
    _assembly(low, f"cp.async.wait_group {pending};", "~{memory}", [])


MADE = {
    "dma_start": dma_start,
    "dma_wait": dma_wait,
    "heap": heap,
    "heap_dynamic": heap,
    "heap_free": heap,
    "is_null": heap,
    "local": local,
    "shared": shared,
}
OWN = {
    "async_copy": async_copy,
    "close_group": close_group,
    "dynamic_shared": dynamic_shared,
    "wait_groups": wait_groups,
}
