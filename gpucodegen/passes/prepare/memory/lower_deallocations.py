"""``bufferization.dealloc`` as plain deallocations under their conditions.

A buffer is freed if its condition holds and none that is retained is the same memory:

    freed(i)    =  condition(i) and not any(same(i, j) for retained j)
    updated(j)  =  any(condition(i) and same(i, j) for freed i)

Memory is the same where both show one buffer; addresses tell where nothing else does.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import arith, memref
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.scf import if_
from gpucodegen.dialects.shared.memory import ALLOCATIONS
from gpucodegen.ir.operation import (
    Operation,
    Value,
    operand_segments,
    rewrite_bottom_up,
    substitute_values,
)
from gpucodegen.ir.types import I1, INDEX
from gpucodegen.passes.analysis.lifting.buffers.aliases import owners
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.builder import Builder

NAME = "bufferization.dealloc"
Memory = Mapping[Value, Value]
"""The buffer of each view."""


@dataclass(frozen=True, slots=True)
class LowerDeallocations(ModulePass):
    """Buffers are freed where nothing retains them, each where it is owned."""

    name: ClassVar[str] = "lower-deallocations"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations, if there are such."""
        operations = list(module.walk())
        if not any(op.name == NAME for op in operations):
            return module
        shown = owners(operations)
        made = {op.results[0] for op in operations if op.name in ALLOCATIONS}
        lowering = _Lowering(shown, made, {})
        (root,) = rewrite_bottom_up(module.operation, lowering.rewrite)
        return Module(substitute_values(root, lowering.updated))


@dataclass(frozen=True, slots=True)
class _Lowering:
    """The rules, for one module.

    ``shown``: the buffer of each view.  ``made``: those that are allocated here.
    ``updated``: what results of rewritten operations are now.
    """

    shown: Memory
    made: set[Value]
    updated: dict[Value, Value]

    def rewrite(self, op: Operation) -> list[Operation] | None:
        """The operations in place of one; None where it stays."""
        if op.name != NAME:
            return None
        b = Builder(op.location)
        freed, conditions, retained = operand_segments(op, 3)
        for kept, result in zip(retained, op.results, strict=True):
            pairs = zip(freed, conditions, strict=True)
            owned = [
                b.add("arith.andi", (c, self._same(b, m, kept)), [I1])[0]
                for m, c in pairs
            ]
            self.updated[result] = _any(b, owned)
        for memory, condition in zip(freed, conditions, strict=True):
            same = _any(b, [self._same(b, memory, kept) for kept in retained])
            self._free(b, memory, condition, same)
        return b.operations

    def _same(self, b: Builder, one: Value, other: Value) -> Value:
        """Whether two memrefs show one buffer, as an ``i1``."""
        first, second = (self.shown.get(v, v) for v in (one, other))
        if first is second or first in self.made or second in self.made:
            return b.constant(int(first is second), I1)
        addresses = [
            b.add("memref.extract_aligned_pointer_as_index", (v,), [INDEX])[0]
            for v in (first, second)
        ]
        equal = arith.compare("arith.cmpi", "eq", *addresses, location=b.location)
        b.operations.append(equal)
        return equal.result

    def _free(self, b: Builder, memory: Value, condition: Value, same: Value) -> None:
        """Free memory if a condition holds and it is not the same as what is kept."""
        (other,) = b.add("arith.xori", (same, b.constant(1, I1)), [I1])
        (frees,) = b.add("arith.andi", (condition, other), [I1])
        freed = memref.dealloc(memory, location=b.location)
        b.operations.append(if_(frees, [freed], location=b.location))


def _any(b: Builder, conditions: Sequence[Value]) -> Value:
    """Whether one of several conditions holds."""
    found = b.constant(0, I1)
    for condition in conditions:
        (found,) = b.add("arith.ori", (found, condition), [I1])
    return found
