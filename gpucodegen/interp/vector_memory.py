"""Interprets vector memory accesses: plain, masked, gathered, compressed, transfers."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gpucodegen import errors
from gpucodegen.interp.buffers import MemRef
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memref import name_of, vector_load, vector_store, written
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values import Array, element, empty
from gpucodegen.interp.vectors import stored, vector_type
from gpucodegen.interp.views import VIEW_OPERATIONS as VIEWS
from gpucodegen.ir.affine import AffineMap, Dim
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, element_type
from gpucodegen.records import dataclass


def as_buffer(value: Array | MemRef, op: Operation, number: int) -> MemRef:
    """A buffer, or a tensor as a buffer that shares its memory."""
    if isinstance(value, MemRef):
        return value
    return MemRef.of(value, element_type(op.operands[number].type))


def _shifted(index: tuple[int, ...], by: tuple[int, ...]) -> tuple[int, ...]:
    """The buffer index of a vector position; the vector spans the last dimensions."""
    padded = (0,) * (len(index) - len(by)) + by
    return tuple(a + b for a, b in zip(index, padded, strict=True))


def _masked_load(m: Machine, op: Operation, source: Any, *_: Any) -> Array:
    """Load masked lanes; the others keep the pass-through value."""
    groups, buffer = m.groups(op), as_buffer(source, op, 0)
    (mask,), (passed,) = groups["mask"], groups["pass_thru"]
    made, name = passed.copy(), name_of(op.operands[0])
    for at in np.ndindex(*mask.shape):
        if mask[at]:
            index = _shifted(groups["indices"], at)
            made[at] = buffer.stored(index, name)
    return made


def _expand_load(m: Machine, op: Operation, source: Any, *_: Any) -> Array:
    """Load consecutive elements into the lanes of the mask."""
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
    """Position of element ``index`` past the offsets along the last dimension.

    It may continue in the following rows.
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
    """Store in lane order: the last lane that writes an address wins."""
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


MEMORY_OPERATIONS: dict[str, Evaluate] = {
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


Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """The buffer dimension of each vector dimension; None for a broadcast one."""

    map: AffineMap
    in_bounds: tuple[bool, ...]
    shape: Index

    @staticmethod
    def of(op: Operation, ty: Type, buffer: MemRef) -> Transfer:
        attribute = op.attributes["permutation_map"]
        assert isinstance(attribute, AffineMapAttr)
        shape = vector_type(ty).shape
        inner = len(element(buffer.type).inner)
        flags = [
            bool(e.value) for e in op.entries("in_bounds") if isinstance(e, IntegerAttr)
        ]
        outer = shape[: len(shape) - inner]
        flags = flags or [False] * len(outer)
        return Transfer(attribute.map, tuple(flags), outer)

    def lanes(
        self, buffer: MemRef, first: Index, mask: Array | None
    ) -> Iterator[tuple[Index, Index, bool]]:
        """Vector positions, their buffer indices, and whether they are accessed.

        A position is accessed if the mask is set and it is in bounds or declared so.
        """
        along = [e.position if isinstance(e, Dim) else None for e in self.map.results]
        order = sorted((d, n) for n, d in enumerate(along) if d is not None)
        for position in np.ndindex(*self.shape):
            index = list(first)
            for n, d in enumerate(along):
                if d is not None:
                    index[d] += position[n]
            masked = mask is not None and not mask[self._in_mask(order, position, mask)]
            outside = any(
                not self.in_bounds[n] and not 0 <= index[d] < buffer.shape[d]
                for n, d in enumerate(along)
                if d is not None
            )
            yield position, tuple(index), not (masked or outside)

    @staticmethod
    def _in_mask(order: list[tuple[int, int]], position: Index, mask: Array) -> Index:
        """The mask index: the buffer's order, without broadcast dimensions."""
        return tuple(position[n] for _, n in order) or (0,) * mask.ndim


def _mask(groups: dict[str, tuple[Any, ...]], mask: Array | None) -> Array | None:
    """The conjunction of both masks, if there are two."""
    own = groups["mask"][0] if groups["mask"] else None
    return own if mask is None else mask if own is None else own & mask


def _read(
    m: Machine, op: Operation, source: Any, *_: Any, mask: Array | None = None
) -> Array:
    """Read a vector; lanes out of bounds or masked off get the padding."""
    groups, buffer = m.groups(op), as_buffer(source, op, 0)
    ty = vector_type(op.results[0].type)
    transfer = Transfer.of(op, ty, buffer)
    made, name = empty(ty.shape, ty.element), name_of(op.operands[0])
    padding = stored(groups["padding"][0], ty)
    rows = transfer.lanes(buffer, groups["indices"], _mask(groups, mask))
    for position, index, touched in rows:
        made[position] = buffer.stored(index, name) if touched else padding
    return made


def _write(
    m: Machine, op: Operation, value: Array, target: Any, *_: Any,
    mask: Array | None = None,
) -> Array | None:  # fmt: skip
    groups = m.groups(op)
    whole = target if isinstance(target, MemRef) else target.copy()
    buffer = as_buffer(whole, op, 1)
    transfer = Transfer.of(op, op.operands[0].type, buffer)
    name = name_of(op.operands[1])
    rows = transfer.lanes(buffer, groups["indices"], _mask(groups, mask))
    for position, index, touched in rows:
        if touched:
            buffer.memory[buffer.place(index, name)] = value[position]
    return buffer.array() if op.results else None


TRANSFER_OPERATIONS: dict[str, Evaluate] = {
    "vector.transfer_read": _read,
    "vector.transfer_write": _write,
}
