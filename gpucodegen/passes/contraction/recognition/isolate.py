"""Contractions get nests of their own, wherever and however they are written.

Comes in: affine nests. Goes out: the same, where a part of a nest is a contraction that
register tiles pay for, in parts of which it is one:

1. sums that loops carry become sums in memory (`recognition.reduction_to_memory`);
2. vectors that each iteration fills anew become matrices (`contraction.expansion`);
3. loops are distributed over their bodies (`distribute`).

Each element's terms are still added in their order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value, replaced
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.analysis.queries import analyse
from gpucodegen.passes.contraction.cpu.forms import paying_contraction
from gpucodegen.passes.contraction.recognition.expansion import expansions
from gpucodegen.passes.contraction.recognition.multiply_add import MULTIPLY
from gpucodegen.passes.contraction.recognition.reduction_to_memory import (
    reductions_in_memory,
    shared_buffers,
)
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions, with_blocks
from gpucodegen.passes.loops.order.distribution import distribute


@dataclass(frozen=True, slots=True)
class IsolateContractions(ModulePass):
    """Give contractions nests of their own; ``max_bytes`` of a matrix made of vectors.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''func.func @f(%A: memref<8x8xf32>, %B: memref<8x8xf32>,
    ...                                     %C: memref<8x8xf32>, %zero: f32) {
    ...   affine.for %i = 0 to 8 {
    ...     affine.for %j = 0 to 8 {
    ...       %s = affine.for %k = 0 to 8 iter_args(%p = %zero) -> (f32) {
    ...         %a = affine.load %A[%i, %k] : memref<8x8xf32>
    ...         %b = affine.load %B[%k, %j] : memref<8x8xf32>
    ...         %ab = arith.mulf %a, %b : f32
    ...         %q = arith.addf %p, %ab : f32
    ...         affine.yield %q : f32
    ...       }
    ...       affine.store %s, %C[%i, %j] : memref<8x8xf32>
    ...     }
    ...   }
    ...   return
    ... }''')
    >>> nests = IsolateContractions().apply(module).functions["f"].body.operations[:-1]
    >>> [paying_contraction(nest) is not None for nest in nests]
    [False, True]
    """

    name: ClassVar[str] = "isolate-contractions"
    max_bytes: int = 1 << 24

    def apply(self, module: Module) -> Module:
        """Isolate in every function with a body."""
        surroundings = Surroundings.of(module)

        def changed(op: Operation) -> list[Operation]:
            if not any(map(_may_contract, op.walk())):
                return [op]
            shared = shared_buffers(op, surroundings)
            found = with_blocks(op, lambda ops: _isolated(ops, surroundings, shared))
            return [_expanded(found, surroundings, self.max_bytes)]

        return in_functions(module, changed)


def _may_contract(op: Operation) -> bool:
    """Whether an innermost loop multiplies and adds."""
    if op.name != "affine.for":
        return False
    names = {inner.name for inner in op.body.operations}
    return any({add, multiply} <= names for add, multiply in MULTIPLY.items())


def _isolated(
    operations: Sequence[Operation],
    surroundings: Surroundings,
    shared: frozenset[Value],
) -> list[Operation]:
    """The operations of a block with its nests in parts."""
    current: list[Operation] = []
    for at, op in enumerate(operations):
        is_candidate = op.name == "affine.for" and any(map(_may_contract, op.walk()))
        if not is_candidate or paying_contraction(op):
            current.append(op)
            continue
        found = reductions_in_memory(op, shared)
        before = (*operations[:at], *found.allocations)
        parts = _parts(found.nest, before, surroundings)
        if not any(map(paying_contraction, parts)):
            current.append(op)
            continue
        current += [*found.allocations, *parts, *found.deallocations]
    return current


def _parts(
    op: Operation, context: Sequence[Operation], surroundings: Surroundings
) -> list[Operation]:
    """The nest distributed as far as that goes."""
    if op.name != "affine.for" or paying_contraction(op):
        return [op]
    nests = distribute(op, analyse([op], context, surroundings))
    if len(nests) == 1:
        return nests
    return [part for nest in nests for part in _parts(nest, context, surroundings)]


def _expanded(
    function: Operation, surroundings: Surroundings, max_bytes: int
) -> Operation:
    """The function after the expansions that isolate contractions.

    Each round takes loops that are apart: what one becomes does not matter to another.
    """
    tried: set[Value] = set()
    while True:
        parts_of: dict[Operation, list[Operation]] = {}
        inside: set[Operation] = set()
        for found in expansions(function, surroundings, max_bytes):
            loop, iv = found.loop, found.loop.body.arguments[0]
            is_candidate = iv not in tried and loop not in inside
            if not is_candidate or not any(map(_may_contract, loop.walk())):
                continue
            tried.add(iv)
            parts = [p for op in found.operations for p in _parts(op, (), surroundings)]
            if any(map(paying_contraction, parts)):
                parts_of[loop] = parts
                inside.update(loop.walk())
        if not parts_of:
            return function
        function = replaced(function, parts_of)
