"""Stores that go past the caches: which ones, and where whole registers of them begin.

A store that streams must not be read again soon: nothing in its loops reads its buffer,
each iteration of the loops around writes other elements, and all that these loops touch
is more than the caches hold.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from itertools import takewhile
from math import prod
from typing import Protocol

from gpucodegen.dialects.arith import element_bits
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import element_type
from gpucodegen.passes.cpu.vectorize.operations import lane_bits
from gpucodegen.passes.cpu.vectorize.recognize import (
    ContiguousAccess,
    LoopBody,
    layout_of,
)
from gpucodegen.passes.framework.indexing import Index
from gpucodegen.tiling.machine.processor import Machine
from gpucodegen.tiling.machine.vectorization import InnerLoop, goes_past_caches

BITS = frozenset({32, 64})
"""Widths of elements whose vectors fill a register."""
MOVED = BITS | {8, 16}
"""Widths of elements whose vectors do, if nothing is computed with them."""


@dataclass(frozen=True, slots=True)
class EnclosingLoop:
    """A loop around others: its variable, how many values that has, None if not known.

    ``reads``: the buffers that are loaded from anywhere in it.
    """

    iv: Value
    trips: int | None
    reads: frozenset[Value] = frozenset()


EnclosingLoops = tuple[EnclosingLoop, ...]

LOADS = frozenset(
    "affine.load affine.vector_load memref.load vector.load vector.transfer_read "
    "vector.maskedload".split()
)


def reads_of(op: Operation) -> frozenset[Value]:
    """The buffers that an operation, or one nested in it, loads from."""
    return frozenset(o.operands[0] for o in op.walk() if o.name in LOADS)


def mark_streaming(
    body: LoopBody, loops: Sequence[EnclosingLoop], machine: Machine
) -> ContiguousAccess | None:
    """Mark the stores of a body that go past the caches; the first one, if any.

    The body must take masks: iterations before the first whole register are masked.
    ``loops``: those around the body, its own last.
    """
    read = {s.memref for op, s in body.accesses.items() if op.results}
    read = read.union(*(loop.reads for loop in loops))
    stores = {op: s for op, s in body.accesses.items() if not op.results}
    trips = loops[-1].trips
    chosen = [
        op
        for op, store in stores.items()
        if store.memref not in read
        and body.takes_masks
        and _is_plain(store, MOVED if body.moves else BITS)
        and body.has_place_outside(store)
        and goes_past_caches(
            footprint(body.accesses.values(), store, loops),
            machine,
            trips and trips * _size(store),
        )
    ]
    body.streaming.update(chosen)
    return stores[chosen[0]] if chosen else None


def inner_loop(body: LoopBody, trips: int | None) -> InnerLoop:
    """A body as its plans see it: narrow elements fill vectors on their way past."""
    moves = bool(body.streaming) and body.moves
    return InnerLoop(trips, frozenset(body.bits), moves)


def _is_plain(store: ContiguousAccess, widths: AbstractSet[int]) -> bool:
    """Whether elements of these widths fill registers as they lie in memory."""
    form = layout_of(store.memref)
    known = form is not None and None not in form.strides
    bits = lane_bits(element_type(store.memref.type))
    return known and store.is_last and bits in widths and bits == 8 * _size(store)


class MemoryAccess(Protocol):
    """Elements of a buffer."""

    @property
    def memref(self) -> Value:
        """The buffer."""
        ...

    @property
    def indices(self) -> tuple[Index, ...]:
        """Where in it."""
        ...


def footprint(
    accesses: Collection[MemoryAccess],
    store: MemoryAccess,
    loops: Sequence[EnclosingLoop],
) -> int:
    """Bytes of all arrays that the loops touch while each iteration stores elsewhere.

    Loops whose extent is not known count as one iteration.
    """
    moving = {value for index in store.indices for value in index.values}
    chain = list(takewhile(lambda loop: loop.iv in moving, reversed(loops)))
    largest = {access.memref: 0 for access in accesses}
    for access in accesses:
        values = {value for index in access.indices for value in index.values}
        cells = prod(loop.trips or 1 for loop in chain if loop.iv in values)
        bytes_ = cells * _size(access)
        largest[access.memref] = max(largest[access.memref], bytes_)
    return sum(largest.values())


def _size(access: MemoryAccess) -> int:
    """Bytes of an element in memory."""
    return -(-element_bits(element_type(access.memref.type)) // 8)


def misalignment(start: ContiguousAccess, address: Value, lanes: int) -> Index:
    """How many elements after ``start`` the next multiple of ``lanes`` of them begins.

    ``address``: that of the buffer in bytes, a multiple of the size of an element.
    """
    form = layout_of(start.memref)
    assert form is not None
    position = Index.of(address) // _size(start)
    for index, stride in zip(start.indices, form.strides, strict=True):
        position = position + index * (stride or 0)
    return (position * -1) % lanes
