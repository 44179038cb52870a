"""Work that is dealt to the threads of a block, and runs of elements that it covers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gpucodegen.intrinsics.engines.instructions import register
from gpucodegen.intrinsics.framework.lowering import I32, Lowering


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
