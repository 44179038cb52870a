"""Accesses of every function against the bounds of their buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.base import ModulePass
from gpucodegen.passes.bounds_check import check_bounds
from gpucodegen.passes.functions import in_functions
from gpucodegen.passes.lifting import Surroundings


@dataclass(frozen=True, slots=True)
class CheckBounds(ModulePass):
    """Accesses proven out of bounds are errors, possible ones warnings."""

    name: ClassVar[str] = "check-bounds"

    def apply(self, module: Module) -> Module:
        """Check every function."""
        surroundings = Surroundings.of(module)
        in_functions(module, lambda op: [check_bounds(op, surroundings)])
        return module
