"""Accesses of every function against the bounds of their buffers.

Comes in: affine nests on buffers.  Goes out: the same, or, where asked for, with guards
around what is not proven to stay inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.checks.access_bounds import check_bounds
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions
from gpucodegen.passes.prepare.memory.place_allocations import placed
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.array_bounds import suspects


@dataclass(frozen=True, slots=True)
class CheckBounds(ModulePass):
    """Accesses proven out of bounds are errors, possible ones warnings or guarded.

    ``guard``: what arguments decide is checked at launch, and ``kernels``: what data
    decide is checked in the kernels.  What nothing checks is warned of.
    """

    name: ClassVar[str] = "check-bounds"
    guard: bool = False
    kernels: bool = True

    def apply(self, module: Module) -> Module:
        """Check every function."""
        surroundings = Surroundings.of(module)

        def checked(op: Operation) -> list[Operation]:
            given = placed(op)
            if self.guard and self.kernels:
                from gpucodegen.passes.checks.guards.views import with_metadata

                op = given = with_metadata(given)
            lifted = lift_function(given, surroundings.without_aliases())
            built = model(lifted.scop)
            found = unguarded = suspects(built)
            if self.guard and found:
                from gpucodegen.passes.checks.guards.guard import guarded

                op, unguarded = guarded(
                    given, lifted, built, found, kernels=self.kernels
                )
            check_bounds(built, found, unguarded)
            return [op]

        return in_functions(module, checked)
