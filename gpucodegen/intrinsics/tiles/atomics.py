"""Atomic read-modify-write of one element."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import (
    I64,
    Face,
    Lowering,
    carrier,
    is_pointer,
    signature,
)
from gpucodegen.intrinsics.scalars.elementwise import ELEMENTWISE
from gpucodegen.intrinsics.tiles.atomic_words import Word, place_in, word_of

DIRECT = {
    "addi": "add",
    "maxsi": "max",
    "minsi": "min",
    "maxui": "umax",
    "minui": "umin",
    "andi": "and",
    "ori": "or",
    "xori": "xor",
}
"""Operations on integers that LLVM has as an atomic instruction; others swap."""

EXCHANGED = "assign"
"""What takes the new value over, whatever was there."""


def atomic(face: Face, operation: str, name: str, space: str = "") -> Any:
    """``atomic(p, i, x)``: combine ``x`` into an element, return the old value.

    ``space``: the address space in which the element lies, as PTX names it.
    """
    dtype = carrier(name)

    def typing_rule(p: Any, i: Any, _x: Any) -> Any:
        return signature(dtype, p, i, dtype) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any, x: Any) -> Any:
        word = word_of(face, low, name, p, i, space)
        if word.shift is not None:
            return _swap_loop(word, x, operation)
        if operation in DIRECT and name != "i1":
            return low.builder.atomic_rmw(DIRECT[operation], word.cell, x, "monotonic")
        if operation == EXCHANGED:
            new = word.coding.code(x)
            old = low.builder.atomic_rmw("xchg", word.cell, new, "monotonic")
            return word.value(old)
        if operation == "addf" and face.is_gpu:
            return _hardware_sum(low, place_in(low, p, i, space), x, space)
        return _swap_loop(word, x, operation)

    hint = "_".join(filter(None, ("atomic", operation, name, space)))
    return face.define(hint, 3, typing_rule, lower)


def _combined(low: Lowering, old: Any, x: Any, operation: str) -> Any:
    return x if operation == EXCHANGED else ELEMENTWISE[operation][1](low, old, x)


def _hardware_sum(low: Lowering, place: Any, x: Any, space: str) -> Any:
    """``atom.add`` of floats; ptxas makes it ``red`` where the old value is unused."""
    address = low.builder.ptrtoint(place, I64)
    kind, register = ("f32", "f") if str(x.type) == "float" else ("f64", "d")
    return low.builder.asm(
        ir.FunctionType(x.type, [I64, x.type]),
        f"{'.'.join(filter(None, ('atom', space, 'add', kind)))} $0, [$1], $2;",
        f"={register},l,{register},~{{memory}}",
        [address, x],
        side_effect=True,
    )


def _swap_loop(word: Word, x: Any, operation: str) -> Any:
    """Compare and swap until nothing came between; the old value."""
    low = word.coding.low
    builder = low.builder
    first = word.read()
    entry = builder.block
    loop, done = (builder.append_basic_block(f"atomic_{s}") for s in ("try", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    old = builder.phi(first.type)
    old.add_incoming(first, entry)
    value = word.value(old)
    new = word.merged(old, _combined(low, value, x, operation))
    seen, swapped = word.exchange(old, new)
    old.add_incoming(seen, builder.block)
    builder.cbranch(swapped, done, loop)
    builder.position_at_end(done)
    return value
