"""Signals during a parallel loop: Python handles them between units, and may end it.

Python runs signal handlers in its main thread, between two of its instructions, so not
while a kernel runs.  That thread therefore polls Python between units of its loops, ten
times a second.  If a handler raises (Ctrl-C: `KeyboardInterrupt`), the units that no
thread has begun are left undone, the kernel returns, and Python raises the same
exception once it goes on: the exception is kept, and restored by a *pending call*.
Shorter kernels never poll, and a loop whose first piece is short does so once.  A loop
that runs as one piece is not interrupted.
"""

from __future__ import annotations

import sys
from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.native import (
    I8,
    I32,
    VOID,
    WORD,
    Code,
    Instruction,
    word,
)
from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.primitives import load, place, store

ADDRESS = I8.as_pointer()
CLOCK = {"linux": 6, "darwin": 5}.get(sys.platform, 0)
"""A coarse clock: fast to read, it advances every few milliseconds."""
SECOND = 1_000_000_000


def _clock(code: Code) -> Any:
    """``struct timespec`` is seconds and nanoseconds."""
    builder, slot = code.builder, code.slot(ir.ArrayType(WORD, 2))
    code.call("clock_gettime", I32, [ir.Constant(I32, CLOCK), slot])
    seconds, rest = (
        builder.load(builder.gep(slot, [word(0), word(part)])) for part in (0, 1)
    )
    return builder.add(builder.mul(seconds, word(SECOND)), rest)


def _raised(code: Code) -> list[Any]:
    return [place(code, word(layout.RAISED + part)) for part in range(3)]


def _fetch(code: Code) -> None:
    code.call("PyErr_Fetch", VOID, _raised(code))


def _restore(code: Code) -> None:
    code.call("PyErr_Restore", VOID, [code.builder.load(p) for p in _raised(code)])


def _pend(code: Code) -> Any:
    function = code.builder.module.globals[layout.RAISE]
    given = [code.builder.bitcast(function, ADDRESS), ir.Constant(ADDRESS, None)]
    return code.builder.sext(code.call("Py_AddPendingCall", I32, given), WORD)


def _number(name: str) -> Any:
    """``name()``, which returns a C ``int``."""
    return Instruction(lambda code: code.builder.sext(code.call(name, I32, []), WORD))


def _leave(code: Code, before: Any) -> None:
    state = code.builder.trunc(before, I32)
    code.call("PyGILState_Release", VOID, [state])


clock = Instruction(_clock)
"""``clock()``: nanoseconds."""
this_thread = Instruction(lambda code: code.call("pthread_self", WORD, []))
"""``this_thread()``, as `threading.get_ident` has it."""
enter = _number("PyGILState_Ensure")
"""``enter()`` acquires the interpreter lock; its result is the operand of `leave`."""
leave = Instruction(_leave)
check_signals = _number("PyErr_CheckSignals")
"""``check_signals()``: run handlers; -1 if one raised."""
interrupt = Instruction(lambda code: code.call("PyErr_SetInterrupt", VOID, []))
"""``interrupt()`` simulates SIGINT."""
fetch = Instruction(_fetch)
"""``fetch()`` moves the current exception into `layout.RAISED`."""
restore = Instruction(_restore)
"""``restore()`` raises the exception in `layout.RAISED`."""
pend = Instruction(_pend)
"""``pend()``: have Python call `layout.RAISE` in its main thread; 0 if it will."""


MAIN, STOPPED = layout.MAIN, layout.STOPPED
SEEN, ASKED = layout.SEEN, layout.ASKED
OFTEN = 100_000_000
"""Nanoseconds between two polls of Python, which may wait for the interpreter lock."""
APART = 50_000_000
"""Nanoseconds without a loop after which the next one belongs to another kernel."""
SHORT = 2_000_000
"""Nanoseconds of the first piece of a loop that is not watched any more."""


def watched_from() -> int:
    """The time, for an interruptible loop that begins here and now; else 0."""
    if this_thread() != load(MAIN):
        return 0
    now = clock()
    if now - load(SEEN) > APART:
        store(ASKED, now)
    ask_at(now)
    return now


def watched(start: int) -> int:
    """``start`` again after a piece of a loop; 0 if it was short, as others will be."""
    now = clock()
    if now - start < SHORT:
        return 0
    ask_at(now)
    return start


def unwatched() -> None:
    """A loop of the main thread ends."""
    store(SEEN, clock())


def is_stopped_here() -> int:
    """Whether a handler raised in this thread, and Python does not have it yet."""
    return load(STOPPED) and this_thread() == load(MAIN)


def ask_at(now: int) -> None:
    """Polls if it is time to."""
    if now - load(ASKED) > OFTEN:
        ask()
        store(ASKED, clock())


def ask() -> None:
    """Runs the handlers of pending signals; keeps an exception that one raises.

    If the pending call cannot be queued, SIGINT is raised again.
    """
    before = enter()
    if check_signals():
        fetch()
        if pend():
            restore()
            interrupt()
        else:
            store(STOPPED, 1)
    leave(before)


def raise_kept(_argument: int) -> int:
    """The pending call: raises the kept exception."""
    store(STOPPED, 0)
    restore()
    return -1
