"""Words that threads share, and what a processor offers to those that wait for them.

All but `store` is ordered as if the threads took turns (sequentially consistent); what
was stored before a `store` is seen by whoever loads its word.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cpu_engine import ENGINE
from gpucodegen.intrinsics.lowering import I32, I64, Lowering, number, signature
from gpucodegen.intrinsics.pool.layout import MEMORY

ORDER = "seq_cst"
WORD = types.int64
BYTES = 8
WHOLE_SYSTEM = 15
"""The only operand that ``isb`` has."""
PROCESSOR = llvm.get_process_triple().partition("-")[0].replace("arm64", "aarch64")


def place(low: Lowering, index: Any) -> Any:
    """The address of a word of the pool."""
    module = low.builder.module
    memory = module.globals.get(MEMORY) or ir.GlobalVariable(module, I64, MEMORY)
    return low.builder.gep(memory, [index])


def _load(low: Lowering, index: Any) -> Any:
    return low.builder.load_atomic(place(low, index), ORDER, BYTES)


def _store(low: Lowering, index: Any, value: Any) -> None:
    low.builder.store_atomic(value, place(low, index), "release", BYTES)


def _swap(low: Lowering, index: Any, value: Any) -> Any:
    return low.builder.atomic_rmw("xchg", place(low, index), value, ORDER)


def _add(low: Lowering, index: Any, value: Any) -> Any:
    return low.builder.atomic_rmw("add", place(low, index), value, ORDER)


def _replace(low: Lowering, index: Any, old: Any, new: Any) -> Any:
    made = low.builder.cmpxchg(place(low, index), old, new, ORDER)
    return low.builder.zext(low.builder.extract_value(made, 1), I64)


def _define(name: str, arity: int, build: Any, result: Any = WORD) -> Any:
    words = [WORD] * arity
    return ENGINE.define(name, arity, lambda *_: signature(result, *words), build)


load = _define("load", 1, _load)
"""``load(index)``."""
store = _define("store", 2, _store, types.void)
"""``store(index, value)``."""
swap = _define("swap", 2, _swap)
"""``swap(index, value)``: store it and return what was there."""
add = _define("add", 2, _add)
"""``add(index, value)``: the sum is stored, what was there returned."""
replace = _define("replace", 3, _replace)
"""``replace(index, old, new)``: 1 if the word was ``old`` and is ``new`` now."""


def _pause(low: Lowering) -> None:
    """Takes some ten cycles or more and leaves the core's units to others."""
    if PROCESSOR == "x86_64":
        low.call("llvm.x86.sse2.pause", ir.VoidType(), [])
    elif PROCESSOR == "aarch64":
        low.call("llvm.aarch64.isb", ir.VoidType(), [number(I32, WHOLE_SYSTEM)])


pause = _define("pause", 0, _pause, types.void)
"""``pause()`` between two looks at a word."""


def _call(low: Lowering, *arguments: Any) -> None:
    work, begin, end, data = arguments
    function = ir.FunctionType(ir.VoidType(), [I64] * 3)
    target = low.builder.inttoptr(work, function.as_pointer())
    low.builder.call(target, [begin, end, data])


call = _define("call", 4, _call, types.void)
"""``call(work, begin, end, data)``: the function at an address."""

X86_FLAGS = 0x3F
"""Bits that tell what happened, not what shall happen."""


def _mode(low: Lowering) -> Any:
    builder = low.builder
    if PROCESSOR == "x86_64":
        slot = builder.alloca(I32)
        low.call("llvm.x86.sse.stmxcsr", ir.VoidType(), [slot])
        kept = builder.and_(builder.load(slot), number(I32, ~X86_FLAGS))
        return builder.zext(kept, I64)
    if PROCESSOR == "aarch64":
        return low.call("llvm.aarch64.get.fpcr", I64, [])
    return number(I64, 0)


def _set_mode(low: Lowering, mode: Any) -> None:
    builder = low.builder
    if PROCESSOR == "x86_64":
        slot = builder.alloca(I32)
        builder.store(builder.trunc(mode, I32), slot)
        low.call("llvm.x86.sse.ldmxcsr", ir.VoidType(), [slot])
    elif PROCESSOR == "aarch64":
        low.call("llvm.aarch64.set.fpcr", ir.VoidType(), [mode])


mode = _define("mode", 0, _mode)
"""``mode()``: how this thread rounds, and whether it flushes denormal numbers."""
set_mode = _define("set_mode", 1, _set_mode, types.void)
"""``set_mode(m)``: as another thread does."""
