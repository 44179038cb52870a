"""A function of several blocks as one CPU kernel and a host function that calls it.

Loops made of branches run compiled that way.  The results, which are scalars, leave the
kernel through buffers of one element.  What only the host can do keeps all there.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects import memref
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gcg import alias_groups, with_groups
from gpucodegen.dialects.memref import needs_runtime
from gpucodegen.dialects.shared.effects import is_external
from gpucodegen.ir.attributes import SymbolRefAttr
from gpucodegen.ir.operation import Block, Operation, Region, Value, single_block
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.cpu.cpu_outliner import HOST_ONLY, cpu_kernel
from gpucodegen.passes.framework.builder import Builder

ON_THE_HOST = HOST_ONLY | {"memref.alloc", "memref.alloca", "memref.get_global"}


def outline_blocks(function: Operation, name: str) -> list[Operation] | None:
    """The kernel and the host function, or None where that does not pay or work."""
    if not _touches_memory(function) or not _fits_a_kernel(function):
        return None
    view = Function(function)
    b = Builder(function.location)
    arguments = tuple(value.renewed() for value in view.arguments)
    boxes = [
        b.allocate("memref.alloc", MemRefType((), ty), "result")
        for ty in view.result_types
    ]
    b.add("func.call", (*arguments, *boxes), (), {"callee": SymbolRefAttr((name,))})
    results = [_emptied(b, box) for box in boxes]
    b.add("func.return", results)
    host = function.with_(regions=(single_block(b.operations, arguments),))
    return [_kernel(function, name, boxes), host]


def _touches_memory(function: Operation) -> bool:
    return any(
        isinstance(value.type, MemRefType)
        for op in function.walk()
        for value in op.operands
    )


def _fits_a_kernel(function: Operation) -> bool:
    makes_buffers = any(
        isinstance(ty, MemRefType) for ty in Function(function).result_types
    )
    return not makes_buffers and runs_in_kernels(function)


def runs_in_kernels(function: Operation) -> bool:
    """Whether nothing in a function needs the host."""
    return all(
        op.name not in ON_THE_HOST and not is_external(op) and not needs_runtime(op)
        for op in function.walk()
    )


def _emptied(b: Builder, box: Value) -> Value:
    load = memref.load(box, location=b.location)
    b.operations.append(load)
    b.operations.append(memref.dealloc(box, location=b.location))
    return load.result


def _kernel(function: Operation, name: str, boxes: Sequence[Value]) -> Operation:
    parameters = tuple(box.renewed() for box in boxes)
    entry, *others = Function(function).blocks
    blocks = (Block((*entry.arguments, *parameters), entry.operations), *others)
    body = Region(tuple(_storing(block, parameters) for block in blocks))
    groups = (*alias_groups(function), *[None] * len(boxes))
    return with_groups(cpu_kernel(name, body, function.location), groups)


def _storing(block: Block, boxes: Sequence[Value]) -> Block:
    """The block with the values it returns stored instead."""
    *body, last = block.operations
    if last.name != "func.return":
        return block
    stores = [
        memref.store(value, box, location=last.location)
        for value, box in zip(last.operands, boxes, strict=True)
    ]
    return block.with_operations((*body, *stores, last.with_(operands=())))
