"""Accesses of every function against the bounds of their buffers.

Comes in: affine nests on buffers.  Goes out: the same, or, where asked for, with guards
around what is not proven to stay inside.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Type
from gpucodegen.passes.analysis.lifting import Surroundings, lift_function
from gpucodegen.passes.checks.access_bounds import check_bounds
from gpucodegen.passes.framework.base import ModulePass
from gpucodegen.passes.framework.functions import in_functions
from gpucodegen.passes.prepare.memory.place_allocations import placed
from gpucodegen.tiling.model.relations import model
from gpucodegen.tiling.proof.bounds.bounds import suspects


@dataclass(frozen=True, slots=True)
class CheckBounds(ModulePass):
    """Accesses proven out of bounds are errors, possible ones warnings or guarded.

    ``types``: the types of the arguments of one call of ``function``, None if unknown.
    ``guard``: what is not proven is checked when the program runs.
    """

    name: ClassVar[str] = "check-bounds"
    function: str = ""
    types: tuple[Type | None, ...] = ()
    guard: bool = False

    def apply(self, module: Module) -> Module:
        """Check every function."""
        surroundings = Surroundings.of(module)

        def checked(op: Operation) -> list[Operation]:
            given = placed(op)
            lifted = lift_function(given, surroundings.without_aliases())
            built = model(lifted.scop)
            found = suspects(built)
            sized = self._sized(op)
            check_bounds(lifted, built, found, sized, warn=not self.guard)
            if not self.guard or not found:
                return [op]
            from gpucodegen.passes.checks.guards.guard import guarded

            return [guarded(given, lifted, built, found)]

        return in_functions(module, checked)

    def _sized(self, op: Operation) -> set[Value]:
        """The arguments of a function that have their extents in this call only."""
        types = self.types if symbol_name(op) == self.function else ()
        pairs = zip(Function(op).arguments, types, strict=False)
        return {value for value, ty in pairs if ty is not None}
