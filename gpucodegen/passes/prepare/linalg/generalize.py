"""Named linalg operations as ``linalg.generic``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.dialects.linalg.named_definitions import generalized, is_structured
from gpucodegen.ir.operation import Operation, rewrite_bottom_up
from gpucodegen.passes.framework.base import ModulePass


@dataclass(frozen=True, slots=True)
class Generalize(ModulePass):
    """Every named structured operation becomes a ``linalg.generic``."""

    name: ClassVar[str] = "generalize"

    def apply(self, module: Module) -> Module:
        """Rewrite all operations."""
        (root,) = rewrite_bottom_up(module.operation, _generic)
        return Module(root)


def _generic(op: Operation) -> list[Operation] | None:
    is_named = op.name != "linalg.generic" and is_structured(op)
    return [generalized(op)] if is_named else None
