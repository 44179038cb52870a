"""Allocations at fixed addresses become views of one allocation where they overlap.

``alloc_static`` (MLIR dialects of 2019) gives a buffer a virtual address.  Buffers
whose address ranges intersect become views of one allocation, so the alias analysis
sees the overlap and a run writes to the elements that the text names.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import ClassVar

from gpucodegen import errors
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.memref import ADDRESS
from gpucodegen.ir.attributes import (
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    StridedLayoutAttr,
)
from gpucodegen.ir.operation import (
    Operation,
    Value,
    rewrite_bottom_up,
    segment_counts,
    substitute_values,
)
from gpucodegen.ir.types import I64, MemRefType, Type, element_bytes
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.functions import on_functions
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True)
class PlaceAllocations(ModulePass):
    """Overlapping static allocations become views of one buffer."""

    name: ClassVar[str] = "place-allocations"
    looks_for: ClassVar[frozenset[str]] = frozenset({ADDRESS})

    def apply(self, module: Module) -> Module:
        return on_functions(module, placed)


@dataclass(frozen=True, slots=True)
class _Range:
    """The ``number``-th allocation and its bytes from ``start`` up to ``stop``."""

    number: int
    op: Operation
    start: int
    stop: int

    @property
    def type(self) -> MemRefType:
        ty = self.op.result.type
        assert isinstance(ty, MemRefType)
        return ty


def placed(function: Operation) -> Operation:
    """The function with overlapping allocations as views of one buffer."""
    allocations = [op for op in function.walk() if ADDRESS in op.attributes]
    ranges = [_range(i, op) for i, op in enumerate(allocations)]
    if not ranges:
        return function
    rebuilt: dict[Operation, list[Operation]] = {}
    shared: set[Value] = set()
    for group in _groups(ranges):
        if len(group) == 1:
            op = group[0].op
            rebuilt[op] = [op.with_attribute(ADDRESS, None)]
        else:
            rebuilt |= _views(group)
            shared.update(r.op.result for r in group)

    def rewrite(op: Operation) -> Sequence[Operation] | None:
        if op.name == "memref.dealloc" and op.operands[0] in shared:
            return []
        return rebuilt.get(op)

    (placed,) = rewrite_bottom_up(function, rewrite)
    return substitute_values(placed, _renewed(rebuilt))


def _renewed(rebuilt: dict[Operation, list[Operation]]) -> dict[Value, Value]:
    """New types of views that do not begin at the start of their buffer."""
    pairs = ((old.result, new[-1].result) for old, new in rebuilt.items())
    return {before: after for before, after in pairs if before is not after}


def _range(number: int, op: Operation) -> _Range:
    address, ty = op.attributes[ADDRESS], op.result.type
    is_plain = isinstance(ty, MemRefType) and ty.layout is None and None not in ty.shape
    if not is_plain or not isinstance(address, IntegerAttr):
        raise errors.UnsupportedOperation(
            op.location,
            operation="alloc_static",
            target="buffers",
            advice="Give it a static shape in row-major order",
        )
    assert isinstance(ty, MemRefType)
    size = prod(n or 0 for n in ty.shape) * _bytes(op, ty.element)
    return _Range(number, op, address.value, address.value + size)


def _bytes(op: Operation, ty: Type) -> int:
    size = element_bytes(ty)
    if size is None:
        raise errors.UnsupportedType(op.location, type=ty, target="static allocations")
    return size


def _groups(ranges: Sequence[_Range]) -> list[list[_Range]]:
    """Connected components of overlapping ranges, per memory space."""
    groups: list[list[_Range]] = []
    ordered = sorted(ranges, key=lambda r: (str(r.type.memory_space), r.start))
    reach = 0
    for item in ordered:
        last = groups[-1] if groups else None
        is_near = last is not None and item.start < reach
        if last is not None and is_near and _space(last[0]) == _space(item):
            last.append(item)
            reach = max(reach, item.stop)
        else:
            groups.append([item])
            reach = item.stop
    return groups


def _space(item: _Range) -> str:
    return str(item.type.memory_space)


def _views(group: Sequence[_Range]) -> dict[Operation, list[Operation]]:
    """Every allocation of a group as a view; the first in the text makes the buffer."""
    base = min(item.start for item in group)
    element = group[0].type.element
    size = _bytes(group[0].op, element)
    for item in group:
        if item.type.element != element or (item.start - base) % size:
            raise errors.UnsupportedOperation(
                item.op.location,
                operation="alloc_static",
                target="buffers",
                advice="Overlapping buffers need one element type and whole steps",
            )
    extent = (max(item.stop for item in group) - base) // size
    b = Builder(group[0].op.location)
    whole = MemRefType((extent,), element, None, group[0].type.memory_space)
    attributes = {"operandSegmentSizes": segment_counts(0, 0)}
    (memory,) = b.add("memref.alloc", (), [whole], attributes, hint="memory")
    first = min(group, key=lambda item: item.number)
    placed = {
        item.op: [_view(item, memory, (item.start - base) // size)] for item in group
    }
    placed[first.op] = [*b.operations, *placed[first.op]]
    return placed


def _view(item: _Range, memory: Value, offset: int) -> Operation:
    shape = tuple(n or 0 for n in item.type.shape)
    strides = tuple(prod(shape[d + 1 :]) for d in range(len(shape)))
    lists = {"offsets": (offset,), "sizes": shape, "strides": strides}
    attributes: dict[str, Attribute] = {
        f"static_{name}": DenseArrayAttr(I64, values) for name, values in lists.items()
    }
    attributes["operandSegmentSizes"] = segment_counts(1, 0, 0, 0)
    result = item.op.result
    if offset:
        layout = StridedLayoutAttr(strides, offset)
        result = result.renewed(replace(item.type, layout=layout))
    return Operation(
        "memref.reinterpret_cast",
        (memory,),
        (result,),
        attributes,
        location=item.op.location,
    )
