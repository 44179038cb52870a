"""The same function on Numba's pool, for systems without POSIX threads.

Numba's pool divides evenly and takes one call at a time; a second caller runs alone.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import types

from gpucodegen.intrinsics.cpu_engine import ENGINE
from gpucodegen.intrinsics.lowering import I8, I64, Lowering, number, signature
from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.shares import jitted, start_of
from gpucodegen.intrinsics.pool.words import WORD, call, load, replace, store
from gpucodegen.intrinsics.pool.words import place as place_of

ADDRESS = I8.as_pointer()
OWNER, WORKER = layout.OWNER, layout.WORKER
WORK, DATA, COUNT, UNITS = layout.WORK, layout.DATA, layout.COUNT, layout.UNITS


def _share_out(low: Lowering, parts: Any, threads: Any) -> None:
    """Numba calls the worker as a ufunc of numbers that begin with 0, one apart."""
    builder = low.builder
    first, size, step = (builder.alloca(I64) for _ in range(3))
    values = (number(I64, 0), parts, number(I64, 1))
    for slot, value in zip((first, size, step), values, strict=True):
        builder.store(value, slot)
    work = builder.load(place_of(low, number(I64, WORKER)))
    shown = [builder.bitcast(each, ADDRESS) for each in (first, size, step)]
    arguments = [builder.inttoptr(work, ADDRESS), *shown, ir.Constant(ADDRESS, None)]
    counts = [number(I64, 0), number(I64, 1), threads]
    low.call("numba_parallel_for", ir.VoidType(), [*arguments, *counts])


share_out = ENGINE.define(
    "share_out", 2, lambda *_: signature(types.void, WORD, WORD), _share_out
)
"""``share_out(parts, threads)`` by calls of `worker`."""
at = ENGINE.define(
    "at",
    1,
    lambda _: signature(WORD, WORD),
    lambda low, a: low.builder.load(low.builder.inttoptr(a, I64.as_pointer())),
)
"""``at(address)``: the word there."""


@jitted
def worker(firsts: int, sizes: int, _steps: int, _data: int) -> None:
    """Some parts of the job: the number of the first, and how many, lie in memory."""
    first, count, parts = at(firsts), load(COUNT), load(UNITS)
    begin = start_of(first, parts, count)
    call(load(WORK), begin, start_of(first + at(sizes), parts, count), load(DATA))


@jitted
def parallel_for(work: int, data: int, count: int, threads: int) -> None:
    """Call ``work(begin, end, data)`` for parts of ``range(count)`` on some threads."""
    parts = min(count, threads)
    if parts > 1 and replace(OWNER, 0, 1):
        store(WORK, work)
        store(DATA, data)
        store(COUNT, count)
        store(UNITS, parts)
        share_out(parts, threads)
        store(OWNER, 0)
    elif count > 0:
        call(work, 0, count, data)
