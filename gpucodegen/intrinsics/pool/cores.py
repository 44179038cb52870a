"""Workers stay off the core of the caller.

A system that wakes a thread likes to put it beside the one that woke it.  The caller is
always there, so a worker on its core only takes turns with it.
"""

from __future__ import annotations

from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.system import core, move
from gpucodegen.intrinsics.pool.words import load, store

CORE, ALLOWED, MASK, LINE = layout.CORE, layout.ALLOWED, layout.MASK, layout.LINE
WORD_BITS = 64


def keep_off(workers: int, are_new: bool) -> None:
    """Move workers off this thread's core if it has changed, or if they are new."""
    here = core()
    if here >= 0 and (are_new or here != load(CORE)):
        store(CORE, here)
        if has_others(here):
            for thread in range(1, workers + 1):
                move(thread)


def has_others(here: int) -> bool:
    """Whether there are allowed cores but one; they are in ``MASK``."""
    found = 0
    for word in range(LINE):
        cores = load(ALLOWED + word)
        if word == here // WORD_BITS:
            cores &= ~(1 << here % WORD_BITS)
        store(MASK + word, cores)
        found |= cores
    return found != 0
