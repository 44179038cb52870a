"""All blocks of a launch meet: a word of global memory counts who has come.

The first block adds 2**31 - (blocks - 1), every other one 1.  So the word's highest bit
changes when all have come, and the bits below are 0 again, as the next meeting needs
them.  One thread of each block adds with release semantics and reads with acquire
semantics at the scope of the device; the barriers of its block before and after it make
that an order of all threads (PTX ISA, memory consistency model: causality order).  This
is how the grid group of CUDA's cooperative groups meets.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache, partial, reduce
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cuda.threads import register
from gpucodegen.intrinsics.framework.lowering import (
    I32,
    I64,
    Face,
    Lowering,
    is_pointer,
    signature,
)

HIGHEST = 1 << 31
"""The bit that changes when all blocks have come."""


def factories(face: Face) -> dict[str, Any]:
    """By name; the same request gives the same intrinsic."""
    return {name: cache(partial(make, face)) for name, make in MADE.items()}


def meet_grid(face: Face) -> Any:
    """``meet_grid(p)``: wait for all threads of all blocks at the word ``p``."""

    def lower(low: Lowering, pointer: Any) -> None:
        builder = low.builder
        low.call("llvm.nvvm.barrier0", ir.VoidType(), ())
        first = builder.icmp_unsigned("==", _sum(low, "tid"), I32(0))
        with builder.if_then(first, likely=False):
            _wait(low, builder.ptrtoint(pointer, I64))
        low.call("llvm.nvvm.barrier0", ir.VoidType(), ())

    def typing_rule(pointer: Any) -> Any:
        return signature(types.void, pointer) if is_pointer(pointer) else None

    return face.define("meet_grid", 1, typing_rule, lower)


def _wait(low: Lowering, address: Any) -> None:
    """Come, and wait until the highest bit has changed."""
    builder = low.builder
    blocks = reduce(builder.mul, _each(low, "nctaid"))
    others = builder.sub(blocks, I32(1))
    is_first = builder.icmp_unsigned("==", _sum(low, "ctaid"), I32(0))
    share = builder.select(is_first, builder.sub(I32(HIGHEST), others), I32(1))
    old = _instruction(
        low, "atom.add.release.gpu.global.u32 $0, [$1], $2;", [address, share]
    )
    again, done = (builder.append_basic_block(f"meet_{s}") for s in ("wait", "done"))
    builder.branch(again)
    builder.position_at_end(again)
    now = _instruction(low, "ld.acquire.gpu.global.u32 $0, [$1];", [address])
    changed = builder.and_(builder.xor(old, now), I32(HIGHEST))
    builder.cbranch(builder.icmp_unsigned("==", changed, I32(0)), again, done)
    builder.position_at_end(done)


def _each(low: Lowering, special: str) -> list[Any]:
    return [register(low, f"{special}.{dimension}") for dimension in "xyz"]


def _sum(low: Lowering, special: str) -> Any:
    """Zero for the first thread or block only."""
    return reduce(low.builder.or_, _each(low, special))


def _instruction(low: Lowering, text: str, arguments: Sequence[Any]) -> Any:
    """One instruction of PTX on a word, an order for all memory."""
    kinds = [argument.type for argument in arguments]
    inputs = ",".join("l" if kind == I64 else "r" for kind in kinds)
    return low.builder.asm(
        ir.FunctionType(I32, kinds),
        text,
        f"=r,{inputs},~{{memory}}",
        arguments,
        side_effect=True,
    )


MADE = {"meet_grid": meet_grid}
