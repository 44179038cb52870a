"""Operations on buffers that only the runtime can carry out: kernels know no ranks."""

from __future__ import annotations

from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import UnrankedMemRefType

FROM_BUFFER = "gcg.from_buffer"
"""Marks a ``memref.reinterpret_cast`` whose offset counts from the buffer of a view.

Without it passes let it count from the first element of the operand.
"""
NAMES = frozenset(
    {
        "memref.view",
        "memref.realloc",
        "memref.reshape",
        "memref.extract_strided_metadata",
        "memref.extract_aligned_pointer_as_index",
    }
)


def asks_runtime(op: Operation) -> bool:
    """Whether the runtime is asked about a buffer, or makes another one of it.

    >>> asks_runtime(Operation("memref.view")), asks_runtime(Operation("memref.cast"))
    (True, False)
    """
    if op.dialect != "memref":
        return False
    if op.name in NAMES or FROM_BUFFER in op.attributes:
        return True
    values = (*op.operands, *op.results)
    return any(isinstance(value.type, UnrankedMemRefType) for value in values)
