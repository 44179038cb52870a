"""A compiled function: its stages, its generated source and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from threading import RLock
from typing import TYPE_CHECKING, Any, cast
from warnings import catch_warnings, simplefilter

from gpucodegen import errors
from gpucodegen.compiling.lowering import Key, Stages, lower, printed
from gpucodegen.compiling.targets.registry import find
from gpucodegen.runtime.host.collection import collected_afterwards

if TYPE_CHECKING:
    from gpucodegen.calls.signature import Signature
    from gpucodegen.compiling.artifact import Lowered
    from gpucodegen.emit.tables.memory.copy_plan import PlannedTransfer
    from gpucodegen.ir.types import Type
    from gpucodegen.options import Options
    from gpucodegen.program_text import Source
    from gpucodegen.runtime.host.spec import KernelSpec


@dataclass(frozen=True, slots=True)
class Executable:
    """One function for one target and one set of argument types."""

    name: str
    target: str
    source: str
    made: Stages
    lower_again: Callable[[], Stages]
    host: Callable[..., Any]
    runtime: Any
    written: tuple[bool, ...]
    overwritten: tuple[bool, ...]
    options: Options
    kernels: tuple[KernelSpec, ...]
    transfers: tuple[PlannedTransfer, ...] = ()
    groups: tuple[int | None, ...] = ()
    """Per argument, what those that may overlap have in common, or None."""
    types: tuple[Type | None, ...] = ()
    """What it was specialised to."""
    place: str = ""
    """Its key in the store of lowered functions, if it is kept there."""

    @property
    def stages(self) -> list[tuple[str, str]]:
        """The module after each pass; the passes run if the disk held their end."""
        if not self.made:
            self.made.extend(self.lower_again())
        return printed(self.made)

    def check(
        self,
        signature: Signature,
        arguments: Sequence[Any],
        values: Sequence[Any],
        *,
        alias: str,
    ) -> None:
        """Refuse read-only arguments that are written, and overlapping ones.

        Arguments of one group may overlap where they stay in place.
        """
        from gpucodegen.runtime.host.buffers import check_disjoint

        signature.convert(arguments, self.written)
        named = [
            (name, value, written, None if self._travels(value) else group)
            for name, value, written, group in zip(
                signature.names, values, self.written, self.groups, strict=True
            )
            if hasattr(value, "pointer")
        ]
        if alias == "refuse":
            check_disjoint(self.name, named)

    def _travels(self, value: Any) -> bool:
        """Whether kernels get a copy of a buffer in another memory."""
        from gpucodegen.runtime.host.buffers import CPU

        return find(self.target).has_own_memory and value.device == CPU

    def assembly(self) -> dict[str, str]:
        """Kernel name to machine code: assembler text, or PTX of kernels for GPUs."""
        text_of = find(self.target).assembly
        return {spec.name: text_of(spec) for spec in self.kernels}

    def launcher(
        self, arguments: Sequence[Any], values: Sequence[Any]
    ) -> Callable[[], Any]:
        """A callable without arguments: runs and converts the results."""
        runtime = self.runtime.for_call(values)
        to_device, from_device = runtime.transfers(
            values, self.written, self.overwritten
        )
        host, results = self.host, self._results

        def launch() -> Any:
            resident = to_device()
            try:
                result = host(runtime, *resident)
            except RecursionError as problem:
                raise self._too_deep() from problem
            from_device()
            if result is None:
                return None
            return results(runtime, result, arguments, resident)

        return launch

    def run(self, arguments: Sequence[Any], values: Sequence[Any]) -> Any:
        """One call on values that kernels reach where they are."""
        runtime = self.runtime
        try:
            result = self.host(runtime, *values)
        except RecursionError as problem:
            raise self._too_deep() from problem
        if result is None:
            return None
        return self._results(runtime, result, arguments, values)

    def _too_deep(self) -> Exception:
        from sys import getrecursionlimit

        from gpucodegen.errors import CallsTooDeep

        return CallsTooDeep(function=self.name, depth=getrecursionlimit())

    @staticmethod
    def _results(
        runtime: Any, result: Any, arguments: Sequence[Any], values: Sequence[Any]
    ) -> Any:
        """Results as the caller gets them; an argument that returns is the argument."""

        def converted(one: Any) -> Any:
            for value, argument in zip(values, arguments, strict=True):
                if one is value and hasattr(value, "pointer"):
                    return argument
            return runtime.result(one)

        if isinstance(result, tuple):
            return tuple(map(converted, cast("tuple[Any, ...]", result)))
        return converted(result)

    def apart(self, values: Sequence[Any]) -> tuple[tuple[int, int], ...]:
        """Pairs of buffers that must not overlap: one is written, no group has both."""
        return tuple(
            (one, other)
            for one, other in combinations(range(len(values)), 2)
            if hasattr(values[one], "pointer") and hasattr(values[other], "pointer")
            if self.written[one] or self.written[other]
            if self.groups[one] is None or self.groups[one] != self.groups[other]
        )


_ONE_AT_A_TIME = RLock()
"""Catching warnings changes the whole process."""


def build(
    source: Source,
    name: str,
    key: Key,
    options: Options,
) -> Executable:
    """Run the pipeline, emit the source and make it callable.

    Text, where the source is one, finds what an earlier process made of it.
    """
    from gpucodegen.compiling import artifact as kept

    target, types = key
    module = source.module
    stages: Stages = []
    known, place = None, ""
    if source.text:
        location = module.functions[name].location
        place = kept.key_of(
            source.text, location, name, find(target).identity, types, options
        )
        known = kept.load(place)
    if known is None:
        with (
            _ONE_AT_A_TIME,
            collected_afterwards(),
            catch_warnings(record=True) as told,
        ):
            simplefilter("always")
            known = lower(module, name, key, options, stages)
        for warning in told:
            errors.tell(warning.message)
        if told or not place or not kept.keep(place, known):
            place = ""

    def lower_again() -> Stages:
        again: Stages = []
        lower(module, name, key, options, again)
        return again

    made = load(known, target, name, options, stages, lower_again)
    return replace(made, types=types, place=place)


def load(
    lowered: Lowered,
    target: str,
    name: str,
    options: Options,
    stages: Stages,
    lower_again: Callable[[], Stages],
) -> Executable:
    """Make a lowered function callable."""
    from gpucodegen.runtime.host.loader import load_program

    loaded = load_program(lowered, find(target).engine(), options.handlers)
    return Executable(
        name,
        target,
        lowered.source,
        stages,
        lower_again,
        loaded.functions[lowered.python_name],
        loaded.runtime,
        lowered.written,
        lowered.overwritten,
        options,
        loaded.kernels,
        lowered.transfers,
        lowered.groups,
    )
