"""Numba's thread pool with our interface, for systems without POSIX threads."""

from __future__ import annotations

import ctypes

from gpucodegen.intrinsics.pool import layout
from gpucodegen.runtime.cpu.own_pool import address

MODULE = "gpucodegen.intrinsics.pool.by_numba"
MEMORY = (ctypes.c_int64 * layout.SHARES)()
"""The words before the shares; as long as the process."""


def entry() -> int:
    """The address of ``parallel_for``; starts Numba's threads."""
    import llvmlite.binding as llvm
    import numba

    numba.get_num_threads()
    llvm.add_symbol(layout.MEMORY, ctypes.addressof(MEMORY))
    found = address(MODULE, layout.FUNCTIONS, layout.ENTRY)
    assert found
    return found
