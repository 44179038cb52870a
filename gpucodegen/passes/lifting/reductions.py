"""Statements ``cell = cell OP value`` with OP associative and commutative."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import IndexType, IntegerType
from gpucodegen.tiling.scop import Access, Reduction

OPERATORS: dict[str, str] = {
    "arith.addf": "add",
    "arith.addi": "add",
    "arith.mulf": "mul",
    "arith.muli": "mul",
    "arith.maximumf": "max",
    "arith.minimumf": "min",
    "arith.maxnumf": "max",
    "arith.minnumf": "min",
    "arith.maxsi": "max",
    "arith.minsi": "min",
    "arith.maxui": "max",
    "arith.minui": "min",
    "arith.andi": "and",
    "arith.ori": "or",
    "arith.xori": "xor",
}
ACCUMULATOR_FIRST: dict[str, str] = {"arith.subf": "add", "arith.subi": "add"}
"""``cell = cell - value`` adds a negated value; ``value - cell`` is no reduction."""

_ORDER_FREE = frozenset({"max", "min", "and", "or", "xor"})


def combiner(
    stored: Value, definitions: Mapping[Value, Operation], accumulators: Sequence[Value]
) -> tuple[Operation, Value] | None:
    """The operation that makes ``stored`` from one accumulator, with that one."""
    op = definitions.get(stored)
    if op is None or len(op.operands) != 2:
        return None
    candidates = op.operands if op.name in OPERATORS else op.operands[:1]
    if op.name not in OPERATORS and op.name not in ACCUMULATOR_FIRST:
        return None
    found = [v for v in candidates if v in accumulators]
    return (op, found[0]) if len(found) == 1 else None


def operator_of(op: Operation) -> str:
    """The reduction operator of a combining operation."""
    return OPERATORS.get(op.name) or ACCUMULATOR_FIRST[op.name]


def is_reassociable(op: Operation) -> bool:
    """Whether the terms may be combined in another order with the same meaning."""
    if isinstance(op.results[0].type, IntegerType | IndexType):
        return True
    if operator_of(op) in _ORDER_FREE:
        return True
    flags = str(op.attributes.get("fastmath", StringAttr("")))
    return "reassoc" in flags or "fast>" in flags


def depends_on(
    value: Value, source: Value, definitions: Mapping[Value, Operation]
) -> bool:
    """Whether ``value`` is computed from ``source`` by these operations."""
    work, seen = [value], set[Value]()
    while work:
        current = work.pop()
        if current is source:
            return True
        op = definitions.get(current)
        if op is not None and current not in seen:
            seen.add(current)
            work += op.operands
            work += [v for nested in op.walk() for v in nested.operands]
    return False


def memory_reduction(
    operations: Sequence[Operation],
    accesses: Sequence[Access],
    definitions: Mapping[Value, Operation],
    uses: Mapping[Value, int],
) -> Reduction | None:
    """The reduction done by the last operation, a store, if it is one.

    ``operations`` and ``accesses`` correspond one to one.
    """
    store, target = operations[-1], accesses[-1]
    if not target.writes or not target.exact or target.span or not store.operands:
        return None
    loads = {
        op.results[0]: position
        for position, (op, access) in enumerate(zip(operations, accesses, strict=True))
        if not access.writes and op.results and _same_cell(access, target)
    }
    if len(loads) != 1:
        return None
    found = combiner(store.operands[0], definitions, tuple(loads))
    if found is None:
        return None
    op, accumulator = found
    others = [v for v in op.operands if v is not accumulator]
    single_use = uses.get(accumulator) == 1 and uses.get(op.results[0]) == 1
    if not single_use or any(depends_on(v, accumulator, definitions) for v in others):
        return None
    position = loads[accumulator]
    return Reduction(operator_of(op), position, len(accesses) - 1, is_reassociable(op))


def _same_cell(first: Access, second: Access) -> bool:
    return first.array == second.array and first.indices == second.indices
