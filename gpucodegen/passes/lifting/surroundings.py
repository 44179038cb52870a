"""What stands around a function that is lifted: the functions it may call."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.operation import Operation


@dataclass(frozen=True, slots=True)
class Surroundings:
    """The functions of a module by name; without any, calls may touch all they get."""

    functions: Mapping[str, Operation] = field(default_factory=dict[str, Operation])

    @staticmethod
    def of(module: Module) -> Surroundings:
        """All functions but those that share their name, in modules inside this one."""
        functions = [op for op in module.walk() if op.name == "func.func"]
        count = Counter(map(symbol_name, functions))
        return Surroundings(
            {symbol_name(op): op for op in functions if count[symbol_name(op)] == 1}
        )
