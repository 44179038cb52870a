"""Threads of parallel kernels: our own pool, or Numba's where there are no pthreads.

Kernels call one function, whichever pool it is:

    parallel_for(work, data, n, threads)    calls work(begin, end, data) for parts of n
"""

from __future__ import annotations

import os
from threading import Lock

from gpucodegen.intrinsics.pool.layout import ENTRY, MOST_THREADS
from gpucodegen.runtime.processor import processors, thread_count

HAS_OWN = os.name == "posix"
_TURN = Lock()
_PROVIDED: list[bool] = []


def count(wanted: int) -> int:
    """Threads of a kernel that shall run on so many, 0 for as many as variables say.

    >>> count(10**6) == count(10**7)
    True
    """
    return min(wanted or thread_count(), _size(), MOST_THREADS)


def _size() -> int:
    """``NUMBA_NUM_THREADS`` or the number of processors: of the pool, at most."""
    chosen = os.environ.get("NUMBA_NUM_THREADS", "").strip()
    return int(chosen) if chosen.isdigit() and int(chosen) > 0 else processors()


def provided() -> bool:
    """Make ``ENTRY`` known to linkers; False if that takes Numba, which is not here."""
    import sys

    with _TURN:
        if not _PROVIDED:
            if not HAS_OWN and "numba" not in sys.modules:
                return False
            _provide()
            _PROVIDED.append(True)
        return True


def _provide() -> None:
    import llvmlite.binding as llvm

    if HAS_OWN:
        from gpucodegen.runtime import own_pool as pool
    else:
        from gpucodegen.runtime import numba_pool as pool
    llvm.add_symbol(ENTRY, pool.entry())
