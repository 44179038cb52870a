"""``memref.generic_atomic_rmw`` as what it is where it stands.

An update that combines by an operation of the table of combiners is a
``memref.atomic_rmw``.  Any other one, where the text lets no threads run beside it, is
a load, its body and a store; ``affine.parallel`` around it takes its iterations in
order, and what is proven of them makes them parallel again.  In launches it stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects import memref
from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.shared.combiners import ATOMIC_KINDS, COMBINERS
from gpucodegen.ir.attributes import IntegerAttr
from gpucodegen.ir.operation import Operation, Value, substitute_values
from gpucodegen.ir.types import I64
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions
from gpucodegen.passes.lower_affine.sequential import sequential

NAME = "memref.generic_atomic_rmw"
LAUNCHES = frozenset({"gpu.func", "gpu.launch"})


@dataclass(frozen=True, slots=True)
class ExpandAtomics(ModulePass):
    """Updates of any kind become those that are known, or loads and stores.

    >>> import gpucodegen as gcg
    >>> module = gcg.parse('''
    ... func.func @f(%s: memref<i32>, %x: i32) {
    ...   memref.generic_atomic_rmw %s[] : memref<i32> {
    ...   ^bb0(%now: i32):
    ...     %y = arith.addi %now, %x : i32
    ...     memref.atomic_yield %y : i32
    ...   }
    ...   return
    ... }''')
    >>> "memref.atomic_rmw addi %x, %s[]" in str(ExpandAtomics().apply(module))
    True
    """

    name: ClassVar[str] = "expand-atomics"

    def apply(self, module: Module) -> Module:
        """Rewrite every update, if there are such."""
        if not any(op.name == NAME for op in module.walk()):
            return module
        return in_functions(module, lambda op: _expanded(op, launched=False))


def _expanded(op: Operation, launched: bool) -> Sequence[Operation]:
    """What takes the place of an operation, with all that is in it."""
    if op.name == NAME:
        return _combining(op) or ([op] if launched else _plain(op))
    launched = launched or op.name in LAUNCHES
    rebuilt = op.with_blocks(
        lambda block: block.with_operations(
            new for inner in block.operations for new in _expanded(inner, launched)
        )
    )
    turns = op.name == "affine.parallel" and not launched and _updates(op)
    return sequential(rebuilt) if turns else [rebuilt]


def _updates(op: Operation) -> bool:
    """Whether an operation has an update inside that is a load and a store."""
    return any(i.name == NAME and _combining(i) is None for i in op.walk())


def _combining(op: Operation) -> list[Operation] | None:
    """A ``memref.atomic_rmw`` after what does not depend on the element, if it is one.

    ``inner`` computes by the element: one operation of the table, whose result is what
    the element becomes.
    """
    (now,) = op.body.arguments
    *body, last = op.body.operations
    depends: set[Value] = {now}
    inner: list[Operation] = []
    for step in body:
        if depends.intersection(step.used):
            inner.append(step)
            depends.update(step.results)
    kind = _kind(inner[0]) if len(inner) == 1 else None
    if kind is None or inner[0].operands.count(now) != 1:
        return None
    if last.operands[0] is not inner[0].result:
        return None
    (value,) = (v for v in inner[0].operands if v is not now)
    update = Operation(
        "memref.atomic_rmw",
        (value, *op.operands),
        op.results,
        {"kind": IntegerAttr(ATOMIC_KINDS.index(kind), I64)},
        location=op.location,
    )
    return [*(step for step in body if step is not inner[0]), update]


def _kind(op: Operation) -> str | None:
    """The word of ``memref.atomic_rmw`` for an operation, if there is one."""
    row = COMBINERS.get(op.name.removeprefix("arith."))
    return row.atomic or None if row is not None and op.dialect == "arith" else None


def _plain(op: Operation) -> list[Operation]:
    """A load, the body, and a store."""
    (now,) = op.body.arguments
    buffer, *indices = op.operands
    before = memref.load(buffer, indices, location=op.location)
    before = before.with_(results=op.results)
    *body, last = op.body.operations
    renamed = [substitute_values(step, {now: op.result}) for step in body]
    after = op.result if last.operands[0] is now else last.operands[0]
    store = memref.store(after, buffer, indices, location=op.location)
    return [before, *renamed, store]
