"""Rules of memref operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen import errors
from gpucodegen.dialects import memref as view
from gpucodegen.dialects.framework.definition import Check
from gpucodegen.dialects.framework.rules import compatible_shapes, require
from gpucodegen.dialects.memref.layouts import is_row_major, symbols_of
from gpucodegen.dialects.memref.view_checks import (
    AnyMemRef,
    check_same_storage,
    compatible_layouts,
)
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import INDEX, MemRefType, Type


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
    dynamic, symbols = ty.shape.count(None), symbols_of(ty)
    _check_count(o, f"{dynamic} sizes (one per '?')", dynamic, alloc.dynamic_sizes)
    _check_count(o, f"{symbols} layout symbols", symbols, alloc.symbols)


def _check_count(
    o: Operation, expected: str, count: int, values: Sequence[Value]
) -> None:
    if len(values) != count:
        raise errors.WrongOperandCount(
            o.location, operation=o.name, expected=expected, actual=len(values)
        )


def check_realloc(o: Operation) -> None:
    """Row-major buffers of one element type and memory space."""
    source, result = o.operands[0].type, o.results[0].type
    check_same_storage(o, source, result)
    if not isinstance(result, MemRefType):
        return
    for ty in (source, result):
        is_plain = isinstance(ty, MemRefType) and is_row_major(ty)
        require(is_plain, o, f"{ty} is not row-major", "Remove the layout")
    dynamic = result.shape.count(None)
    _check_count(o, f"{dynamic} size(s) for {result}", dynamic, o.operands[1:])


# -- casts and copies ------------------------------------------------------------------


def check_cast(o: Operation) -> None:
    """Elements and memory space agree, and so does all that both types state."""
    source, target = o.operands[0].type, o.results[0].type
    if not _castable(source, target):
        raise errors.InvalidCast(
            o.location,
            operation=o.name,
            source=source,
            target=target,
            hint="Keep the element type, the rank, the static extents, the strides"
            " and the memory space",
        )


def _castable(source: Type, target: Type) -> bool:
    if not isinstance(source, AnyMemRef) or not isinstance(target, AnyMemRef):
        return False
    if source.memory_space != target.memory_space or not _same_array(source, target):
        return False
    if isinstance(source, MemRefType) and isinstance(target, MemRefType):
        return compatible_layouts(source, target)
    return True


def _same_array(source: AnyMemRef, target: AnyMemRef) -> bool:
    if source.element != target.element:
        return False
    if isinstance(source, MemRefType) and isinstance(target, MemRefType):
        return compatible_shapes(source.shape, target.shape)
    return True


def check_space_cast(o: Operation) -> None:
    """Only the memory space changes."""
    source, target = o.operands[0].type, o.results[0].type
    if not isinstance(source, AnyMemRef) or not isinstance(target, AnyMemRef):
        return
    if replace(source, memory_space=target.memory_space) != target:
        raise errors.InvalidCast(
            o.location,
            operation=o.name,
            source=source,
            target=target,
            hint="Change nothing but the memory space",
        )


def check_copy(o: Operation) -> None:
    """Both sides hold the same elements in compatible shapes."""
    source, target = (v.type for v in (*o.operands, *o.results))
    if not isinstance(source, AnyMemRef) or not isinstance(target, AnyMemRef):
        return
    if not _same_array(source, target):
        raise errors.InvalidCast(
            o.location,
            operation=o.name,
            source=source,
            target=target,
            hint="Copy between buffers of one element type and shape",
        )


# -- asynchronous copies ---------------------------------------------------------------


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
