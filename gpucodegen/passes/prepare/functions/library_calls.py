"""``library_call`` of a structured operation: a function of the caller runs it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.attributes import StringAttr
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.framework.base import ModulePass


@dataclass(frozen=True, slots=True)
class LibraryCalls(ModulePass):
    """Structured operations on buffers become operations named by ``library_call``.

    Those of other names than ``functions`` stay, and become loops.
    """

    name: ClassVar[str] = "library-calls"
    functions: tuple[str, ...] = ()

    def apply(self, module: Module) -> Module:
        """Rewrite all operations."""
        (root,) = rewrite_bottom_up(module.operation, self._called)
        return Module(root)

    def _called(self, op: Operation) -> Sequence[Operation] | None:
        callee = op.attributes.get("library_call")
        if op.results or not isinstance(callee, StringAttr):
            return None
        if op.dialect != "linalg" or callee.value not in self.functions:
            return None
        return [Operation(callee.value, op.operands, location=op.location)]
