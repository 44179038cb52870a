"""What stands around lifted code: functions to call, buffers that may overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.ir.operation import Operation
from gpucodegen.passes.analysis.lifting.buffers.aliases import (
    Aliases,
    defined_functions,
)
from gpucodegen.passes.analysis.lifting.buffers.described import Described, described

FUNCTIONS = frozenset({"func.func", "gpu.func"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A module seen from inside one of its functions.

    ``functions`` by name: a call of any other may touch all that it gets.  ``aliases``
    of all functions: which of their memrefs may overlap.  ``maps``: what the tensor
    maps that kernels are given describe, if that is known.
    """

    functions: Mapping[str, Operation] = field(default_factory=dict[str, Operation])
    aliases: Aliases = field(default_factory=Aliases)
    maps: Described = field(default_factory=Described)

    @staticmethod
    def of(module: Module) -> Surroundings:
        """All functions but those that share their name, in modules inside this one."""
        functions = [op for op in module.walk() if op.name in FUNCTIONS]
        count = Counter(map(symbol_name, functions))
        return Surroundings(
            {
                symbol_name(op): op
                for op in functions
                if op.name == "func.func" and count[symbol_name(op)] == 1
            },
            Aliases.of(functions, defined_functions(functions)),
            described(module.walk()),
        )

    def without_aliases(self) -> Surroundings:
        """The same where each buffer is looked at alone."""
        return Surroundings(self.functions)
