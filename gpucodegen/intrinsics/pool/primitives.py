"""Atomic words, processor hints and POSIX thread calls of the thread pool.

All operations but `store` are sequentially consistent; a `store` is a release: a thread
that loads its word sees all earlier stores.
"""

from __future__ import annotations

import signal
import sys
from typing import Any

import llvmlite.binding as llvm
from llvmlite import ir

from gpucodegen.intrinsics.framework.native import (
    I1,
    I8,
    I32,
    VOID,
    WORD,
    Code,
    Instruction,
    word,
)
from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.layout import MEMORY

ORDER = "seq_cst"
BYTES = 8
WHOLE_SYSTEM = 15
"""The only operand that ``isb`` has."""
PROCESSOR = llvm.get_process_triple().partition("-")[0].replace("arm64", "aarch64")


def place(code: Code, index: Any) -> Any:
    """The address of a word of the pool."""
    module = code.builder.module
    memory = module.globals.get(MEMORY) or ir.GlobalVariable(module, WORD, MEMORY)
    return code.builder.gep(memory, [index])


def _load(code: Code, index: Any) -> Any:
    return code.builder.load_atomic(place(code, index), ORDER, BYTES)


def _store(code: Code, index: Any, value: Any) -> None:
    code.builder.store_atomic(value, place(code, index), "release", BYTES)


def _swap(code: Code, index: Any, value: Any) -> Any:
    return code.builder.atomic_rmw("xchg", place(code, index), value, ORDER)


def _add(code: Code, index: Any, value: Any) -> Any:
    return code.builder.atomic_rmw("add", place(code, index), value, ORDER)


def _replace(code: Code, index: Any, old: Any, new: Any) -> Any:
    made = code.builder.cmpxchg(place(code, index), old, new, ORDER)
    return code.builder.zext(code.builder.extract_value(made, 1), WORD)


def _ones(code: Code, bits: Any) -> Any:
    return code.call("llvm.ctpop.i64", WORD, [bits])


ones = Instruction(_ones)
"""``ones(word)``: how many of its bits are 1."""
load = Instruction(_load)
"""``load(index)``."""
store = Instruction(_store)
"""``store(index, value)``."""
swap = Instruction(_swap)
"""``swap(index, value)``: store it and return what was there."""
add = Instruction(_add)
"""``add(index, value)``: the sum is stored, what was there returned."""
replace = Instruction(_replace)
"""``replace(index, old, new)``: 1 if the word was ``old`` and is ``new`` now."""


def _pause(code: Code) -> None:
    """Takes some ten cycles or more and leaves the core's units to other threads."""
    if PROCESSOR == "x86_64":
        code.call("llvm.x86.sse2.pause", VOID, [])
    elif PROCESSOR == "aarch64":
        code.call("llvm.aarch64.isb", VOID, [ir.Constant(I32, WHOLE_SYSTEM)])


pause = Instruction(_pause)
"""``pause()`` between two polls of a word."""


def _call(code: Code, *arguments: Any) -> None:
    work, begin, end, data = arguments
    function = ir.FunctionType(VOID, [WORD] * 3)
    target = code.builder.inttoptr(work, function.as_pointer())
    code.builder.call(target, [begin, end, data])


call = Instruction(_call)
"""``call(work, begin, end, data)``: the function at an address."""

X86_FLAGS = 0x3F
"""MXCSR status bits, which report exceptions and control nothing."""


def _mode(code: Code) -> Any:
    builder = code.builder
    if PROCESSOR == "x86_64":
        slot = code.slot(I32)
        code.call("llvm.x86.sse.stmxcsr", VOID, [slot])
        kept = builder.and_(builder.load(slot), ir.Constant(I32, ~X86_FLAGS))
        return builder.zext(kept, WORD)
    if PROCESSOR == "aarch64":
        return code.call("llvm.aarch64.get.fpcr", WORD, [])
    return word(0)


def _set_mode(code: Code, mode: Any) -> None:
    builder = code.builder
    if PROCESSOR == "x86_64":
        slot = code.slot(I32)
        builder.store(builder.trunc(mode, I32), slot)
        code.call("llvm.x86.sse.ldmxcsr", VOID, [slot])
    elif PROCESSOR == "aarch64":
        code.call("llvm.aarch64.set.fpcr", VOID, [mode])


mode = Instruction(_mode)
"""``mode()``: the floating-point mode of this thread: rounding, and flushing of
denormals.
"""
set_mode = Instruction(_set_mode)
"""``set_mode(m)`` sets the floating-point mode."""


ADDRESS = I8.as_pointer()
MASK_BYTES = 8 * layout.LINE


def _address(code: Code, index: int) -> Any:
    return code.builder.bitcast(place(code, word(index)), ADDRESS)


def _calls(name: str, *indices: int) -> Any:
    """``name()``: a C function of the objects at these words."""

    def lower(code: Code) -> None:
        code.call(name, I32, [_address(code, index) for index in indices])

    return Instruction(lower)


lock = _calls("pthread_mutex_lock", layout.MUTEX)
"""``lock()``: taken only to sleep and to wake."""
unlock = _calls("pthread_mutex_unlock", layout.MUTEX)
sleep = _calls("pthread_cond_wait", layout.SIGNAL, layout.MUTEX)
"""``sleep()``, locked, until another thread wakes it."""
wake_all = _calls("pthread_cond_broadcast", layout.SIGNAL)
sleep_until_done = _calls("pthread_cond_wait", layout.FINISHED, layout.MUTEX)
"""As `sleep`, for the caller of a job."""
wake_caller = _calls("pthread_cond_signal", layout.FINISHED)


def _start(code: Code, thread: Any) -> Any:
    """The new thread blocks signals, which are for the caller's thread."""
    builder = code.builder
    none, every = ir.Constant(ADDRESS, None), _address(code, layout.MASK)
    before = _address(code, layout.KEPT)
    fill = (every, ir.Constant(I8, -1), word(MASK_BYTES), ir.Constant(I1, 0))
    code.call("llvm.memset.p0.i64", VOID, fill)
    how = ir.Constant(I32, signal.SIG_SETMASK)
    code.call("pthread_sigmask", I32, [how, every, before])
    arguments = [
        builder.bitcast(_handle(code, thread), ADDRESS),
        _address(code, layout.ATTRIBUTES),
        builder.bitcast(builder.module.globals["worker"], ADDRESS),
        builder.inttoptr(thread, ADDRESS),
    ]
    failed = code.call("pthread_create", I32, arguments)
    code.call("pthread_sigmask", I32, [how, before, none])
    return builder.zext(failed, WORD)


def _handle(code: Code, thread: Any) -> Any:
    line = code.builder.mul(thread, word(layout.LINE))
    first = word(layout.SHARES + layout.HANDLE)
    return place(code, code.builder.add(first, line))


start = Instruction(_start)
"""``start(number)``: a worker of that number; 0, or why there is none."""


def _core(code: Code) -> Any:
    """Only Linux allows moving another thread."""
    if sys.platform != "linux":
        return word(-1)
    return code.builder.sext(code.call("sched_getcpu", I32, []), WORD)


def _move(code: Code, thread: Any) -> None:
    if sys.platform == "linux":
        handle = code.builder.load(_handle(code, thread))
        cores = [word(MASK_BYTES), _address(code, layout.MASK)]
        code.call("pthread_setaffinity_np", I32, [handle, *cores])


def _look(code: Code) -> Any:
    if sys.platform != "linux":
        return word(-1)
    mask = [word(MASK_BYTES), _address(code, layout.MASK)]
    failed = code.call("sched_getaffinity", I32, [ir.Constant(I32, 0), *mask])
    return code.builder.sext(failed, WORD)


look = Instruction(_look)
"""``look()``: the cores that this thread may use to `layout.MASK`; 0 if told."""
core = Instruction(_core)
"""``core()`` that this thread runs on; -1 where the system does not tell."""
move = Instruction(_move)
"""``move(thread)`` to the cores of `layout.MASK`."""
