"""Signals during a loop: Python handles them between units, and may end the loop.

Python runs the handlers of signals in its main thread, between two of its instructions,
so not while a kernel runs.  That thread therefore asks Python between units of its
loops, ten times a second.  If a handler raises (Ctrl-C: `KeyboardInterrupt`), the units
that no thread has begun are left undone, the kernel returns, and Python raises the same
exception once it goes on: what it raised is kept, and given back by a *pending call*.

Shorter kernels never ask, and a loop whose first piece is short does so once.  A loop
that runs as one piece is not interrupted.
"""

from __future__ import annotations

from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.python import (
    check_signals,
    clock,
    enter,
    fetch,
    interrupt,
    leave,
    pend,
    restore,
    this_thread,
)
from gpucodegen.intrinsics.pool.words import load, store

MAIN, STOPPED = layout.MAIN, layout.STOPPED
SEEN, ASKED = layout.SEEN, layout.ASKED
OFTEN = 100_000_000
"""Nanoseconds between two questions, which may have to wait for other threads."""
APART = 50_000_000
"""Nanoseconds without a loop after which the next one belongs to another kernel."""
SHORT = 2_000_000
"""Nanoseconds of the first piece of a loop that is not watched any more."""


def watched_from() -> int:
    """The time, for a loop that begins here and now and may end early; 0 for others."""
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
    """Ask if it is time to."""
    if now - load(ASKED) > OFTEN:
        ask()
        store(ASKED, clock())


def ask() -> None:
    """Run the handlers of signals that came; keep what one of them raises.

    If Python cannot be told now, the signal of Ctrl-C is taken to have come again.
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
    """The pending call: raise what was kept."""
    store(STOPPED, 0)
    restore()
    return -1
