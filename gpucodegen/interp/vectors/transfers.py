"""vector: transfer_read and transfer_write."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import Array, element, empty
from gpucodegen.interp.vectors.elements import stored, vector_type
from gpucodegen.interp.vectors.memory import as_buffer
from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type

Index = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Transfer:
    """Which dimension of the buffer each one of the vector runs along, if any."""

    map: AffineMap
    in_bounds: tuple[bool, ...]
    shape: Index

    @staticmethod
    def of(op: Operation, ty: Type, buffer: MemRef) -> Transfer:
        """The transfer of an operation."""
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
        """Each position, its index in the buffer, and whether it is to be touched.

        It is, where the mask lets it and it lies inside, or is said to.
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
        """The mask has the order of the buffer, without dimensions that repeat."""
        return tuple(position[n] for _, n in order) or (0,) * mask.ndim


def _mask(groups: dict[str, tuple[Any, ...]], mask: Array | None) -> Array | None:
    """Both masks, if there are two."""
    own = groups["mask"][0] if groups["mask"] else None
    return own if mask is None else mask if own is None else own & mask


def _read(
    m: Machine, op: Operation, source: Any, *_: Any, mask: Array | None = None
) -> Array:
    """Lanes outside of the buffer or the mask get the padding."""
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


OPERATIONS: dict[str, Evaluate] = {
    "vector.transfer_read": _read,
    "vector.transfer_write": _write,
}
