"""Rules of allocations and copies on the device."""

from __future__ import annotations

from gpucodegen.dialects.framework.rules import compatible_shapes, require
from gpucodegen.dialects.memref.layouts import symbols_of
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.segments import operand_segments
from gpucodegen.ir.types import I8, MemRefType, element_type


def check_alloc(o: Operation) -> None:
    """One size per ``?`` and one value per symbol of the layout."""
    _, sizes, symbols = operand_segments(o, 3)
    ty = o.results[0].type
    if not isinstance(ty, MemRefType):
        return
    require(
        len(sizes) == ty.shape.count(None),
        o,
        f"{len(sizes)} sizes for {ty}",
        "Pass one size per '?'",
    )
    require(
        len(symbols) == symbols_of(ty),
        o,
        f"{len(symbols)} symbols for {ty}",
        "Pass one value per symbol of the layout",
    )


def check_memcpy(o: Operation) -> None:
    """Both buffers hold the same elements in compatible shapes."""
    first, second = (v.type for v in o.operands[-2:])
    shapes = [ty.shape for ty in (first, second) if isinstance(ty, MemRefType)]
    require(
        element_type(first) == element_type(second)
        and (len(shapes) < 2 or compatible_shapes(*shapes)),
        o,
        f"cannot copy {second} to {first}",
        "Copy between buffers of one element type and shape",
    )


def check_memset(o: Operation) -> None:
    """The value is an element."""
    buffer, value = (v.type for v in o.operands[-2:])
    require(
        element_type(buffer) == value,
        o,
        f"cannot fill {buffer} with {value}",
        f"Pass a value of type {element_type(buffer)}",
    )


def check_dynamic_shared_memory(o: Operation) -> None:
    """Bytes of the workgroup, as many as the launch asks for."""
    ty = o.results[0].type
    is_bytes = isinstance(ty, MemRefType) and ty.shape == (None,) and ty.element == I8
    space = str(getattr(ty, "memory_space", ""))
    require(
        is_bytes and space == "#gpu.address_space<workgroup>",
        o,
        f"{ty} is no memory of a workgroup",
        "Write memref<?xi8, #gpu.address_space<workgroup>>",
    )
