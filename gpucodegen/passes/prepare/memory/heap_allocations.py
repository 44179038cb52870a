"""Large buffers of loops: on the heap, given back at the end of their block.

Comes in: a function with ``memref.alloca`` in loops and branches.  Goes out: the same
where the first that fit on the stack stay, and ``memref.alloc`` with ``memref.dealloc``
in place of the others.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import memref
from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Block, Operation, rewrite_bottom_up
from gpucodegen.passes.cpu.cpu_outliner import allocated_bytes, first_to_fit
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions


@dataclass(frozen=True, slots=True)
class HeapAllocations(ModulePass):
    """Leave no more on the stack than it surely has room for."""

    name: ClassVar[str] = "heap-allocations"

    def apply(self, module: Module) -> Module:
        """Rewrite every function; the host allocates what is outside of loops."""

        def rewritten(function: Operation) -> list[Operation]:
            outermost = {op for b in function.regions[0].blocks for op in b.operations}
            inner = [
                op
                for op in function.walk()
                if op.name == "memref.alloca" and op not in outermost
            ]
            large = {op for op in inner if allocated_bytes(op)} - {*first_to_fit(inner)}
            if not large:
                return [function]
            return rewrite_bottom_up(function, lambda op: _moved(op, large))

        return in_functions(module, rewritten)


def _moved(op: Operation, large: AbstractSet[Operation]) -> list[Operation] | None:
    """The operation with the large buffers of its blocks on the heap."""
    moved = op.with_blocks(lambda block: _block(block, large))
    return None if moved is op else [moved]


def _block(block: Block, large: AbstractSet[Operation]) -> Block:
    if large.isdisjoint(block.operations):
        return block
    *inner, last = block.operations
    moved = [op.with_(name="memref.alloc") if op in large else op for op in inner]
    freed = [
        memref.dealloc(op.result, location=op.location) for op in inner if op in large
    ]
    return block.with_operations([*moved, *freed, last])
