"""POSIX threads, as the pool's code calls them: starting, sleeping, waking."""

from __future__ import annotations

import signal
import sys
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cpu_engine import ENGINE
from gpucodegen.intrinsics.lowering import I1, I8, I32, I64, Lowering, number, signature
from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.words import WORD, place

ADDRESS = I8.as_pointer()
MASK_BYTES = 8 * layout.LINE


def _address(low: Lowering, word: int) -> Any:
    return low.builder.bitcast(place(low, number(I64, word)), ADDRESS)


def _calls(name: str, *words: int) -> Any:
    """``name()``: a function of C on the things that lie at these words."""

    def lower(low: Lowering) -> None:
        low.call(name, I32, [_address(low, word) for word in words])

    return ENGINE.define(name, 0, lambda: signature(types.void), lower)


lock = _calls("pthread_mutex_lock", layout.MUTEX)
"""``lock()``: only sleepers and those who wake them do."""
unlock = _calls("pthread_mutex_unlock", layout.MUTEX)
sleep = _calls("pthread_cond_wait", layout.SIGNAL, layout.MUTEX)
"""``sleep()``, locked, until somebody wakes."""
wake_all = _calls("pthread_cond_broadcast", layout.SIGNAL)
yield_core = _calls("sched_yield")
"""``yield_core()`` to whoever waits for it."""


def _start(low: Lowering, thread: Any) -> Any:
    """Signals are for the caller's thread: the new one has them blocked."""
    builder = low.builder
    none, every = ir.Constant(ADDRESS, None), _address(low, layout.MASK)
    before = _address(low, layout.KEPT)
    fill = (every, number(I8, -1), number(I64, MASK_BYTES), ir.Constant(I1, 0))
    low.call("llvm.memset.p0.i64", ir.VoidType(), fill)
    how = number(I32, signal.SIG_SETMASK)
    low.call("pthread_sigmask", I32, [how, every, before])
    code = builder.load(place(low, number(I64, layout.WORKER)))
    arguments = [
        builder.bitcast(_handle(low, thread), ADDRESS),
        _address(low, layout.ATTRIBUTES),
        builder.inttoptr(code, ADDRESS),
        builder.inttoptr(thread, ADDRESS),
    ]
    failed = low.call("pthread_create", I32, arguments)
    low.call("pthread_sigmask", I32, [how, before, none])
    return builder.zext(failed, I64)


def _handle(low: Lowering, thread: Any) -> Any:
    line = low.builder.mul(thread, number(I64, layout.LINE))
    first = number(I64, layout.SHARES + layout.HANDLE)
    return place(low, low.builder.add(first, line))


start = ENGINE.define("start", 1, lambda _: signature(WORD, WORD), _start)
"""``start(number)``: a worker of that number; 0, or why there is none."""


def _core(low: Lowering) -> Any:
    """Only Linux lets a thread have another moved."""
    if sys.platform != "linux":
        return number(I64, -1)
    return low.builder.sext(low.call("sched_getcpu", I32, []), I64)


def _move(low: Lowering, thread: Any) -> None:
    if sys.platform == "linux":
        handle = low.builder.load(_handle(low, thread))
        cores = [number(I64, MASK_BYTES), _address(low, layout.MASK)]
        low.call("pthread_setaffinity_np", I32, [handle, *cores])


core = ENGINE.define("core", 0, lambda: signature(WORD), _core)
"""``core()`` that this thread runs on; -1 where nobody tells."""
move = ENGINE.define("move", 1, lambda _: signature(types.void, WORD), _move)
"""``move(thread)`` to the cores of `layout.MASK`."""
