"""Thread pools of parallel CPU kernels: our own, or Numba's without pthreads.

Kernels call one function, whichever pool it is:

    parallel_for(work, data, n, threads)    calls work(begin, end, data) for parts of n
"""

from __future__ import annotations

import os
from threading import Lock

from gpucodegen.intrinsics.pool.layout import ENTRY, MOST_THREADS
from gpucodegen.runtime.processor import (
    processors,
    thread_count,
    wanted_threads,
)

HAS_OWN = os.name == "posix"
POOL = ("NUMBA_NUM_THREADS",)
"""The variable that bounds all programs, whatever they ask for."""
_TURN = Lock()
_PROVIDED: list[bool] = []


def count(wanted: int) -> int:
    """The thread count of a kernel that requests ``wanted``, 0: the default.

    At most the number of threads that can run at a time.

    >>> count(10**6) == count(10**7)
    True
    """
    most = min(wanted_threads(POOL) or MOST_THREADS, processors(), MOST_THREADS)
    return min(wanted or thread_count(), most)


def provided() -> bool:
    """Defines ``ENTRY`` for linkers; False if that needs Numba, which is absent."""
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
        from gpucodegen.runtime.cpu import own_pool as pool
    else:
        from gpucodegen.runtime.cpu import numba_pool as pool
    llvm.add_symbol(ENTRY, pool.entry())
