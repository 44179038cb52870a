"""What stands around lifted code: functions to call, buffers that may overlap."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from gpucodegen.dialects.builtin import Module, symbol_name
from gpucodegen.dialects.func import Function
from gpucodegen.dialects.gcg.alias_groups import alias_groups
from gpucodegen.ir.attributes import Attribute
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.passes.analysis.lifting.buffers.origins import Origins, behind, origins

FUNCTIONS = frozenset({"func.func", "gpu.func"})


@dataclass(frozen=True, slots=True)
class Surroundings:
    """A module seen from inside one of its functions.

    ``functions`` by name: a call of any other may touch all that it gets.  ``groups``
    of arguments, in all functions, that may overlap.  ``origins`` of other memrefs.
    """

    functions: Mapping[str, Operation] = field(default_factory=dict[str, Operation])
    groups: Mapping[Value, Attribute] = field(default_factory=dict[Value, Attribute])
    origins: Origins = field(default_factory=dict[Value, frozenset[Value]])

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
            {v: group for op in functions for v, group in grouped(op).items()},
            origins(functions, _defined(functions)),
        )

    def groups_of(self, values: tuple[Value, ...]) -> tuple[Attribute | None, ...]:
        """The group of each value, for kernels that take them."""
        return tuple(self.groups.get(value) for value in values)

    def joined(self, values: Iterable[Value]) -> list[set[Value]]:
        """For each value that is made of others, it and these."""
        return [behind(v, self.origins) for v in values if v in self.origins]

    def without_groups(self) -> Surroundings:
        """The same where each buffer is looked at alone."""
        return Surroundings(self.functions)


def grouped(function: Operation) -> dict[Value, Attribute]:
    """The arguments of a function that are in a group."""
    view = Function(function)
    if view.is_external:
        return {}
    given = view.arguments[: len(view.type.inputs)]  # then buffers of a kernel's own
    pairs = zip(given, alias_groups(function), strict=True)
    return {value: group for value, group in pairs if group is not None}


def _defined(functions: Iterable[Operation]) -> frozenset[str]:
    """Names of the functions that have a body here."""
    return frozenset(symbol_name(op) for op in functions if op.regions[0].blocks)
