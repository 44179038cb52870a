"""Typed views of ``dma_start`` and ``dma_wait`` of memref and affine.

``count`` elements leave the source in runs of ``run`` elements that start ``stride``
apart on the strided side; the other side is contiguous. The strided side is the one in
the slower memory; with equal spaces it is the source.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.dialects import affine, memref
from gpucodegen.dialects.framework.syntax import Reader, State
from gpucodegen.dialects.shared.memory import MemorySpace, meaning
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import MemRefType, Type
from gpucodegen.records import dataclass

STARTS = frozenset({"memref.dma_start", "affine.dma_start"})
WAITS = frozenset({"memref.dma_wait", "affine.dma_wait"})
TRANSFERS = STARTS | WAITS
PENDING = "gcg.pending"
"""Attribute of a wait: number of newest transfer groups that may stay in flight."""
JOINED = "gcg.joined"
"""Of a start: the next start closes its group. Of a wait: the next wait waits for it.
"""


@dataclass(frozen=True, slots=True)
class End:
    """One end of a transfer, or its tag: a memref and indices through a map."""

    memref: Value
    map: AffineMap
    operands: tuple[Value, ...]

    @staticmethod
    def of(values: Sequence[Value]) -> End:
        """An end whose indices are values."""
        operands = tuple(values[1:])
        return End(values[0], AffineMap.identity(len(operands)), operands)


def ends_of(op: Operation) -> tuple[End, ...]:
    """Source, target and tag of a start; the tag of a wait."""
    match op.name:
        case "memref.dma_start":
            view = memref.DmaStart(op)
            return End.of(view.source), End.of(view.target), End.of(view.tag)
        case "affine.dma_start":
            ends = affine.DmaStart(op).ends
            return tuple(End(x.memref, x.map, x.map_operands) for x in ends)
        case "memref.dma_wait":
            return (End.of(memref.DmaWait(op).tag),)
        case _:
            tag = affine.DmaWait(op).tag
            return (End(tag.memref, tag.map, tag.map_operands),)


def tag_of(op: Operation) -> End:
    """The tag of a start or a wait."""
    return ends_of(op)[-1]


def lengths_of(op: Operation) -> tuple[Value, ...]:
    """Number of elements and, if given, stride and run."""
    if op.name == "affine.dma_start":
        return affine.DmaStart(op).sizes
    if op.name == "memref.dma_start":
        view = memref.DmaStart(op)
        return (view.num_elements, *view.stride)
    return op.operands[-1:]


def left_open(op: Operation) -> int:
    """Number of newest transfer groups that a wait leaves in flight."""
    value = op.attributes.get(PENDING)
    return value.value if isinstance(value, IntegerAttr) else 0


def is_joined(op: Operation) -> bool:
    """Whether a start shares its group with the next start or wait."""
    return JOINED in op.attributes


def has_strided_source(source: Value, target: Value) -> bool:
    """Whether the stride of a transfer applies to its source."""
    return _is_slow(source) or not _is_slow(target)


def _is_slow(value: Value) -> bool:
    if not isinstance(value.type, MemRefType):
        return True
    return meaning(value.type.memory_space) is MemorySpace.GLOBAL


def end_types(r: Reader, state: State, sizes: int) -> list[Type]:
    """Read attributes and the types of source, target and tag of a ``dma_start``.

    ``sizes``: the number of its sizes: the count, or also a stride and a run.
    """
    state.attributes |= r.attr_dict()
    r.expect(":")
    start = r.start
    types = r.types()
    if len(types) != 3 or sizes not in (1, 3):
        raise errors.OperandMismatch(
            r.location(start),
            operation=state.name,
            problem="needs three memref types, and a stride with elements per stride",
            hint="Write ... : source type, destination type, tag type",
        )
    return types
