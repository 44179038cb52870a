"""Thread placement: workers stay off the caller's core, within its allowed cores.

A system that wakes a thread tends to put it beside the thread that woke it.  The caller
is always running there, so a worker on its core only takes turns with it. The allowed
cores may change at any time (``taskset -p``), so the caller looks again every `SELDOM`
jobs, and when it finds itself on another core. While the caller sleeps its core is
free, and a worker whose core is taken can go on there.
"""

from __future__ import annotations

from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.primitives import core, load, look, move, ones, store

CORE, ALLOWED, MASK, LINE = layout.CORE, layout.ALLOWED, layout.MASK, layout.LINE
NO_CORE, SHARES, BUSY = layout.NO_CORE, layout.SHARES, layout.BUSY
MOST_THREADS = layout.MOST_THREADS
CORES, LOOKS, CROWDED = layout.CORES, layout.LOOKS, layout.CROWDED
WORD_BITS = 64
SELDOM = 64
"""Jobs after which the caller reads its allowed cores again."""


def usable(workers: int) -> int:
    """The number of threads that may share a job; moves workers to allowed cores."""
    here, turn = core(), load(LOOKS)
    has_moved = here != load(CORE)
    is_time = here >= 0 and (has_moved or turn & (SELDOM - 1) == 0)
    if is_time and (looked() or has_moved):
        keep_off(workers)
    store(LOOKS, turn + 1)
    if load(CORES) == 0 or load(CROWDED):
        return MOST_THREADS
    return load(CORES)


def looked() -> int:
    """Reads the allowed cores of this thread; 1 if they have changed."""
    if look():
        return 0
    count, changed = 0, 0
    for word in range(LINE):
        cores = load(MASK + word)
        changed |= cores != load(ALLOWED + word)
        store(ALLOWED + word, cores)
        count += ones(cores)
    store(CORES, count)
    return changed


def keep_off(workers: int) -> None:
    """Moves workers off this thread's core."""
    here = core()
    store(CORE, here)
    if here >= 0 and all_but(here):
        for thread in range(1, workers + 1):
            move(thread)


def lend_core(workers: int) -> None:
    """Lets a busy worker use this thread's core until the next job."""
    here, thread = core(), 1
    while thread <= workers and load(SHARES + LINE * thread + BUSY) == 0:
        thread += 1
    if here >= 0 and thread <= workers:
        store(CORE, NO_CORE)
        if all_but(here):
            only(here)
            move(thread)


def all_but(here: int) -> bool:
    """Puts the allowed cores except one in ``MASK``; whether there are any."""
    found = 0
    for word in range(LINE):
        cores = load(ALLOWED + word) & ~bit_of(here, word)
        store(MASK + word, cores)
        found |= cores
    return found != 0


def only(here: int) -> None:
    """Puts one core in ``MASK``."""
    for word in range(LINE):
        store(MASK + word, bit_of(here, word))


def bit_of(here: int, word: int) -> int:
    """The bits of a core in a word of a set."""
    if word == here // WORD_BITS:
        return 1 << here % WORD_BITS
    return 0
