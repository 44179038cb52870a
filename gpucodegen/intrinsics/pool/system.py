"""POSIX threads, as the pool's code calls them: starting, sleeping, waking."""

from __future__ import annotations

import signal
from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cpu_engine import ENGINE
from gpucodegen.intrinsics.lowering import I1, I8, I32, I64, Lowering, number, signature
from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.words import WORD, place

ADDRESS = I8.as_pointer()


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
    builder, void = low.builder, ir.VoidType()
    none, every = ir.Constant(ADDRESS, None), _address(low, layout.MASKS)
    before = _address(low, layout.MASKS + layout.LINE)
    fill = (every, number(I8, -1), number(I64, 8 * layout.LINE), ir.Constant(I1, 0))
    low.call("llvm.memset.p0.i64", void, fill)
    how = number(I32, signal.SIG_SETMASK)
    low.call("pthread_sigmask", I32, [how, every, before])
    code = builder.load(place(low, number(I64, layout.WORKER)))
    failed = low.call(
        "pthread_create",
        I32,
        [
            builder.bitcast(builder.alloca(I64), ADDRESS),
            _address(low, layout.ATTRIBUTES),
            builder.inttoptr(code, ADDRESS),
            builder.inttoptr(thread, ADDRESS),
        ],
    )
    low.call("pthread_sigmask", I32, [how, before, none])
    return builder.zext(failed, I64)


start = ENGINE.define("start", 1, lambda _: signature(WORD, WORD), _start)
"""``start(number)``: a worker of that number; 0, or why there is none."""
