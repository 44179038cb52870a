"""Kernels on as many threads as their program asked for.

Numba has one pool for the process, as large as ``NUMBA_NUM_THREADS`` or the number of
processors; every call of a parallel kernel says how many of them it uses.  More than
there are run on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cache
from threading import Lock
from typing import Any

Entry = Callable[..., None]


@dataclass(frozen=True, slots=True)
class Pool:
    """Threads of a process: ``size`` of them, of which ``get()`` are in use.

    A parallel kernel holds ``turn`` while it runs.
    """

    get: Callable[[], int]
    choose: Callable[[int], object]
    size: int
    turn: AbstractContextManager[Any]


def on_threads(entry: Entry, wanted: int, pool: Pool) -> Entry:
    """A parallel kernel on ``wanted`` threads, 0 for all that Numba would use.

    The caller's own ``numba.set_num_threads`` is as before after each call.
    """
    count = min(wanted or pool.get(), pool.size)
    get, choose, turn = pool.get, pool.choose, pool.turn

    def call(*arguments: Any) -> None:
        before = get()
        with turn:
            if before == count:
                entry(*arguments)
                return
            choose(count)
            try:
                entry(*arguments)
            finally:
                choose(before)

    return call


@cache
def numba_pool() -> Pool:
    """The threads of Numba, started.

    Its pool ``workqueue``, which serves where neither OpenMP nor TBB is found, ends the
    process if two threads of Python use it at once.
    """
    import numba

    numba.get_num_threads()  # starts the pool, which chooses its kind
    alone = numba.threading_layer() == "workqueue"
    return Pool(
        numba.get_num_threads,
        numba.set_num_threads,
        numba.config.NUMBA_NUM_THREADS,
        Lock() if alone else nullcontext(),
    )
