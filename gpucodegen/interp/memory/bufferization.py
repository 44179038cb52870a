"""bufferization: between tensors, which are values, and buffers."""

from __future__ import annotations

from typing import Any

import numpy as np

from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import copy, filled_in
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.interp.values.elements import Array, empty
from gpucodegen.interp.values.written import copied, fresh
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import TensorType, element_type


def to_tensor(_: Machine, __: Operation, buffer: MemRef) -> Array:
    """What the buffer holds now, and what of it has been written."""
    values, flags = np.array(buffer.elements()), buffer.flags()
    return values if flags is None else fresh(values, flags.copy())


def to_buffer(_: Machine, op: Operation, tensor: Array) -> MemRef:
    """A buffer of its own."""
    return MemRef.of(copied(tensor), element_type(op.results[0].type))


def _alloc_tensor(m: Machine, op: Operation, *_: Any) -> Array:
    groups, ty = m.groups(op), op.results[0].type
    assert isinstance(ty, TensorType)
    if groups["copy"]:
        return groups["copy"][0].copy()
    shape = filled_in(ty.shape, groups["dynamic_sizes"])
    made = empty(shape, ty.element)
    return fresh(made, rank=len(shape), arbitrary=m.shared.arbitrary)


def _materialize(
    m: Machine, op: Operation, source: Array, dest: Array | MemRef
) -> Array | None:
    """Into a buffer, or as the new value of a tensor."""
    if isinstance(dest, MemRef):
        copy(m, op, MemRef.of(source, dest.type), dest)
        return None
    return source.copy()


def _clone(m: Machine, op: Operation, source: MemRef) -> MemRef:
    return MemRef.of(to_tensor(m, op, source), source.type)


def _dealloc(m: Machine, op: Operation, *_: Any) -> Any:
    """Whether each retained buffer is one that was to be freed."""
    groups = m.groups(op)
    pairs = list(zip(groups["memrefs"], groups["conditions"], strict=True))
    owned = tuple(
        int(any(c and np.shares_memory(b.memory, kept.memory) for b, c in pairs))
        for kept in groups["retained"]
    )
    return owned[0] if len(owned) == 1 else owned


def _nothing(*_: Any) -> None:
    """Memory lives as long as something sees it."""


OPERATIONS: dict[str, Evaluate] = {
    "bufferization.to_tensor": to_tensor,
    "bufferization.to_buffer": to_buffer,
    "bufferization.alloc_tensor": _alloc_tensor,
    "bufferization.dealloc_tensor": _nothing,
    "bufferization.dealloc": _dealloc,
    "bufferization.clone": _clone,
    "bufferization.materialize_in_destination": _materialize,
}
