"""Only what one function needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import named_function
from gpucodegen.passes.framework.base import ModulePass


@dataclass(frozen=True, slots=True)
class KeepReachable(ModulePass):
    """Drop the functions that ``function`` never calls, directly or not."""

    name: ClassVar[str] = "keep-reachable"
    function: str = ""

    def apply(self, module: Module) -> Module:
        """The module without the others."""
        return reachable(module, self.function) if self.function else module


def reachable(module: Module, name: str) -> Module:
    """The function, all it calls, and everything that is no function."""
    functions = module.functions
    wanted, work = {name}, [name]
    while work:
        for op in functions[work.pop()].walk():
            callee = named_function(op)
            if callee in functions and callee not in wanted:
                wanted.add(callee)
                work.append(callee)
    return module.with_operations(
        op
        for op in module.operations
        if op.name != "func.func" or symbol_name(op) in wanted
    )
