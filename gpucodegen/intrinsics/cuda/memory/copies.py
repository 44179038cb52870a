"""Copies by the threads of a block, at once or by ``cp.async``.

cp.async moves 4, 8 or 16 bytes from global to shared memory without a register; its
groups complete in order, so a wait names how many may still be in flight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cuda.memory.buffers import SHARED
from gpucodegen.intrinsics.cuda.threads import register
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    I64,
    Face,
    Lowering,
    signature,
)

GLOBAL = 1
"""The address space of PTX."""
WORD = 4
"""Bytes of the words of wide accesses."""


def address(low: Lowering, p: Any, i: Any, space: int) -> Any:
    """Where an element lies in a space, as PTX says it."""
    place = low.builder.gep(p, [i])
    typed = ir.PointerType(place.type.pointee, addrspace=space)
    in_space = low.builder.addrspacecast(place, typed)
    return low.builder.ptrtoint(in_space, I32 if space == SHARED else I64)


def _assembly(low: Lowering, text: str, constraints: str, args: list[Any]) -> None:
    function = ir.FunctionType(ir.VoidType(), [arg.type for arg in args])
    code = ir.InlineAsm(function, text, constraints, side_effect=True)
    low.builder.call(code, args)


def dma_start(
    face: Face,
    name: str,
    source_space: str = "global",
    target_space: str = "shared",
    width: int = 0,
    closes: bool = True,
) -> Any:
    """Let the threads of a block start one transfer together.

    ``dma_start(src, src_off, dst, dst_off, tag, tag_idx, count, src_stride, src_run,
    dst_stride, dst_run)``.

    ``width``: bytes of each access, of which both addresses and all lengths are
    multiples; 0 is one element.  4, 8 or 16 go by one cp.async from global to shared
    memory.  Otherwise the threads copy at once, which is a legal moment.  A start that
    ``closes`` ends one group of each thread, an empty one for such a copy, so that
    waits can count them.
    """
    is_free = bool(width) and (source_space, target_space) == ("global", "shared")
    step = max(1, width // element(name).size)

    def typing_rule(src: Any, _so: Any, dst: Any, _do: Any, tag: Any, *_: Any) -> Any:
        index = types.int32
        return signature(
            types.void, src, index, dst, index, tag, index, index, *[index] * 4
        )

    def lower(
        low: Lowering,
        src: Any,
        src_off: Any,
        dst: Any,
        dst_off: Any,
        _tag: Any,
        _tag_idx: Any,
        count: Any,
        *sides: Any,
    ) -> None:
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
        places = [builder.bitcast(place, wide.as_pointer()) for place in places]
    value = builder.load(places[0], align=width or None)
    builder.store(value, places[1], align=width or None)


def _start_copy(
    low: Lowering, width: int, target: Any, source: Any, *real: Any
) -> None:
    """One cp.async of 4, 8 or 16 bytes; only 16 bytes may bypass the first cache."""
    caching = "cg" if width == 16 else "ca"
    less = ", $2" if real else ""
    text = f"cp.async.{caching}.shared.global [$0], [$1], {width}{less};"
    places = [address(low, *target, SHARED), address(low, *source, GLOBAL)]
    sizes = [low.builder.trunc(n, I32) if n.type != I32 else n for n in real]
    _assembly(low, text, f"r,l{',r' * len(sizes)},~{{memory}}", [*places, *sizes])


def element_offset(low: Lowering, offset: Any, e: Any, stride: Any, run: Any) -> Any:
    """``offset + e // run * stride + e % run``; run is positive."""
    builder = low.builder
    whole = builder.mul(builder.udiv(e, run), stride)
    return builder.add(offset, builder.add(whole, builder.urem(e, run)))


def thread_and_count(low: Lowering) -> tuple[Any, Any]:
    """The thread's number in its block, and the number of threads."""
    builder = low.builder
    x, y, z = (register(low, f"tid.{d}") for d in "xyz")
    nx, ny, nz = (register(low, f"ntid.{d}") for d in "xyz")
    row = builder.add(builder.mul(z, ny), y)
    thread = builder.add(builder.mul(row, nx), x)
    return thread, builder.mul(builder.mul(nx, ny), nz)


def cooperatively(
    low: Lowering, count: Any, step: Any, body: Callable[[Any], None], most: int = 0
) -> None:
    """Run ``body(e)`` for every ``step``-th ``e`` below ``count``, over threads.

    ``most``: only so many of them take part, the first ones; 0 is all.
    """
    builder = low.builder
    thread, threads = thread_and_count(low)
    first = builder.mul(thread, step)
    if most:
        few = builder.icmp_unsigned("<", threads, I32(most))
        threads = builder.select(few, threads, I32(most))
        takes_part = builder.icmp_unsigned("<", thread, I32(most))
        first = builder.select(takes_part, first, count)
    entry = builder.block
    head, inside, done = (builder.append_basic_block(f"dma_{s}") for s in "hbd")
    builder.branch(head)
    builder.position_at_end(head)
    e = builder.phi(I32)
    e.add_incoming(first, entry)
    builder.cbranch(builder.icmp_signed("<", e, count), inside, done)
    builder.position_at_end(inside)
    body(e)
    following = builder.add(e, builder.mul(threads, step))
    e.add_incoming(following, builder.block)
    builder.branch(head)
    builder.position_at_end(done)


def dma_wait(face: Face, name: str, pending: int = 0) -> Any:
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


def async_copy(face: Face, width: int, padded: bool = False) -> Any:
    """``async_copy(src, src_off, dst, dst_off[, real])``: one cp.async of some bytes.

    ``padded``: only ``real`` bytes come from the source, and zeros behind them.
    """

    def typing_rule(*arguments: Any) -> Any:
        return signature(types.void, *arguments)

    def lower(
        low: Lowering, src: Any, src_off: Any, dst: Any, dst_off: Any, *real: Any
    ) -> None:
        _start_copy(low, width, (dst, dst_off), (src, src_off), *real)

    return face.define(f"async_copy_{width}", 4 + padded, typing_rule, lower)


def close_group(face: Face) -> Any:
    """``close_group()``: what the thread has copied since the last time is a group."""
    return face.define("close_group", 0, lambda: signature(types.void), _close_group)


def wait_groups(face: Face, pending: int) -> Any:
    """``wait_groups()``: all groups of the thread but ``pending`` have arrived."""

    def lower(low: Lowering) -> None:
        _wait_groups(low, pending)

    name = f"wait_groups_{pending}"
    return face.define(name, 0, lambda: signature(types.void), lower)


def _close_group(low: Lowering) -> None:
    _assembly(low, "cp.async.commit_group;", "~{memory}", [])


def _wait_groups(low: Lowering, pending: int) -> None:
    _assembly(low, f"cp.async.wait_group {pending};", "~{memory}", [])


MADE = {"dma_start": dma_start, "dma_wait": dma_wait}
OWN = {
    "async_copy": async_copy,
    "close_group": close_group,
    "wait_groups": wait_groups,
}
