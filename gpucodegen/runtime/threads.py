"""Kernels on as many threads as their program asked for.

Numba has one pool for the process, as large as ``NUMBA_NUM_THREADS`` or the number of
processors; every call of a parallel kernel says how many of them it uses.  More than
there are run on all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from functools import cache
from threading import Lock
from typing import Any

Entry = Callable[..., None]


def on_threads(entry: Entry, wanted: int) -> Entry:
    """A parallel kernel on ``wanted`` threads, 0 for all that Numba would use.

    The caller's own ``numba.set_num_threads`` is as before after each call.
    """
    import numba

    count = min(wanted or numba.get_num_threads(), numba.config.NUMBA_NUM_THREADS)
    get, choose, turn = numba.get_num_threads, numba.set_num_threads, _turn()

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
def _turn() -> AbstractContextManager[Any]:
    """What a parallel kernel holds while it runs.

    Numba's pool ``workqueue``, which serves where neither OpenMP nor TBB is found, ends
    the process if two threads of Python use it at once.
    """
    import numba

    numba.get_num_threads()  # starts the pool, which chooses its kind
    return Lock() if numba.threading_layer() == "workqueue" else nullcontext()
