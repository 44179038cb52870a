"""What passes over functions share: bodies rewritten, definitions and uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation, Value

Rewrite = Callable[[Sequence[Operation]], Iterable[Operation]]


def in_functions(
    module: Module, rewrite: Callable[[Operation], Sequence[Operation]]
) -> Module:
    """Rewrite every function with a body; other operations stay."""
    operations: list[Operation] = []
    for op in module.operations:
        has_body = op.name == "func.func" and op.regions and op.regions[0].blocks
        is_kernel = "gcg.kernel" in op.attributes
        operations += rewrite(op) if has_body and not is_kernel else [op]
    return module.with_operations(operations)


def with_blocks(op: Operation, rewrite: Rewrite) -> Operation:
    """``op`` with the operations of each block of its regions rewritten."""
    return op.with_blocks(lambda b: b.with_operations(rewrite(b.operations)))


def definitions(op: Operation) -> dict[Value, Operation]:
    """The operation that makes each value of ``op``."""
    return {value: inner for inner in op.walk() for value in inner.results}


def users(op: Operation) -> dict[Value, list[Operation]]:
    """The operations that use each value; branches use what they pass on."""
    found: dict[Value, list[Operation]] = {}
    for inner in op.walk():
        passed = (value for target in inner.successors for value in target.operands)
        for value in (*inner.operands, *passed):
            found.setdefault(value, []).append(inner)
    return found
