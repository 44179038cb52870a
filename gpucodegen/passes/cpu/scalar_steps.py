"""Scalar operations between nests: a kernel runs them on its way.

A step loads or stores one element, or computes a floating-point number out of what the
kernel made.  In the host program each of them costs as much as a short row.  So does a
start of a transfer, or a wait for one: those of a tag are proven together.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence

from gpucodegen.dialects.shared.dma import TRANSFERS
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import FloatType, MemRefType, Type, element_type
from gpucodegen.passes.cpu.vectorize.operations import lane_bits
from gpucodegen.passes.prepare.affine.dead_code import has_no_effect

LOADS = frozenset({"affine.load", "memref.load"})
STORES = frozenset({"affine.store", "memref.store"})
EFFECTS = STORES | TRANSFERS


def is_step(op: Operation, made: Collection[Value] = ()) -> bool:
    """Whether a kernel that makes some values may run an operation.

    >>> from gpucodegen.ir.types import F32
    >>> x = Value(F32, "x")
    >>> root = Operation("math.sqrt", (x,), (Value(F32, "y"),))
    >>> is_step(root, [x]), is_step(root)
    (True, False)
    """
    if op.name in TRANSFERS:
        return True
    if op.name in LOADS | STORES:
        buffer = op.operands[op.name in STORES].type
        return isinstance(buffer, MemRefType) and _is_number(element_type(buffer))
    computes = has_no_effect(op) and op.dialect in {"arith", "math"}
    return (
        computes
        and all(isinstance(v.type, FloatType) for v in (*op.operands, *op.results))
        and all(_is_number(v.type) for v in op.results)
        and any(v in made for v in op.operands)
    )


def _is_number(ty: Type) -> bool:
    """Whether processors have numbers of the type."""
    return (lane_bits(ty) or 0) >= 8


def steps_before(
    operations: Sequence[Operation], stays: Collection[Operation]
) -> list[Operation]:
    """The last accesses of a list that may run after all that follows them in it.

    ``stays``: those operations that may follow them, for they touch no elements.
    """
    taken: list[Operation] = []
    used: set[Value] = set()
    for op in reversed(operations):
        if op.name in LOADS | EFFECTS and is_step(op) and used.isdisjoint(op.results):
            taken.append(op)
        elif op in stays:
            used.update(op.operands)
        else:
            break
    return taken[::-1]


def steps_behind(
    kernel: Sequence[Operation], operations: Sequence[Operation]
) -> Sequence[Operation]:
    """The first operations of a list, up to the last that leaves something in memory.

    Those after a kernel are steps, and then others.  A number that the host stored
    would come to it through a buffer of its own.
    """
    made = {value for op in kernel for value in op.results}
    count = 0
    for position, op in enumerate(operations):
        depends = op.name in TRANSFERS or not made.isdisjoint(op.operands)
        if not depends or not is_step(op, made):
            continue
        made.update(op.results)
        count = position + 1 if op.name in EFFECTS else count
    return operations[:count]
