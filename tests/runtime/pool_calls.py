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


@cache
def count_up() -> Any:
    """The address of a function that adds one for each iteration."""

    @numba.cfunc(WORK)
    def count(begin: int, end: int, data: int) -> None:
        counts = numba.carray(pointer(data), (end,))
        for i in range(begin, end):
            counts[i] += 1

    _COMPILED.append(count)
    return count.address


@cache
def nested() -> Any:
    """That of one with a parallel loop of 16 iterations in each iteration."""
    work, pool_of = count_up(), parallel_for()

    @numba.cfunc(WORK)
    def loops(begin: int, end: int, data: int) -> None:
        for i in range(begin, end):
            pool_of(work, data + 8 * 16 * i, 16, 2)

    _COMPILED.append(loops)
    return loops.address


_COMPILED: list[Any] = []
"""They live as long as their addresses are known."""


def counted(count: int, width: int) -> np.ndarray:
    """What `count_up` leaves in ``count`` words, and in one behind them."""
    counts = np.zeros(count + 1, np.int64)
    parallel_for()(count_up(), counts.ctypes.data, count, width)
    return counts


def is_once(count: int, width: int) -> bool:
    """Whether each iteration ran exactly once, and no other."""
    counts = counted(count, width)
    return bool((counts[:count] == 1).all() and counts[count] == 0)
