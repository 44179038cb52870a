"""The main loops of the thread pool: the caller of a job, and the workers.

The caller opens a job, takes part, and waits for units that other threads have taken;
so it never waits for a thread that has not begun.  A caller that finds the pool busy
runs its loop alone.
"""

from __future__ import annotations

from gpucodegen.intrinsics.pool.cores import keep_off, lend_core, usable
from gpucodegen.intrinsics.pool.interrupts import (
    is_stopped_here,
    raise_kept,
    unwatched,
    watched_from,
)
from gpucodegen.intrinsics.pool.layout import (
    COUNT,
    DATA,
    DONE,
    EPOCH,
    JOB_BITS,
    MODE,
    MOST_UNITS,
    OWNER,
    SLEEPERS,
    STARTED,
    UNITS,
    UNITS_PER_THREAD,
    WAITS,
    WIDTH_BITS,
    WORK,
)
from gpucodegen.intrinsics.pool.primitives import (
    add,
    call,
    load,
    lock,
    mode,
    pause,
    replace,
    sleep,
    sleep_until_done,
    start,
    store,
    swap,
    unlock,
    wake_all,
)
from gpucodegen.intrinsics.pool.shares import share_out, take_part

__all__ = ["parallel_for", "raise_kept", "worker"]

WIDTHS, JOBS = (1 << WIDTH_BITS) - 1, (1 << JOB_BITS) - 1
LOOKS = 1000
"""Pauses before a worker sleeps: 10 to 50 us.

One that stays awake and yields shares its core with threads that spin there, such as
those of OpenBLAS for 90 ms after a product; one that is woken takes the core.
"""
PATIENCE = 8 * LOOKS
"""Pauses before a caller sleeps, and lends its core."""


def parallel_for(work: int, data: int, count: int, threads: int) -> int:
    """Calls ``work(begin, end, data)`` for parts of ``range(count)`` on threads.

    Returns 1 if Python must raise an exception of a signal handler: then some parts are
    left undone, and the calling kernel ends.
    """
    if is_stopped_here():
        return 1
    units = min(count, UNITS_PER_THREAD * threads, MOST_UNITS)
    width = min(threads, units)
    if width > 1 and replace(OWNER, 0, 1):
        width = min(width, usable(load(STARTED)))
        if width > 1:
            share(work, data, count, units, width)
        else:
            call(work, 0, count, data)
        store(OWNER, 0)
    elif count > 0:
        call(work, 0, count, data)
    return is_stopped_here()


def share(work: int, data: int, count: int, units: int, width: int) -> None:
    """Runs a job on ``width`` threads, including this one."""
    hire(width - 1)
    job = open_job(work, data, count, units, width)
    since = watched_from()
    take_part(job, width, 0, since)
    wait_for(units, load(STARTED))
    if since:
        unwatched()


def hire(workers: int) -> None:
    """Starts the missing workers; fewer suffice."""
    before = load(STARTED)
    while load(STARTED) < workers and start(load(STARTED) + 1) == 0:
        add(STARTED, 1)
    if load(STARTED) != before:
        keep_off(load(STARTED))


def open_job(work: int, data: int, count: int, units: int, width: int) -> int:
    """Describes a job, distributes its units, wakes the workers; returns its number."""
    job = ((load(EPOCH) >> WIDTH_BITS) + 1) & JOBS
    store(WORK, work)
    store(DATA, data)
    store(COUNT, count)
    store(UNITS, units)
    store(MODE, mode())
    store(DONE, 0)
    share_out(job, units, width)
    swap(EPOCH, job << WIDTH_BITS | width)
    if load(SLEEPERS):
        lock()
        wake_all()
        unlock()
    return job


def wait_for(units: int, workers: int) -> None:
    """Waits until all units are done; none is left to take.

    A worker may have lost its core to another program, or to spinning threads of
    another pool: it goes on on the caller's core.
    """
    looks = 0
    while load(DONE) != units and looks < PATIENCE:
        looks += 1
        pause()
    if load(DONE) != units:
        lend_core(workers)
        lock()
        swap(WAITS, 1)
        while load(DONE) != units:
            sleep_until_done()
        swap(WAITS, 0)
        unlock()


def worker(me: int) -> int:
    """The main loop of worker ``me``; the caller of a job is its thread 0."""
    epoch = 0
    while epoch >= 0:
        epoch = next_epoch(epoch)
        width = epoch & WIDTHS
        if me < width:
            take_part(epoch >> WIDTH_BITS, width, me, 0)
    return 0


def next_epoch(last: int) -> int:
    """Waits for another job than the last one."""
    for _ in range(LOOKS):
        if load(EPOCH) != last:
            return load(EPOCH)
        pause()
    lock()
    add(SLEEPERS, 1)
    while load(EPOCH) == last:
        sleep()
    add(SLEEPERS, -1)
    unlock()
    return load(EPOCH)
