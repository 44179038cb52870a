"""Atomic read-modify-write of one element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics import memory
from gpucodegen.intrinsics.elementwise import ELEMENTWISE
from gpucodegen.intrinsics.lowering import (
    I32,
    I64,
    Engine,
    Lowering,
    carrier,
    is_pointer,
    signature,
)
from gpucodegen.intrinsics.narrow import bits_type, narrow, widen
from gpucodegen.intrinsics.vector_type import llvm_scalar
from gpucodegen.ir.float_formats import NARROW

DIRECT = {
    "addi": "add",
    "maxs": "max",
    "mins": "min",
    "maxu": "umax",
    "minu": "umin",
    "andi": "and",
    "ori": "or",
    "xori": "xor",
}
"""memref.atomic_rmw kinds with an instruction of their own."""

LOOPED = {
    "addf": "addf",
    "mulf": "mulf",
    "muli": "muli",
    "maximumf": "maximumf",
    "minimumf": "minimumf",
    "maxnumf": "maxnumf",
    "minnumf": "minnumf",
}
"""Kinds done by compare-and-swap, with the operation that combines."""


def atomic(engine: Engine, kind: str, name: str) -> Any:
    """``atomic(p, i, x)``: combine ``x`` into an element, return the old value."""
    dtype = carrier(name)

    def typing_rule(p: Any, i: Any, _x: Any) -> Any:
        return signature(dtype, p, i, dtype) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any, x: Any) -> Any:
        place = memory.address(low, p, i)
        if name in NARROW:
            return _swap_part(low, place, x, kind, name)
        if kind in DIRECT:
            return low.builder.atomic_rmw(DIRECT[kind], place, x, "monotonic")
        return _swap_whole(low, place, x, kind)

    return engine.define(f"atomic_{kind}_{name}", 3, typing_rule, lower)


def _combined(low: Lowering, old: Any, x: Any, kind: str) -> Any:
    return x if kind == "assign" else ELEMENTWISE[LOOPED[kind]][1](low, old, x)


def _swap_whole(low: Lowering, place: Any, x: Any, kind: str) -> Any:
    builder, ty = low.builder, x.type
    bits = ir.IntType(64 if str(ty) == "double" else _width(ty))

    def update(old: Any) -> tuple[Any, Any]:
        value = builder.bitcast(old, ty)
        return value, builder.bitcast(_combined(low, value, x, kind), bits)

    return _swap_loop(low, builder.bitcast(place, ir.PointerType(bits)), update)


def _swap_part(low: Lowering, place: Any, x: Any, kind: str, name: str) -> Any:
    """One narrow float inside the aligned word of 32 bits around it."""
    builder = low.builder
    address = builder.ptrtoint(place, I64)
    start = builder.and_(address, ir.Constant(I64, -4))
    cell = builder.inttoptr(start, ir.PointerType(I32))
    part = builder.trunc(builder.and_(address, ir.Constant(I64, 3)), I32)
    shift = builder.shl(part, ir.Constant(I32, 3))
    code_type = bits_type(name)
    ones = ir.Constant(I32, (1 << code_type.width) - 1)
    others = builder.not_(builder.shl(ones, shift))

    def update(old: Any) -> tuple[Any, Any]:
        code = builder.trunc(builder.lshr(old, shift), code_type)
        value = widen(low, code, name)
        new = builder.zext(narrow(low, _combined(low, value, x, kind), name), I32)
        return value, builder.or_(builder.and_(old, others), builder.shl(new, shift))

    return _swap_loop(low, cell, update)


def _swap_loop(low: Lowering, cell: Any, update: Callable[[Any], Any]) -> Any:
    """Compare and swap until nobody came between; ``update`` gives (old, new bits)."""
    builder = low.builder
    first = builder.load(cell)
    entry = builder.block
    loop, done = (builder.append_basic_block(f"atomic_{s}") for s in ("try", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    old = builder.phi(first.type)
    old.add_incoming(first, entry)
    value, new = update(old)
    outcome = builder.cmpxchg(cell, old, new, "monotonic", "monotonic")
    old.add_incoming(builder.extract_value(outcome, 0), builder.block)
    builder.cbranch(builder.extract_value(outcome, 1), done, loop)
    builder.position_at_end(done)
    return value


def _width(ty: ir.Type) -> int:
    return 32 if str(ty) == "float" else ty.width


def scalar_type(name: str) -> ir.Type:
    """The LLVM type that an atomic of an element type works on."""
    return llvm_scalar(carrier(name))
