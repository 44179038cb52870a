"""The memref dialect: allocation, element access, views and asynchronous copies.

`needs_runtime` tells operations that only the host runtime can execute, since kernels
know no ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import (
    OPERAND_SEGMENTS,
    OperandAt,
    Operation,
    Segments,
    Value,
    operand_segments,
    segment_sizes,
)
from gpucodegen.ir.types import (
    MemRefType,
    TensorType,
    Type,
    UnrankedMemRefType,
    VectorType,
    element_type,
)
from gpucodegen.records import dataclass

FROM_BUFFER = "gcg.from_buffer"
"""Marks a ``memref.reinterpret_cast`` whose offset counts from the base of the buffer.

Without it, the offset counts from the first element of the operand.
"""
RUNTIME_OPERATIONS = frozenset(
    {
        "memref.view",
        "memref.realloc",
        "memref.reshape",
        "memref.extract_strided_metadata",
        "memref.extract_aligned_pointer_as_index",
    }
)


def needs_runtime(op: Operation) -> bool:
    """Whether the operation queries a buffer or makes another buffer of it on the host.

    >>> needs_runtime(Operation("memref.view")), needs_runtime(Operation("memref.cast"))
    (True, False)
    """
    if op.dialect != "memref":
        return False
    if op.name in RUNTIME_OPERATIONS or FROM_BUFFER in op.attributes:
        return True
    values = (*op.operands, *op.results)
    return any(isinstance(value.type, UnrankedMemRefType) for value in values)


ADDRESS = "gpucodegen.address"
"""Attribute of an allocation at a fixed address, in bytes (alloc_static of 2019)."""
DYNAMIC_MARK = -(2**63)
"""The marker of a dynamic entry in ``static_offsets`` / ``sizes`` / ``strides``."""


def rank(value: Value) -> int:
    """Rank of a shaped value; zero for anything else."""
    ty = value.type
    is_shaped = isinstance(ty, MemRefType | TensorType | VectorType)
    return len(ty.shape) if is_shaped else 0


def static_extents(buffer: Value) -> tuple[int, ...]:
    """The extents of a buffer; zero for an unknown one."""
    ty = buffer.type
    return tuple(e or 0 for e in ty.shape) if isinstance(ty, MemRefType) else ()


@dataclass(frozen=True, slots=True)
class Alloc:
    """Reading access to ``memref.alloc`` and ``memref.alloca``."""

    operation: Operation

    dynamic_sizes = Segments(0, of=2)
    symbols = Segments(1, of=2)
    """Operands bound to the layout's symbols."""

    @property
    def type(self) -> Type:
        return self.operation.result.type


Mixed = Value | int


@dataclass(frozen=True, slots=True)
class Slice:
    """Reading access to subviews, reinterpret casts and tensor slices.

    Offsets, sizes and strides are numbers or values.
    """

    operation: Operation

    source = OperandAt(0)

    @property
    def offsets(self) -> tuple[Mixed, ...]:
        """Start per dimension (one number for ``reinterpret_cast``)."""
        return self._mixed(-3, "static_offsets")

    @property
    def sizes(self) -> tuple[Mixed, ...]:
        """Extent per dimension."""
        return self._mixed(-2, "static_sizes")

    @property
    def strides(self) -> tuple[Mixed, ...]:
        """Stride per dimension."""
        return self._mixed(-1, "static_strides")

    def _mixed(self, segment: int, name: str) -> tuple[Mixed, ...]:
        dynamic = iter(operand_segments(self.operation, 4)[segment])
        entries = self.operation.numbers(name)
        return tuple(next(dynamic) if e == DYNAMIC_MARK else int(e) for e in entries)


@dataclass(frozen=True, slots=True)
class DmaStart:
    """Reading access to ``memref.dma_start``; ranks divide the operand list."""

    operation: Operation

    def _cut(self) -> tuple[tuple[Value, ...], ...]:
        operands = self.operation.operands
        source = 1 + rank(operands[0])
        target = source + 1 + rank(operands[source])
        tag = target + 2 + rank(operands[target + 1])
        cuts = (0, source, target, target + 1, tag, len(operands))
        return tuple(operands[a:b] for a, b in pairwise(cuts))

    @property
    def source(self) -> tuple[Value, ...]:
        return self._cut()[0]

    @property
    def target(self) -> tuple[Value, ...]:
        return self._cut()[1]

    @property
    def num_elements(self) -> Value:
        return self._cut()[2][0]

    @property
    def tag(self) -> tuple[Value, ...]:
        return self._cut()[3]

    @property
    def stride(self) -> tuple[Value, ...]:
        """Stride and elements per stride, or nothing."""
        return self._cut()[4]


@dataclass(frozen=True, slots=True)
class DmaWait:
    """Reading access to ``memref.dma_wait``."""

    operation: Operation

    @property
    def tag(self) -> tuple[Value, ...]:
        return self.operation.operands[:-1]

    num_elements = OperandAt(-1)


# -- builders --------------------------------------------------------------------------


def alloc(
    ty: MemRefType,
    dynamic_sizes: Sequence[Value] = (),
    *,
    location: Location = UNKNOWN,
) -> Operation:
    """``memref.alloc`` of a type with one size per ``?``."""
    attributes: dict[str, Attribute] = {
        OPERAND_SEGMENTS: segment_sizes([dynamic_sizes, ()])
    }
    return Operation(
        "memref.alloc",
        tuple(dynamic_sizes),
        (Value(ty, "", location),),
        attributes,
        location=location,
    )


def dealloc(memref: Value, *, location: Location = UNKNOWN) -> Operation:
    return Operation("memref.dealloc", (memref,), location=location)


def load(
    memref: Value, indices: Sequence[Value] = (), *, location: Location = UNKNOWN
) -> Operation:
    result = Value(element_type(memref.type), "", location)
    return Operation("memref.load", (memref, *indices), (result,), location=location)


def store(
    value: Value,
    memref: Value,
    indices: Sequence[Value] = (),
    *,
    location: Location = UNKNOWN,
) -> Operation:
    return Operation("memref.store", (value, memref, *indices), location=location)


def copy(source: Value, target: Value, *, location: Location = UNKNOWN) -> Operation:
    return Operation("memref.copy", (source, target), location=location)


def dma_start(
    source: Sequence[Value],
    target: Sequence[Value],
    num_elements: Value,
    tag: Sequence[Value],
    stride: Sequence[Value] = (),
    *,
    location: Location = UNKNOWN,
) -> Operation:
    """``memref.dma_start``; each end is a memref followed by its indices."""
    operands = (*source, *target, num_elements, *tag, *stride)
    return Operation("memref.dma_start", operands, location=location)


def dma_wait(
    tag: Sequence[Value], num_elements: Value, *, location: Location = UNKNOWN
) -> Operation:
    return Operation("memref.dma_wait", (*tag, num_elements), location=location)
