"""memref and affine: transfers, which happen when they are waited for.

In a kernel all threads of a block start a transfer and wait for it together: it is one
transfer, which the first of them carries out, and the wait is a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

from gpucodegen import errors
from gpucodegen.dialects.shared.transfers import (
    End,
    ends_of,
    has_strided_source,
    lengths_of,
    tag_of,
)
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.indices import at
from gpucodegen.ir.operation import Operation


def _place(m: Machine, end: End) -> tuple[MemRef, tuple[int, ...]]:
    """A buffer and the indices in it."""
    return m.values[end.memref], at(end.map, m.of(end.operands))


def _key(m: Machine, tag: End) -> object:
    """The memory of an element of the tags."""
    buffer, index = _place(m, tag)
    return id(buffer.memory), buffer.place(index, name_of(tag.memref))


def _line(m: Machine, end: End, steps: Sequence[int]) -> list[int]:
    """Where elements lie that are counted in row-major order from an index on."""
    buffer, index = _place(m, end)
    first = 0
    for extent, i in zip(buffer.shape, index, strict=True):
        first = first * extent + i
    name = name_of(end.memref)
    if not 0 <= first < max(prod(buffer.shape), 1):
        buffer.place(index, name)
    return [buffer.place(_unravelled(first + s, buffer.shape), name) for s in steps]


def _unravelled(position: int, shape: Sequence[int]) -> tuple[int, ...]:
    """The index of a row-major position; beyond the end, the first index is."""
    index: list[int] = []
    for extent in reversed(shape[1:]):
        index.append(position % extent)
        position //= extent
    return (position, *reversed(index)) if shape else ()


def _is_first(m: Machine, key: object) -> bool:
    """Whether no other thread of the block has come to this transfer yet."""
    if m.thread is None:
        return True
    own = m.thread.values[key] = m.thread.values.get(key, 0) + 1
    if own <= m.thread.shared.get(key, 0):
        return False
    m.thread.shared[key] = own
    return True


def _start(m: Machine, op: Operation, *_: Any) -> None:
    source, target, tag = ends_of(op)
    key = _key(m, tag)
    if not _is_first(m, ("starts", key)):
        return
    count, *stride = m.of(lengths_of(op))
    step, run = stride or (count, count)
    line = range(count)
    apart = [i // run * step + i % run for i in line] if run else list(line)
    strided = has_strided_source(source.memref, target.memref)
    takes = _line(m, source, apart if strided else line)
    puts = _line(m, target, line if strided else apart)
    origin, goal = m.values[source.memref], m.values[target.memref]

    def move() -> None:
        goal.memory[puts] = origin.memory[takes]

    if key in m.shared.transfers:
        raise _unfinished(tag, "its tag is started again")
    m.shared.transfers[key] = count, move


def _wait(m: Machine, op: Operation, *_: Any) -> None:
    tag = tag_of(op)
    key = _key(m, tag)
    if m.thread is not None:
        m.thread.meet(op, None, of_warp=False)
    if not _is_first(m, ("waits", key)):
        return
    under_way: tuple[int, Callable[[], None]] | None = m.shared.transfers.pop(key, None)
    (count,) = m.of(lengths_of(op))
    if under_way is None:
        raise _unfinished(tag, "its tag is waited for, not started")
    if under_way[0] != count:
        problem = f"{under_way[0]} elements are under way, {count} are waited for"
        raise _unfinished(tag, problem)
    under_way[1]()


def _unfinished(tag: End, problem: str) -> errors.Error:
    return errors.UnfinishedTransfer(buffer=name_of(tag.memref), problem=problem)


OPERATIONS: dict[str, Evaluate] = {
    "memref.dma_start": _start,
    "memref.dma_wait": _wait,
    "affine.dma_start": _start,
    "affine.dma_wait": _wait,
}
