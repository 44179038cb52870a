"""The pass that replaces attention by one kernel."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gpucodegen.dialects import linalg
from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.gcg import NAME
from gpucodegen.ir.operation import Block, Operation, Value
from gpucodegen.passes.contraction.attention.chain import (
    Attention,
    attention_at,
    batches,
)
from gpucodegen.passes.contraction.attention.elements import Buffers, is_structured
from gpucodegen.passes.contraction.attention.kernel import launch
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import definitions, in_functions
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.attention_plan import attention_plan
from gpucodegen.tiling.machine.gpu.devices import GRID
from gpucodegen.tiling.machine.gpu.product_plan import planned_for


@dataclass(frozen=True, slots=True)
class FuseAttention(ModulePass):
    """Two products of 16-bit factors with a softmax between become a ``gpu.launch``.

    ``arch``: the architecture that kernels are planned for.  ``alignments``: known
    divisors of the addresses of the arguments of function ``entry``, 0 for arrays that
    are aligned as devices allocate them.
    """

    name: ClassVar[str] = "fuse-attention"
    looks_for: ClassVar[frozenset[str]] = frozenset({"math.exp", "math.exp2"})
    arch: str = ""
    entry: str = ""
    alignments: tuple[int, ...] = ()

    def apply(self, module: Module) -> Module:
        return in_functions(module, lambda function: [self._fused(function)])

    def _fused(self, function: Operation) -> Operation:
        if not any(op.name in self.looks_for for op in function.walk()):
            return function
        numbers = definitions(function)

        def inside(op: Operation) -> Operation:
            return op if op.dialect == "linalg" else op.with_blocks(block)

        def block(old: Block) -> Block:
            operations = [*map(inside, old.operations)]
            return old.with_operations(self._list(function, operations, numbers))

        return function.with_blocks(block)

    def _list(
        self,
        function: Operation,
        operations: Sequence[Operation],
        numbers: dict[Value, Operation],
    ) -> Sequence[Operation]:
        at = 0
        while at < len(operations):
            made = self._at(function, operations, numbers, at)
            operations, at = made or operations, at + 1
        return operations

    def _at(
        self,
        function: Operation,
        operations: Sequence[Operation],
        numbers: dict[Value, Operation],
        at: int,
    ) -> list[Operation] | None:
        """The operations with the attention whose second product is at a position."""
        buffers = Buffers.of(function, operations)
        found = attention_at(operations, at, buffers, numbers)
        if found is None or any(NAME in op.attributes for op in operations):
            return None
        sizes = found.extents
        axes = found.axes
        problem = sizes[axes.row], batches(found), sizes[axes.depth], sizes[axes.column]
        plan = attention_plan(*problem, planned_for(self.arch))
        if plan is None or batches(found) > GRID[1]:
            return None
        if not self._is_aligned(function, found, buffers):
            return None
        kept = _replaced(
            found, operations, launch(found, plan, operations[at].location)
        )
        left = _without_unread(kept, buffers)
        return None if operations[found.product] in left else left

    def _is_aligned(
        self, function: Operation, found: Attention, buffers: Buffers
    ) -> bool:
        """Whether rows begin at addresses that asynchronous copies may read."""
        if symbol_name(function) != self.entry:
            return True
        arguments = function.body.arguments
        known = dict(zip(arguments, self.alignments, strict=False))
        sources = (x.source for x in (found.query, found.key, found.value))
        return not any(known.get(buffers.root(v), 0) % COPY for v in sources)


COPY = 16
"""Bytes of an asynchronous copy."""


def _replaced(
    found: Attention, operations: Sequence[Operation], made: Sequence[Operation]
) -> list[Operation]:
    gone = {found.last, found.initial}
    before = [op for n, op in enumerate(operations[: found.last]) if n not in gone]
    return [*before, *made, *operations[found.last + 1 :]]


def _without_unread(
    operations: Sequence[Operation], buffers: Buffers
) -> list[Operation]:
    """The operations without those that write what nobody reads in allocated buffers.

    From the end on, ``read`` are the buffers that later operations read.
    """
    made = {op.result for op in operations if op.name == "memref.alloc"}
    own = made & {*buffers.writers}
    kept: list[Operation] = []
    read: set[Value] = set()
    for op in reversed(operations):
        if is_structured(op):
            (out,) = linalg.Structured(op).outputs
            if out in own - read:
                continue
            read.update(linalg.Structured(op).inputs)
        elif op.name not in ("memref.dealloc", "memref.dim"):
            read.update(v for inner in op.walk() for v in inner.used)
        kept.append(op)
    used = {v for op in kept for v in op.used if op.name != "memref.dealloc"}
    gone = own - used
    lives = [(op, {*op.results, *op.operands}) for op in kept[::-1]]
    return [op for op, values in lives if gone.isdisjoint(values)]
