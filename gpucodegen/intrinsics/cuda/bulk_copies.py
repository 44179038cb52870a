"""Bulk and TMA copies: ``cp.async.bulk`` of rows, ``cp.async.bulk.tensor`` of boxes.

Copies to shared memory count their bytes at an mbarrier, whose phase completes when all
bytes have come and one thread has arrived: that happens at the wait, so a phase takes
any number of copies.  Copies to global memory are in bulk groups of the thread that
starts them.  Boxes are described by a tensor map in global memory, their coordinates
start with the innermost dimension. PTX ISA, "cp.async.bulk", "cp.async.bulk.tensor" and
"mbarrier".
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cuda.instructions import (
    cooperatively,
    element_offset,
    in_space,
    instruction,
    thread_and_count,
)
from gpucodegen.intrinsics.cuda.mbarriers import until_over
from gpucodegen.intrinsics.cuda.target import GLOBAL, SHARED
from gpucodegen.intrinsics.framework.elements import element
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    Backend,
    Lowering,
    signature,
)

_TENSOR_LOAD = (
    "cp.async.bulk.tensor.{rank}d.shared::cluster.global"
    ".mbarrier::complete_tx::bytes{multicast} [$0], [$1, {{{box}}}], [$2]{mask};"
)
_TENSOR_STORE = (
    "cp.async.bulk.tensor.{rank}d.global.shared::cta.bulk_group [$0, {{{box}}}], [$1];"
)
_ON_MAP = {
    "prefetch": "prefetch.tensormap [$0];",
    "fence": "fence.proxy.tensormap::generic.acquire.gpu [$0], 128;",
}


def tensor_copy_factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in TENSOR_COPIES.items()}


def on_map(face: Backend, kind: str) -> Any:
    """``tensor_map(map)``: prefetches a map, or acquires writes to it."""

    def lower(low: Lowering, tensor_map: Any) -> None:
        instruction(low, _ON_MAP[kind], (_map(low, tensor_map),))

    def typing_rule(tensor_map: Any) -> Any:
        return signature(types.void, tensor_map)

    return face.define(f"{kind}_tensor_map", 1, typing_rule, lower)


def tensor_load(face: Backend, rank: int, multicast: bool = False) -> Any:
    """``tensor_load(p, offset, map, barriers, i, x, ..[, mask])``: starts a box copy.

    ``multicast``: each block of the cluster with a bit in the mask gets it.
    """

    def lower(
        low: Lowering,
        pointer: Any,
        offset: Any,
        tensor_map: Any,
        barriers: Any,
        number: Any,
        *others: Any,
    ) -> None:
        places = (
            in_space(low, pointer, offset, SHARED),
            _map(low, tensor_map),
            in_space(low, barriers, number, SHARED),
        )
        corner = [_coordinate(low, x) for x in others[:rank]]
        mask = [low.builder.trunc(m, ir.IntType(16)) for m in others[rank:]]
        text = _TENSOR_LOAD.format(
            rank=rank,
            box=_numbered(3, rank),
            multicast=".multicast::cluster" if multicast else "",
            mask=f", ${3 + rank}" if multicast else "",
        )
        instruction(low, text, (*places, *corner, *mask))

    return face.define("tensor_load", 5 + rank + multicast, _any, lower)


def tensor_store(face: Backend, rank: int) -> Any:
    """``tensor_store(p, offset, map, x, ..)``: a box from shared memory."""

    def lower(
        low: Lowering, pointer: Any, offset: Any, tensor_map: Any, *corner: Any
    ) -> None:
        places = _map(low, tensor_map), in_space(low, pointer, offset, SHARED)
        text = _TENSOR_STORE.format(rank=rank, box=_numbered(2, rank))
        instruction(low, text, (*places, *(_coordinate(low, x) for x in corner)))

    return face.define("tensor_store", 3 + rank, _any, lower)


def _any(*arguments: Any) -> Any:
    return signature(types.void, *arguments)


def _map(low: Lowering, pointer: Any) -> Any:
    return in_space(low, pointer, I32(0), GLOBAL)


def _coordinate(low: Lowering, number: Any) -> Any:
    return number if number.type == I32 else low.builder.trunc(number, I32)


def _numbered(first: int, count: int) -> str:
    return ", ".join(f"${n}" for n in range(first, first + count))


TENSOR_COPIES = {
    "on_tensor_map": on_map,
    "tensor_load": tensor_load,
    "tensor_store": tensor_store,
}


WARP = 32
_INIT = "mbarrier.init.shared::cta.b64 [$0], 1; fence.mbarrier_init.release.cluster;"
_EXPECT = "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [$0], $1;"
_ARRIVE = "mbarrier.arrive.shared::cta.b64 _, [$0];"
_LOAD = (
    "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    " [$0], [$1], $2, [$3];"
)
_STORE = "cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], $2;"


def factories(face: Backend) -> dict[str, Any]:
    """Intrinsics by name; equal requests give the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


def barriers(face: Backend, count: int) -> Any:
    """``bulk_barriers(p)``: ``count`` mbarriers, each for one thread's arrivals.

    The threads of the block must synchronise before they use them.
    """

    def lower(low: Lowering, pointer: Any) -> None:
        def init(e: Any) -> None:
            instruction(low, _INIT, (in_space(low, pointer, e, SHARED),))

        cooperatively(low, I32(count), I32(1), init)

    def typing_rule(pointer: Any) -> Any:
        return signature(types.void, pointer)

    return face.define(f"bulk_barriers_{count}", 1, typing_rule, lower)


def load(face: Backend, name: str) -> Any:
    """``bulk_load(src, src_off, dst, dst_off, p, i, count, row, src_stride, ..)``.

    ``count`` elements in rows of ``row`` go from global to shared memory, and the ith
    mbarrier counts their bytes.  Stride and run of both sides are as for
    `gpucodegen.intrinsics.cuda.memory.dma_start`.  Rows are distributed over the lanes
    of the first warp; the first lane expects the bytes of all rows.
    """

    def lower(
        low: Lowering,
        src: Any,
        src_off: Any,
        dst: Any,
        dst_off: Any,
        barrier: Any,
        which: Any,
        *sizes: Any,
    ) -> None:
        builder, size = low.builder, I32(element(name).size)
        place = in_space(low, barrier, which, SHARED)
        with builder.if_then(_is_first(low)):
            instruction(low, _EXPECT, (place, builder.mul(sizes[0], size)))

        def move(source: Any, target: Any, nbytes: Any) -> None:
            to, of = (
                in_space(low, dst, target, SHARED),
                in_space(low, src, source, GLOBAL),
            )
            instruction(low, _LOAD, (to, of, nbytes, place))

        _each_row(low, (src_off, dst_off), size, sizes, move)

    return face.define(f"bulk_load_{name}", 12, _moving, lower)


def store(face: Backend, name: str) -> Any:
    """``bulk_store(src, src_off, dst, dst_off, count, row, src_stride, ..)``.

    As `load`, from shared to global memory; the copies that a thread started since its
    last call are a group.
    """

    def lower(
        low: Lowering, src: Any, src_off: Any, dst: Any, dst_off: Any, *sizes: Any
    ) -> None:
        def move(source: Any, target: Any, nbytes: Any) -> None:
            to, of = (
                in_space(low, dst, target, GLOBAL),
                in_space(low, src, source, SHARED),
            )
            instruction(low, _STORE, (to, of, nbytes))

        _each_row(low, (src_off, dst_off), I32(element(name).size), sizes, move)

    return face.define(f"bulk_store_{name}", 10, _moving, lower)


def wait(face: Backend) -> Any:
    """``bulk_wait(p, i, phases)``: waits for the copies so far of the ith mbarrier.

    Bit i of ``phases`` is the parity of its phase; the result has it flipped.
    """

    def lower(low: Lowering, pointer: Any, which: Any, phases: Any) -> Any:
        builder = low.builder
        place = in_space(low, pointer, which, SHARED)
        with builder.if_then(_is_first(low)):
            instruction(low, _ARRIVE, (place,))
        parity = builder.and_(builder.lshr(phases, which), I32(1))
        until_over(low, place, parity)
        return builder.xor(phases, builder.shl(I32(1), which))

    def typing_rule(pointer: Any, _which: Any, _phases: Any) -> Any:
        return signature(types.int32, pointer, types.int32, types.int32)

    return face.define("bulk_wait", 3, typing_rule, lower)


def _moving(*arguments: Any) -> Any:
    """Pointers as they are, numbers as 32 bits."""
    kinds = [a if isinstance(a, types.CPointer) else types.int32 for a in arguments]
    return signature(types.void, *kinds)


def _is_first(low: Lowering) -> Any:
    """Whether the thread is the first one of its block."""
    thread, _ = thread_and_count(low)
    return low.builder.icmp_unsigned("==", thread, I32(0))


def _each_row(
    low: Lowering,
    offsets: tuple[Any, Any],
    size: Any,
    sizes: tuple[Any, ...],
    move: Callable[[Any, Any, Any], None],
) -> None:
    """Distributes rows over the lanes of the first warp; the last may be shorter.

    ``move(source, target, nbytes)`` gets the offsets of a row's first element.
    """
    builder = low.builder
    count, row, *sides = sizes

    def one(e: Any) -> None:
        source = element_offset(low, offsets[0], e, *sides[:2])
        target = element_offset(low, offsets[1], e, *sides[2:])
        left = builder.sub(count, e)
        held = builder.select(builder.icmp_signed("<", row, left), row, left)
        move(source, target, builder.mul(held, size))

    cooperatively(low, count, row, one, WARP)


MADE = {
    "bulk_barriers": barriers,
    "bulk_load": load,
    "bulk_store": store,
    "bulk_wait": wait,
}
