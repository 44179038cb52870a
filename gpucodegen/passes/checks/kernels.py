"""The race proof of every kernel of a module."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.passes.analysis.lifting import Surroundings
from gpucodegen.passes.checks.races import check_kernel
from gpucodegen.passes.framework.base import ModulePass


@dataclass(frozen=True, slots=True)
class VerifyKernels(ModulePass):
    """Prove every kernel, and every function with transfers, free of races."""

    name: ClassVar[str] = "verify-kernels"

    def apply(self, module: Module) -> Module:
        """Raise RaceFound with both positions and a witness where a proof fails."""
        surroundings = Surroundings.of(module)
        for op in module.walk():
            is_function = op.name in {"func.func", "gpu.func"}
            if is_function and op.regions and op.regions[0].blocks:
                check_kernel(op, surroundings)
        return module
