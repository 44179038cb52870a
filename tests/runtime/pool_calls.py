"""Calls of the pool by itself, with functions that count their iterations."""

from __future__ import annotations

import ctypes
from functools import cache
from typing import Any

import numba
import numpy as np

from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.layout import ENTRY
from gpucodegen.runtime.cpu import pool

WORK = "void(int64, int64, int64)"


@cache
def parallel_for() -> Any:
    """The pool's function: (work, data, count, threads), on any number of cores."""
    import llvmlite.binding as llvm

    assert pool.provided()
    memory()[layout.CROWDED] = 1
    address = llvm.address_of_symbol(ENTRY)
    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 4)(address)


def memory() -> Any:
    """The words of the pool."""
    import llvmlite.binding as llvm

    start = llvm.address_of_symbol(layout.MEMORY)
    return (ctypes.c_int64 * layout.WORDS).from_address(start)


@numba.extending.intrinsic
def pointer(_context: Any, _address: Any) -> Any:
    """Words at an address."""
    result = numba.types.CPointer(numba.int64)

    def lower(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        return builder.inttoptr(args[0], context.get_value_type(sig.return_type))

    return result(numba.int64), lower


@numba.cfunc(WORK)
def count_up(begin: int, end: int, data: int) -> None:
    """Adds one for each iteration."""
    counts = numba.carray(pointer(data), (end,))
    for i in range(begin, end):
        counts[i] += 1


COUNT_UP, PARALLEL_FOR = count_up.address, parallel_for()


@numba.cfunc(WORK)
def nested(begin: int, end: int, data: int) -> None:
    """A parallel loop of 16 iterations in each iteration."""
    for i in range(begin, end):
        PARALLEL_FOR(COUNT_UP, data + 8 * 16 * i, 16, 2)


def counted(count: int, width: int, work: Any = count_up) -> np.ndarray:
    """What ``work`` leaves in ``count`` words, and in one behind them."""
    counts = np.zeros(count + 1, np.int64)
    parallel_for()(work.address, counts.ctypes.data, count, width)
    return counts


def is_once(count: int, width: int) -> bool:
    """Whether each iteration ran exactly once, and no other."""
    counts = counted(count, width)
    return bool((counts[:count] == 1).all() and counts[count] == 0)
