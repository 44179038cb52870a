"""Calls replaced by the bodies of their callees, so that one analysis sees it all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.func import Call, Function
from gpucodegen.dialects.shared.effects import declared
from gpucodegen.ir.operation import Operation, Value, clone, renamed
from gpucodegen.passes.analysis.lifting.values.accesses import is_opaque
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import with_blocks
from gpucodegen.passes.prepare.functions.affine_roles import with_roles


@dataclass(frozen=True, slots=True)
class Inline(ModulePass):
    """Inline every call of a single-block function that does not call itself.

    A function stays as it is where that would break the rules of affine operands, a
    call where the callee's declared effects say what its body does not show.
    """

    name: ClassVar[str] = "inline"

    def apply(self, module: Module) -> Module:
        """Inline in every function; the callees stay."""
        inliner = _Inliner(module.functions)
        return module.with_operations(
            inliner.function(op) if op.name == "func.func" else op
            for op in module.operations
        )


def _has_secrets(operations: Sequence[Operation]) -> bool:
    """Whether a declaration says more than can be seen."""
    return any(is_opaque(inner) for op in operations for inner in op.walk())


@dataclass(slots=True)
class _Inliner:
    functions: dict[str, Operation]
    active: list[str] = field(default_factory=list[str])
    replaced: dict[Value, Value] = field(default_factory=dict[Value, Value])

    def function(self, op: Operation) -> Operation:
        """One function with its calls inlined."""
        if not any(inner.name == "func.call" for inner in op.walk()):
            return op
        self.replaced = {}
        self.active.append(Function(op).name)
        rebuilt = with_blocks(op, self._operations)
        self.active.pop()
        return with_roles(rebuilt) or op

    def _operations(self, operations: Sequence[Operation]) -> list[Operation]:
        result: list[Operation] = []
        for op in operations:
            current = renamed(op, self.replaced)
            body = self._body(current) if op.name == "func.call" else None
            if body is not None:
                result += body
            elif op.regions:
                result.append(with_blocks(current, self._operations))
            else:
                result.append(current)
        return result

    def _body(self, call: Operation) -> list[Operation] | None:
        """The callee's operations on the call's operands, or None to keep the call."""
        name = Call(call).callee
        callee = self.functions.get(name)
        if callee is None or name in self.active or len(Function(callee).blocks) != 1:
            return None
        mapping = dict(zip(Function(callee).arguments, call.operands, strict=True))
        (block,) = Function(callee).blocks
        copies = [clone(op, mapping) for op in block.operations]
        self.active.append(name)
        operations = self._operations(copies)
        self.active.pop()
        if declared(callee) is not None and _has_secrets(operations):
            return None
        returned = operations.pop().operands
        self.replaced.update(zip(call.results, returned, strict=True))
        return operations
