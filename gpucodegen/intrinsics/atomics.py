"""Atomic read-modify-write of one element."""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics import memory
from gpucodegen.intrinsics.arithmetic import ELEMENTWISE
from gpucodegen.intrinsics.lowering import (
    Engine,
    Lowering,
    carrier,
    is_pointer,
    signature,
)
from gpucodegen.intrinsics.vector_type import llvm_scalar

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
        if kind in DIRECT:
            return low.builder.atomic_rmw(DIRECT[kind], place, x, "monotonic")
        return _compare_and_swap(low, place, x, kind)

    return engine.define(f"atomic_{kind}_{name}", 3, typing_rule, lower)


def _compare_and_swap(low: Lowering, place: Any, x: Any, kind: str) -> Any:
    builder = low.builder
    value_type = x.type
    bits = ir.IntType(64 if str(value_type) == "double" else _width(value_type))
    cell = builder.bitcast(place, ir.PointerType(bits))
    first = builder.load(cell)
    entry = builder.block
    loop, done = (builder.append_basic_block(f"atomic_{s}") for s in ("try", "done"))
    builder.branch(loop)
    builder.position_at_end(loop)
    old = builder.phi(bits)
    old.add_incoming(first, entry)
    value = builder.bitcast(old, value_type)
    new = x if kind == "assign" else ELEMENTWISE[LOOPED[kind]][1](low, value, x)
    outcome = builder.cmpxchg(
        cell, old, builder.bitcast(new, bits), "monotonic", "monotonic"
    )
    old.add_incoming(builder.extract_value(outcome, 0), builder.block)
    builder.cbranch(builder.extract_value(outcome, 1), done, loop)
    builder.position_at_end(done)
    return value


def _width(ty: ir.Type) -> int:
    return 32 if str(ty) == "float" else ty.width


def scalar_type(name: str) -> ir.Type:
    """The LLVM type that an atomic of an element type works on."""
    return llvm_scalar(carrier(name))
