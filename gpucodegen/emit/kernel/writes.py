"""Which memrefs operations write to, directly or through views."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from gpucodegen.dialects.nvgpu.copies import COPY
from gpucodegen.dialects.shared.transfers import STARTS, ends_of
from gpucodegen.ir.operation import Operation, Value

STORES = {
    "affine.store": 1,
    "memref.store": 1,
    "affine.vector_store": 1,
    "vector.store": 1,
    "vector.transfer_write": 1,
    "vector.maskedstore": 0,
    "memref.atomic_rmw": 1,
    "memref.generic_atomic_rmw": 0,
    "memref.copy": 1,
    "memref.dma_wait": 0,
    "affine.dma_wait": 0,
    "gcg.grid_barrier": 0,
    COPY: 0,
    "gpu.subgroup_mma_store_matrix": 1,
    "nvgpu.warpgroup.mma.store": 1,
}
"""The operand that an operation writes to."""


def written_in(operations: Sequence[Operation]) -> set[Value]:
    """Memrefs that the operations write to, directly or through a view."""
    written: set[Value] = set()
    for root in operations:
        for op in root.walk():
            if op.name in STORES:
                written.add(op.operands[STORES[op.name]])
            elif op.name in STARTS:
                _, target, tag = ends_of(op)
                written.update((target.memref, tag.memref))
    return with_sources(operations, written)


def with_sources(operations: Iterable[Operation], values: set[Value]) -> set[Value]:
    """The memrefs, and those that they are views of."""
    source = {
        result: op.operands[0]
        for root in operations
        for op in root.walk()
        if op.dialect == "memref" and op.operands
        for result in op.results
    }
    found: set[Value] = set()
    work = list(values)
    while work:
        value = work.pop()
        found.add(value)
        if value in source:
            work.append(source[value])
    return found
