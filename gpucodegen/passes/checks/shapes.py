"""Extents that only a call knows, where the program says that they agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import MemRefType
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions


@dataclass(frozen=True, slots=True)
class CheckShapes(ModulePass):
    """Refuse calls whose buffers do not fit where linalg takes them, or a cast does.

    ``kernels``: also in loops and branches, where a kernel may have to report it.
    """

    name: ClassVar[str] = "check-shapes"
    kernels: bool = True

    def apply(self, module: Module) -> Module:
        """Rewrite the functions in which extents are open."""
        if not any(map(_is_open, module.walk())):
            return module
        from gpucodegen.passes.checks.guards.shapes import with_checks

        return in_functions(module, lambda f: [with_checks(f, kernels=self.kernels)])


def _is_open(op: Operation) -> bool:
    """Whether an operation may need extents that are not known yet."""
    if op.name not in {"linalg.generic", "memref.cast"}:
        return False
    types = [value.type for value in op.operands]
    return any(isinstance(ty, MemRefType) and None in ty.shape for ty in types)
