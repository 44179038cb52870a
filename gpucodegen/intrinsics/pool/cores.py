"""Workers stay off the core of the caller.

A system that wakes a thread likes to put it beside the one that woke it.  The caller is
always there, so a worker on its core only takes turns with it.

While the caller sleeps its core is free.  A worker whose own core others have taken can
go on there.
"""

from __future__ import annotations

from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.system import core, move
from gpucodegen.intrinsics.pool.words import load, store

CORE, ALLOWED, MASK, LINE = layout.CORE, layout.ALLOWED, layout.MASK, layout.LINE
NO_CORE, SHARES, BUSY = layout.NO_CORE, layout.SHARES, layout.BUSY
WORD_BITS = 64


def keep_off(workers: int, are_new: bool) -> None:
    """Move workers off this thread's core if it has changed, or if they are new."""
    here = core()
    if here >= 0 and (are_new or here != load(CORE)):
        store(CORE, here)
        if all_but(here):
            for thread in range(1, workers + 1):
                move(thread)


def lend_core(workers: int) -> None:
    """Let a worker that is still busy use this thread's core until the next job."""
    here, thread = core(), 1
    while thread <= workers and load(SHARES + LINE * thread + BUSY) == 0:
        thread += 1
    if here >= 0 and thread <= workers:
        store(CORE, NO_CORE)
        if all_but(here):
            only(here)
            move(thread)


def all_but(here: int) -> bool:
    """Whether there are allowed cores but one; they are in ``MASK``."""
    found = 0
    for word in range(LINE):
        cores = load(ALLOWED + word) & ~bit_of(here, word)
        store(MASK + word, cores)
        found |= cores
    return found != 0


def only(here: int) -> None:
    """One core is in ``MASK``."""
    for word in range(LINE):
        store(MASK + word, bit_of(here, word))


def bit_of(here: int, word: int) -> int:
    """What a word of a set says of a core."""
    if word == here // WORD_BITS:
        return 1 << here % WORD_BITS
    return 0
