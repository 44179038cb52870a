"""POSIX threads, as the pool's code calls them: starting, sleeping, waking."""

from __future__ import annotations

import signal
import sys
from typing import Any

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
from gpucodegen.intrinsics.pool.words import place

ADDRESS = I8.as_pointer()
MASK_BYTES = 8 * layout.LINE


def _address(code: Code, index: int) -> Any:
    return code.builder.bitcast(place(code, word(index)), ADDRESS)


def _calls(name: str, *indices: int) -> Any:
    """``name()``: a function of C on the things that lie at these words."""

    def lower(code: Code) -> None:
        code.call(name, I32, [_address(code, index) for index in indices])

    return Instruction(lower)


lock = _calls("pthread_mutex_lock", layout.MUTEX)
"""``lock()``: only those who sleep and those who wake them do."""
unlock = _calls("pthread_mutex_unlock", layout.MUTEX)
sleep = _calls("pthread_cond_wait", layout.SIGNAL, layout.MUTEX)
"""``sleep()``, locked, until another thread wakes it."""
wake_all = _calls("pthread_cond_broadcast", layout.SIGNAL)
sleep_until_done = _calls("pthread_cond_wait", layout.FINISHED, layout.MUTEX)
"""The same of the caller."""
wake_caller = _calls("pthread_cond_signal", layout.FINISHED)


def _start(code: Code, thread: Any) -> Any:
    """Signals are for the caller's thread: the new one has them blocked."""
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
    """Only Linux lets a thread have another moved."""
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
