"""Loop-invariant code motion of index values.

A symbol of an affine map is defined at the top of its function.  C front ends cast a
loop bound to ``index`` where the loop stands:

    scf.for %i = %c0 to %n { %m = arith.index_cast %arg : i32 to index
                             scf.for %j = %c0 to %m { } }

Each cast whose operands do not depend on the loops around it moves before the outermost
one, together with the operations that compute its operands.  All of them are defined
for every operand, so they may be executed where a loop has no iteration.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value, replaced
from gpucodegen.ir.types import INDEX, IndexType, IntegerType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.records import dataclass

CASTS = frozenset({"arith.index_cast", "arith.index_castui"})
TOTAL = CASTS | frozenset(
    "arith.constant arith.addi arith.subi arith.muli arith.extsi arith.extui"
    " arith.trunci arith.minsi arith.maxsi arith.minui arith.maxui arith.select"
    " arith.cmpi".split()
)
"""Operations on integers that have a result for all operands."""
AROUND = frozenset("scf.for scf.if affine.for affine.if affine.parallel".split())


@dataclass(frozen=True, slots=True)
class HoistIndexValues(ModulePass, name="hoist-index-values"):
    """Casts to ``index`` that no loop changes, before the outermost loop."""

    looks_for: ClassVar[frozenset[str]] = CASTS

    def apply(self, module: Module) -> Module:
        return module.with_operations(
            op.with_blocks(lambda block: block.with_operations(_top(block.operations)))
            if op.name == "func.func"
            else op
            for op in module.operations
        )


def _top(operations: Sequence[Operation]) -> list[Operation]:
    result: list[Operation] = []
    for op in operations:
        invariant = _invariant(op) if op.name in AROUND else []
        if not invariant:
            result.append(op)
            continue
        result += [*invariant, replaced(op, dict.fromkeys(invariant, ()))]
    return result


def _invariant(root: Operation) -> list[Operation]:
    """The casts that move before a loop, each behind what computes its operands."""
    made: dict[Value, Operation] = {}
    inside: set[Value] = set()
    for op in root.walk():
        own = _is_total(op) and all(v in made or v not in inside for v in op.operands)
        inside.update(op.defined)
        if own:
            made.update(dict.fromkeys(op.results, op))
    wanted: dict[Operation, None] = {}

    def want(op: Operation) -> None:
        for operand in op.operands:
            if operand in made:
                want(made[operand])
        wanted.setdefault(op)

    for op in made.values():
        if op.name in CASTS and op.result.type == INDEX:
            want(op)
    return list(wanted)


def _is_total(op: Operation) -> bool:
    values = (*op.operands, *op.results)
    return op.name in TOTAL and all(isinstance(v.type, _INTEGERS) for v in values)


_INTEGERS = IntegerType | IndexType
