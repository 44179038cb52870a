"""memref: updates that nothing comes between."""

from __future__ import annotations

from typing import Any

from gpucodegen.dialects.shared.combiners import OF_ATOMICS, atomic_kind
from gpucodegen.interp.machine import Machine
from gpucodegen.interp.memory.memref import name_of
from gpucodegen.interp.registry import Evaluate
from gpucodegen.interp.scalars.arith import combine
from gpucodegen.interp.values.buffers import MemRef
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import element_type


def _update(_: Machine, op: Operation, value: Any, buffer: MemRef, *index: int) -> Any:
    """What was there before."""
    name = name_of(op.operands[1])
    before = buffer.load(index, name)
    row = OF_ATOMICS.get(atomic_kind(op))
    if row is not None:
        value = combine(row.operation, element_type(op.results[0].type))(before, value)
    buffer.store(index, value, name)
    return before


def _generic(m: Machine, op: Operation, buffer: MemRef, *index: int) -> Any:
    name = name_of(op.operands[0])
    before = buffer.load(index, name)
    (after,) = m.results(op.regions[0], (before,))
    buffer.store(index, after, name)
    return before


OPERATIONS: dict[str, Evaluate] = {
    "memref.atomic_rmw": _update,
    "memref.generic_atomic_rmw": _generic,
}
