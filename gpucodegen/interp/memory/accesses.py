"""memref and affine: loads and stores of elements and vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from gpucodegen.dialects import affine
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import element, empty
from gpucodegen.interp.values.indices import at
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, VectorType

Place = Callable[[Operation, Sequence[int]], Sequence[int]]
"""The indices of an access, from its operands after the buffer."""


def written(_: Operation, operands: Sequence[int]) -> Sequence[int]:
    """They are the operands."""
    return operands


def mapped(op: Operation, operands: Sequence[int]) -> Sequence[int]:
    """They are the results of the operation's map."""
    return at(affine.map_of(op), operands)


def load(place: Place) -> Evaluate:
    """One element."""

    def evaluate(_: Machine, op: Operation, source: MemRef, *operands: int) -> Any:
        return source.load(place(op, operands), name_of(op.operands[0]))

    return evaluate


def store(place: Place) -> Evaluate:
    """One element."""

    def evaluate(
        _: Machine, op: Operation, value: Any, target: MemRef, *operands: int
    ) -> None:
        target.store(place(op, operands), value, name_of(op.operands[1]))

    return evaluate


def places(
    first: Sequence[int], extents: Sequence[int]
) -> list[tuple[tuple[int, ...], tuple[int, ...]]]:
    """Positions in a vector and in a buffer, whose last dimensions it spans."""
    skipped = len(first) - len(extents)
    found: list[tuple[tuple[int, ...], tuple[int, ...]]] = []
    for position in np.ndindex(*extents):
        shift = (0,) * skipped + position
        index = tuple(a + b for a, b in zip(first, shift, strict=True))
        found.append((position, index))
    return found


def span(ty: VectorType, buffer: MemRef) -> tuple[int, ...]:
    """The extents of a vector in elements of a buffer, which may be vectors."""
    inner = element(buffer.type).inner
    return ty.shape[: len(ty.shape) - len(inner)] if inner else ty.shape


def read_vector(buffer: MemRef, first: Sequence[int], ty: Type, name: str) -> Any:
    """The elements from a place on."""
    assert isinstance(ty, VectorType)
    made = empty(ty.shape, ty.element)
    for position, index in places(first, span(ty, buffer)):
        made[position] = buffer.stored(index, name)
    return made


def write_vector(
    buffer: MemRef, first: Sequence[int], ty: Type, value: Any, name: str
) -> None:
    """The elements from a place on, all of them inside before one is written."""
    assert isinstance(ty, VectorType)
    targets = [
        (position, buffer.place(index, name))
        for position, index in places(first, span(ty, buffer))
    ]
    for position, place in targets:
        buffer.memory[place] = value[position]


def vector_load(place: Place) -> Evaluate:
    """Consecutive elements of the last dimensions."""

    def evaluate(_: Machine, op: Operation, source: MemRef, *operands: int) -> Any:
        first, name = place(op, operands), name_of(op.operands[0])
        return read_vector(source, first, op.results[0].type, name)

    return evaluate


def vector_store(place: Place) -> Evaluate:
    """Consecutive elements of the last dimensions."""

    def evaluate(
        _: Machine, op: Operation, value: Any, target: MemRef, *operands: int
    ) -> None:
        first, name = place(op, operands), name_of(op.operands[1])
        write_vector(target, first, op.operands[0].type, value, name)

    return evaluate


def _prefetch(*_: Any) -> None:
    """A hint."""


OPERATIONS: dict[str, Evaluate] = {
    "memref.load": load(written),
    "memref.store": store(written),
    "memref.prefetch": _prefetch,
    "affine.load": load(mapped),
    "affine.store": store(mapped),
    "affine.vector_load": vector_load(mapped),
    "affine.vector_store": vector_store(mapped),
    "affine.prefetch": _prefetch,
}
