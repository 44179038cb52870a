"""Atomic read-modify-write of one element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.lowering import (
    I1,
    I8,
    I32,
    I64,
    Face,
    Lowering,
    carrier,
    is_pointer,
    signature,
)
from gpucodegen.intrinsics.framework.vector_type import llvm_scalar
from gpucodegen.intrinsics.scalars.elementwise import ELEMENTWISE
from gpucodegen.intrinsics.scalars.narrow import bits_type, narrow, widen
from gpucodegen.intrinsics.tiles import memory
from gpucodegen.ir.data.float_formats import NARROW

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


@dataclass(frozen=True, slots=True)
class _Coding:
    """The integer that an element is in memory."""

    low: Lowering
    name: str

    @property
    def type(self) -> Any:
        """As wide as the element in memory."""
        if self.name in NARROW:
            return bits_type(self.name)
        if self.name == "i1":
            return I8
        scalar = llvm_scalar(carrier(self.name))
        return ir.IntType(_WIDTHS.get(str(scalar)) or scalar.width)

    def value(self, code: Any) -> Any:
        """The element that an integer stands for."""
        builder = self.low.builder
        if self.name in NARROW:
            return widen(self.low, code, self.name)
        if self.name == "i1":
            return builder.trunc(code, I1)
        return builder.bitcast(code, llvm_scalar(carrier(self.name)))

    def code(self, value: Any) -> Any:
        """The integer of an element."""
        builder = self.low.builder
        if self.name in NARROW:
            return narrow(self.low, value, self.name)
        if self.name == "i1":
            return builder.zext(value, I8)
        return builder.bitcast(value, self.type)


_WIDTHS = {"float": 32, "double": 64}


def atomic(face: Face, operation: str, name: str) -> Any:
    """``atomic(p, i, x)``: combine ``x`` into an element, return the old value."""
    dtype = carrier(name)

    def typing_rule(p: Any, i: Any, _x: Any) -> Any:
        return signature(dtype, p, i, dtype) if is_pointer(p) else None

    def lower(low: Lowering, p: Any, i: Any, x: Any) -> Any:
        place, coding = memory.address(low, p, i), _Coding(low, name)
        cell = low.builder.bitcast(place, ir.PointerType(coding.type))
        if coding.type.width < face.atomic_bits:
            return _swap_part(coding, place, x, operation)
        if operation in DIRECT and name != "i1":
            return low.builder.atomic_rmw(DIRECT[operation], cell, x, "monotonic")
        if operation == EXCHANGED:
            new = coding.code(x)
            old = low.builder.atomic_rmw("xchg", cell, new, "monotonic")
            return coding.value(old)
        if operation == "addf" and face.is_gpu:
            return _hardware_sum(low, place, x)
        return _swap_whole(coding, cell, x, operation)

    return face.define(f"atomic_{operation}_{name}", 3, typing_rule, lower)


def _combined(low: Lowering, old: Any, x: Any, operation: str) -> Any:
    return x if operation == EXCHANGED else ELEMENTWISE[operation][1](low, old, x)


def _hardware_sum(low: Lowering, place: Any, x: Any) -> Any:
    """``atom.add`` of floats; ptxas makes it ``red`` where the old value is unused."""
    address = low.builder.ptrtoint(place, I64)
    kind, register = ("f32", "f") if str(x.type) == "float" else ("f64", "d")
    return low.builder.asm(
        ir.FunctionType(x.type, [I64, x.type]),
        f"atom.add.{kind} $0, [$1], $2;",
        f"={register},l,{register},~{{memory}}",
        [address, x],
        side_effect=True,
    )


def _swap_whole(coding: _Coding, cell: Any, x: Any, operation: str) -> Any:
    """One element; its neighbours stay untouched."""

    def update(old: Any) -> tuple[Any, Any]:
        value = coding.value(old)
        return value, coding.code(_combined(coding.low, value, x, operation))

    return _swap_loop(coding.low, cell, update)


def _swap_part(coding: _Coding, place: Any, x: Any, operation: str) -> Any:
    """A narrow element inside the aligned word of 32 bits around it."""
    builder = coding.low.builder
    address = builder.ptrtoint(place, I64)
    start = builder.and_(address, ir.Constant(I64, -4))
    cell = builder.inttoptr(start, ir.PointerType(I32))
    part = builder.trunc(builder.and_(address, ir.Constant(I64, 3)), I32)
    shift = builder.shl(part, ir.Constant(I32, 3))
    ones = ir.Constant(I32, (1 << coding.type.width) - 1)
    others = builder.not_(builder.shl(ones, shift))

    def update(old: Any) -> tuple[Any, Any]:
        value = coding.value(builder.trunc(builder.lshr(old, shift), coding.type))
        new = coding.code(_combined(coding.low, value, x, operation))
        placed = builder.shl(builder.zext(new, I32), shift)
        return value, builder.or_(builder.and_(old, others), placed)

    return _swap_loop(coding.low, cell, update)


def _swap_loop(low: Lowering, cell: Any, update: Callable[[Any], Any]) -> Any:
    """Compare and swap until nothing came between; ``update`` gives (old, new bits)."""
    builder = low.builder
    size = cell.type.pointee.width // 8
    first = builder.load_atomic(cell, "monotonic", size)  # a plain load would race
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
