"""The call that a report or an explanation is about: its compiler key and options.

From a function of a program and the arguments of a call, `Call.compiled_as` gives for
each target the key and the options that the compiler gets from such a call.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gpucodegen.calls.function import Function
from gpucodegen.compiling.lowering import Key
from gpucodegen.compiling.targets.registry import find
from gpucodegen.compiling.tuned_schedules import final_options
from gpucodegen.options import Options
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import alignments, specialized


@dataclass(frozen=True, slots=True)
class Call:
    """A function, with the options of its program, and the arguments of a call."""

    function: Function
    arguments: tuple[Any, ...]

    @property
    def target(self) -> str:
        return self.function.key_for(self.arguments)[0]

    @property
    def arch(self) -> str:
        """The architecture of the call's kernels; "" for code that all devices run."""
        values = self.function.converted(self.arguments)
        return find(self.target).settled_arch(self.function.options, values)

    @property
    def numbers(self) -> dict[str, int]:
        """The integers among the arguments, by name."""
        parameters = self.function.signature.parameters
        values = self.function.converted(self.arguments)
        pairs = zip(parameters, values, strict=True)
        return {p.name: v for p, v in pairs if type(v) is int}

    def compiled_as(self, target: str) -> tuple[Key, Options]:
        """The compiler's key and options for the call, with the tuned schedule, if any.

        The targets "cuda" and "sim" have the same passes: where the call runs on one of
        them, its schedule is that of the other too.
        """
        own, function = self.target, self.function
        chosen = own if find(own).passes is find(target).passes else target
        key = function.key_for(self.arguments, chosen)
        arch = self.arch if chosen == own else function.options.arch
        asked = replace(function.options, target=chosen, arch=arch)
        options = final_options(function.source, function.name, key, asked)
        types = specialized(function.view.type.inputs, key[1])
        return (target, types, alignments(key[1])), options
