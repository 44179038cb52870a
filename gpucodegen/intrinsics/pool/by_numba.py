"""``parallel_for`` on Numba's pool, for systems without POSIX threads.

Numba's pool divides evenly and takes one call at a time; a second caller runs alone.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from gpucodegen.intrinsics.framework.native import (
    I8,
    VOID,
    WORD,
    Code,
    Instruction,
    word,
)
from gpucodegen.intrinsics.pool import layout
from gpucodegen.intrinsics.pool.primitives import call, load, replace, store
from gpucodegen.intrinsics.pool.shares import start_of

ADDRESS = I8.as_pointer()
OWNER = layout.OWNER
WORK, DATA, COUNT, UNITS = layout.WORK, layout.DATA, layout.COUNT, layout.UNITS


def _share_out(code: Code, parts: Any, threads: Any) -> None:
    """Numba calls the worker as a ufunc of the numbers 0, 1, ..."""
    builder = code.builder
    first, size, step = (code.slot(WORD) for _ in range(3))
    values = (word(0), parts, word(1))
    for slot, value in zip((first, size, step), values, strict=True):
        builder.store(value, slot)
    given = (builder.module.globals["worker"], first, size, step)
    shown = [builder.bitcast(each, ADDRESS) for each in given]
    arguments = [*shown, ir.Constant(ADDRESS, None)]
    counts = [word(0), word(1), threads]
    code.call("numba_parallel_for", VOID, [*arguments, *counts])


def _at(code: Code, address: Any) -> Any:
    return code.builder.load(code.builder.inttoptr(address, WORD.as_pointer()))


share_out = Instruction(_share_out)
"""``share_out(parts, threads)`` by calls of `worker`."""
at = Instruction(_at)
"""``at(address)``: the word there."""


def worker(firsts: int, sizes: int, _steps: int, _data: int) -> None:
    """Runs some parts of the job: the first number and the count lie in memory."""
    first, count, parts = at(firsts), load(COUNT), load(UNITS)
    begin = start_of(first, parts, count)
    call(load(WORK), begin, start_of(first + at(sizes), parts, count), load(DATA))


def parallel_for(work: int, data: int, count: int, threads: int) -> None:
    """Calls ``work(begin, end, data)`` for parts of ``range(count)`` on threads."""
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
