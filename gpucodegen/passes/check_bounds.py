"""Accesses of every function against the bounds of their buffers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import Type
from gpucodegen.passes.base import ModulePass
from gpucodegen.passes.bounds_check import check_bounds
from gpucodegen.passes.functions import in_functions
from gpucodegen.passes.lifting import Surroundings


@dataclass(frozen=True, slots=True)
class CheckBounds(ModulePass):
    """Accesses proven out of bounds are errors, possible ones warnings.

    ``types`` of a call that the arguments of ``function`` were given, or None.
    """

    name: ClassVar[str] = "check-bounds"
    function: str = ""
    types: tuple[Type | None, ...] = ()

    def apply(self, module: Module) -> Module:
        """Check every function."""
        surroundings = Surroundings.of(module)

        def checked(op: Operation) -> list[Operation]:
            return [check_bounds(op, surroundings, self._sized(op))]

        in_functions(module, checked)
        return module

    def _sized(self, op: Operation) -> set[Value]:
        """The arguments of a function that have their extents in this call only."""
        types = self.types if symbol_name(op) == self.function else ()
        pairs = zip(Function(op).arguments, types, strict=False)
        return {value for value, ty in pairs if ty is not None}
