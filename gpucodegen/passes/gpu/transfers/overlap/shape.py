"""Loops whose body brings in its data by transfers before it computes.

    body := (index arithmetic | allocation)* start* (start | wait | release)* compute*

A start or wait may stand in its own loops, one transfer per row.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from gpucodegen.dialects import affine
from gpucodegen.dialects.shared.dma import (
    STARTS,
    TRANSFERS,
    WAITS,
    ends_of,
    tag_of,
)
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.framework.indexing import Index, from_map
from gpucodegen.passes.framework.nests import inner_operations

ARITHMETIC = frozenset({"arith.constant", "affine.apply", "affine.min", "affine.max"})
RELEASE = "memref.dealloc"
MEMORY = ALLOCATIONS | {RELEASE}


@dataclass(frozen=True, slots=True)
class StreamingLoop:
    """A loop of this form, in parts; ``buffers`` and ``tags`` belong to its starts."""

    loop: Operation
    lower: Index
    upper: Index
    step: int
    arithmetic: tuple[Operation, ...]
    starts: tuple[Operation, ...]
    waits: tuple[Operation, ...]
    compute: tuple[Operation, ...]
    buffers: tuple[Value, ...]
    tags: tuple[Value, ...]

    @property
    def iv(self) -> Value:
        """The loop variable."""
        return affine.For(self.loop).iv

    def trip(self, at: Index) -> Index:
        """The number of the iteration at a value of the loop variable."""
        return (at - self.lower) // self.step


def streaming(loop: Operation) -> StreamingLoop | None:
    """The parts of a loop, or None where it has another form."""
    if loop.name != "affine.for" or loop.results:
        return None
    view = affine.For(loop)
    lowers = from_map(view.lower_map, view.lower_operands)
    uppers = from_map(view.upper_map, view.upper_operands)
    body = inner_operations(loop)
    head = tuple(takewhile(_is_head, body))
    starts = tuple(op for op in head if _kind(op) == "start")
    waits = tuple(op for op in head if _kind(op) == "wait")
    if len(lowers) != 1 or len(uppers) != 1 or not starts or not waits:
        return None
    inside = [op for group in starts for op in group.walk() if op.name in STARTS]
    buffers = tuple(dict.fromkeys(ends_of(op)[1].memref for op in inside))
    tags = tuple(dict.fromkeys(tag_of(op).memref for op in inside))
    memory = [op for op in head if op.name in MEMORY]
    kept = [op for op in memory if memref_of(op) not in {*buffers, *tags}]
    return StreamingLoop(
        loop,
        lowers[0],
        uppers[0],
        view.step,
        tuple(op for op in head if op.name in ARITHMETIC),
        starts,
        waits,
        (*kept, *body[len(head) :]),
        buffers,
        tags,
    )


def memref_of(op: Operation) -> Value:
    """The buffer that is allocated or released."""
    return (*op.results, *op.operands)[0]


def _is_head(op: Operation) -> bool:
    return op.name in ARITHMETIC | MEMORY or _kind(op) in {"start", "wait"}


def _kind(op: Operation) -> str:
    """``start`` or ``wait`` for such an operation, and for loops around only such."""
    found = {inner.name for inner in op.walk()} - ARITHMETIC
    moves = found & TRANSFERS
    around = found - TRANSFERS - {"affine.for", "affine.yield"}
    if not moves or around:
        return ""
    return "start" if moves <= STARTS else "wait" if moves <= WAITS else ""
