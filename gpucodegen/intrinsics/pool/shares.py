"""Work stealing of the thread pool: each unit of a job is done exactly once.

A job of n iterations has u <= n units; unit k begins with iteration

    k (n // u) + min(k, n mod u)

Each thread has a share, a word (job, first unit, end) that is only ever replaced whole.
Its own thread takes units from the front, other threads steal from the back once their
own are done.  A thread that looks at the share of a later job finds another number
there.
"""

from __future__ import annotations

from gpucodegen.intrinsics.pool.interrupts import watched
from gpucodegen.intrinsics.pool.layout import (
    BUSY,
    COUNT,
    DATA,
    DONE,
    LINE,
    MODE,
    SHARES,
    STOPPED,
    UNIT_BITS,
    UNITS,
    WAITS,
    WORK,
)
from gpucodegen.intrinsics.pool.layout import MOST_UNITS as UNIT_MASK
from gpucodegen.intrinsics.pool.primitives import (
    add,
    call,
    load,
    lock,
    mode,
    replace,
    set_mode,
    store,
    unlock,
    wake_caller,
)

OWN_PART, OTHERS_PART = 8, 2
"""A thread takes an eighth of what is left to it, or half of what another has left."""


def packed(job: int, first: int, end: int) -> int:
    """The word of a share."""
    return (job << 2 * UNIT_BITS) | (first << UNIT_BITS) | end


def start_of(part: int, parts: int, total: int) -> int:
    """The start of a part if ``total`` is divided evenly, larger parts first."""
    return part * (total // parts) + min(part, total % parts)


def share_out(job: int, units: int, width: int) -> None:
    """Distributes the units over the threads."""
    for thread in range(width):
        first = start_of(thread, width, units)
        end = start_of(thread + 1, width, units)
        store(SHARES + LINE * thread, packed(job, first, end))


def taken(job: int, thread: int, is_own: bool) -> int:
    """Takes units of a thread's share, as a share; 0 if there is none left."""
    index = SHARES + LINE * thread
    while True:
        share = load(index)
        first, end = (share >> UNIT_BITS) & UNIT_MASK, share & UNIT_MASK
        if share >> 2 * UNIT_BITS != job or first == end:
            return 0
        if is_own:
            middle = first + (end - first + OWN_PART - 1) // OWN_PART
            taken, left = packed(0, first, middle), packed(job, middle, end)
        else:
            middle = end - (end - first + OTHERS_PART - 1) // OTHERS_PART
            taken, left = packed(0, middle, end), packed(job, first, middle)
        if replace(index, share, left):
            return taken


def do(units: int, me: int) -> None:
    """Runs the iterations of some units of the current job."""
    first, end = units >> UNIT_BITS, units & UNIT_MASK
    count, parts = load(COUNT), load(UNITS)
    if mode() != load(MODE):
        set_mode(load(MODE))
    begin, stop = start_of(first, parts, count), start_of(end, parts, count)
    store(SHARES + LINE * me + BUSY, 1)
    call(load(WORK), begin, stop, load(DATA))
    store(SHARES + LINE * me + BUSY, 0)
    finish(end - first)


def finish(done: int) -> None:
    """Counts units of the current job as done; may wake a sleeping caller."""
    parts = load(UNITS)
    if add(DONE, done) + done == parts and load(WAITS):
        lock()
        wake_caller()
        unlock()


def take_part(job: int, width: int, me: int, start: int) -> None:
    """Runs units of a job, the thread's own first, until all are taken.

    With a ``start``, if a signal handler raised, the rest is taken and left undone.
    """
    stopped = start and load(STOPPED)
    for step in range(width):
        thread = me + step
        if thread >= width:
            thread -= width
        units = taken(job, thread, step == 0)
        while units:
            if stopped:
                finish((units & UNIT_MASK) - (units >> UNIT_BITS))
            else:
                do(units, me)
                if start:
                    start = watched(start)
                    stopped = start and load(STOPPED)
            units = taken(job, thread, step == 0)
