"""Rules of memref operations."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.dialects import memref as view
from gpucodegen.dialects.definition import Check
from gpucodegen.ir.attributes import AffineMapAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import (
    INDEX,
    MemRefType,
    Shape,
    Type,
    UnrankedMemRefType,
)


def indices_after(position: int) -> Check:
    """As many indices follow the memref at ``position`` as it has dimensions."""

    def check(o: Operation) -> None:
        check_indices(o, o.operands[position], len(o.operands) - position - 1)

    return check


def check_indices(o: Operation, memref: Value, count: int) -> None:
    """``count`` indices fit the memref's rank."""
    ty = memref.type
    if isinstance(ty, MemRefType) and ty.rank != count:
        raise errors.WrongRank(o.location, type=ty, rank=ty.rank, actual=count)


def check_alloc(o: Operation) -> None:
    """One size per ``?``, one symbol operand per symbol of the layout."""
    alloc = view.Alloc(o)
    ty = alloc.type
    if not isinstance(ty, MemRefType):
        return
    dynamic = ty.shape.count(None)
    if len(alloc.dynamic_sizes) != dynamic:
        raise errors.WrongOperandCount(
            o.location,
            operation=o.name,
            expected=f"{dynamic} sizes (one per '?')",
            actual=len(alloc.dynamic_sizes),
        )
    symbols = ty.layout.map.num_syms if isinstance(ty.layout, AffineMapAttr) else 0
    if len(alloc.symbols) != symbols:
        raise errors.WrongOperandCount(
            o.location,
            operation=o.name,
            expected=f"{symbols} symbol operands",
            actual=len(alloc.symbols),
        )


def check_cast(o: Operation) -> None:
    """Elements agree, and so do the extents that both types state."""
    source, target = o.operands[0].type, o.results[0].type
    if not _castable(source, target):
        raise errors.InvalidCast(
            o.location,
            operation=o.name,
            source=source,
            target=target,
            hint="Keep the element type, the rank and the static extents",
        )


def _castable(source: Type, target: Type) -> bool:
    if not isinstance(source, MemRefType | UnrankedMemRefType):
        return False
    if not isinstance(target, MemRefType | UnrankedMemRefType):
        return False
    if source.element != target.element:
        return False
    if isinstance(source, MemRefType) and isinstance(target, MemRefType):
        return compatible_shapes(source.shape, target.shape)
    return True


def compatible_shapes(first: Shape, second: Shape) -> bool:
    """Same rank, and no two static extents differ."""
    return len(first) == len(second) and all(
        a is None or b is None or a == b for a, b in zip(first, second, strict=True)
    )


def check_copy(o: Operation) -> None:
    """Both sides hold the same elements in compatible shapes."""
    source, target = (v.type for v in o.operands)
    if not _castable(source, target):
        raise errors.InvalidCast(
            o.location,
            operation=o.name,
            source=source,
            target=target,
            hint="Copy between buffers of one element type and shape",
        )


def check_subview(o: Operation) -> None:
    """One offset, size and stride per dimension of the source."""
    part = view.Slice(o)
    ty = part.source.type
    if not isinstance(ty, MemRefType):
        return
    for entries in (part.offsets, part.sizes, part.strides):
        if len(entries) != ty.rank:
            raise errors.WrongRank(
                o.location, type=ty, rank=ty.rank, actual=len(entries)
            )


def check_dma_start(o: Operation) -> None:
    """Source, destination and tag are memrefs with one index per dimension."""
    values = list(o.operands)
    position = 0
    for what in ("the source", "the destination", "the tag"):
        ty = values[position].type if position < len(values) else INDEX
        if not isinstance(ty, MemRefType):
            raise errors.InvalidOperandType(
                o.location, operation=o.name, what=what, expected="a memref", actual=ty
            )
        position += 1 + ty.rank + (what == "the destination")
    rest = len(values) - position
    if rest not in (0, 2):
        raise errors.WrongOperandCount(
            o.location,
            operation=o.name,
            expected="indices for each memref and a stride pair or none as",
            actual=len(values),
        )
    _check_dma_elements(o)


def _check_dma_elements(o: Operation) -> None:
    dma = view.DmaStart(o)
    source, target = (end[0].type for end in (dma.source, dma.target))
    if not (isinstance(source, MemRefType) and isinstance(target, MemRefType)):
        return
    if source.element != target.element:
        raise errors.TypesDiffer(
            o.location,
            operation=o.name,
            first="the source",
            first_type=source,
            second="the destination",
            second_type=target,
        )
