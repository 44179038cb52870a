"""vector: loads and stores, masked, gathered, compressed."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.accesses import vector_load, vector_store, written
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.memory.views import OPERATIONS as VIEWS
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import Array
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type


def as_buffer(value: Array | MemRef, op: Operation, number: int) -> MemRef:
    """A buffer, or a tensor as one that shares its memory."""
    if isinstance(value, MemRef):
        return value
    return MemRef.of(value, element_type(op.operands[number].type))


def _shifted(index: tuple[int, ...], by: tuple[int, ...]) -> tuple[int, ...]:
    """The index of a position in a vector, which spans the last dimensions."""
    padded = (0,) * (len(index) - len(by)) + by
    return tuple(a + b for a, b in zip(index, padded, strict=True))


def _masked_load(m: Machine, op: Operation, source: Any, *_: Any) -> Array:
    """Lanes that the mask leaves out keep what is passed."""
    groups, buffer = m.groups(op), as_buffer(source, op, 0)
    (mask,), (passed,) = groups["mask"], groups["pass_thru"]
    made, name = passed.copy(), name_of(op.operands[0])
    for at in np.ndindex(*mask.shape):
        if mask[at]:
            index = _shifted(groups["indices"], at)
            made[at] = buffer.stored(index, name)
    return made


def _expand_load(m: Machine, op: Operation, source: Any, *_: Any) -> Array:
    """Consecutive elements for the lanes of the mask."""
    groups, buffer = m.groups(op), as_buffer(source, op, 0)
    (mask,), (passed,) = groups["mask"], groups["pass_thru"]
    made, name = passed.copy(), name_of(op.operands[0])
    for count, at in enumerate(np.flatnonzero(mask)):
        index = _shifted(groups["indices"], (count,))
        made[at] = buffer.stored(index, name)
    return made


def _masked_store(m: Machine, op: Operation, target: Any, *_: Any) -> None:
    groups, buffer = m.groups(op), as_buffer(target, op, 0)
    (mask,), (value,) = groups["mask"], groups["valueToStore"]
    name = name_of(op.operands[0])
    for at in np.ndindex(*mask.shape):
        if mask[at]:
            index = _shifted(groups["indices"], at)
            buffer.memory[buffer.place(index, name)] = value[at]


def _compress_store(m: Machine, op: Operation, target: Any, *_: Any) -> None:
    groups, buffer = m.groups(op), as_buffer(target, op, 0)
    (mask,), (value,) = groups["mask"], groups["valueToStore"]
    name = name_of(op.operands[0])
    for count, at in enumerate(np.flatnonzero(mask)):
        index = _shifted(groups["indices"], (count,))
        buffer.memory[buffer.place(index, name)] = value[at]


def _line(buffer: MemRef, offsets: tuple[int, ...], index: int, name: str) -> int:
    """Where an element lies ``index`` after the offsets, along the last dimension.

    It may go on in the next rows.
    """
    first = 0
    for extent, i in zip(buffer.shape, offsets, strict=True):
        first = first * extent + i
    at, place = first + index, []
    if not 0 <= at < int(np.prod(buffer.shape)):
        raise errors.IndexOutOfBounds(index=index, buffer=name, shape=buffer.shape)
    for extent in reversed(buffer.shape):
        place.append(at % extent)
        at //= extent
    return buffer.place(place[::-1], name)


def _gather(
    m: Machine, op: Operation, source: Any, *_: Any, mask: Array | None = None
) -> Array:
    groups, buffer = m.groups(op), as_buffer(source, op, 0)
    (indices,), (own,), (passed,) = (
        groups[n] for n in ("indices", "mask", "pass_thru")
    )
    lanes = own if mask is None else own & mask
    made, name = passed.copy(), name_of(op.operands[0])
    for at in np.ndindex(*lanes.shape):
        if lanes[at]:
            place = _line(buffer, groups["offsets"], int(indices[at]), name)
            made[at] = buffer.memory[place]
    return made


def _scatter(
    m: Machine, op: Operation, target: Any, *_: Any, mask: Array | None = None
) -> Array | None:
    """In the order of the lanes: the last one of a place stays."""
    groups = m.groups(op)
    whole = target if isinstance(target, MemRef) else target.copy()
    buffer = as_buffer(whole, op, 0)
    (indices,), (own,), (value,) = (
        groups[n] for n in ("indices", "mask", "valueToStore")
    )
    lanes = own if mask is None else own & mask
    for at in np.ndindex(*lanes.shape):
        if lanes[at]:
            name = name_of(op.operands[0])
            place = _line(buffer, groups["offsets"], int(indices[at]), name)
            buffer.memory[place] = value[at]
    return buffer.array() if op.results else None


OPERATIONS: dict[str, Evaluate] = {
    "vector.load": vector_load(written),
    "vector.store": vector_store(written),
    "vector.maskedload": _masked_load,
    "vector.expandload": _expand_load,
    "vector.maskedstore": _masked_store,
    "vector.compressstore": _compress_store,
    "vector.gather": _gather,
    "vector.scatter": _scatter,
    "vector.type_cast": VIEWS["vector.type_cast"],
}
