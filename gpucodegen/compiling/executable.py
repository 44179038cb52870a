"""A compiled function: its stages, its generated source and how to run it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from threading import RLock
from typing import TYPE_CHECKING, Any, cast
from warnings import catch_warnings, simplefilter

from gpucodegen import errors
from gpucodegen.compiling import artifact as kept
from gpucodegen.compiling.artifact import Artifact
from gpucodegen.compiling.lowering import Stages, lower, printed
from gpucodegen.compiling.targets.registry import find
from gpucodegen.runtime.host.collection import collected_afterwards
from gpucodegen.runtime.host.loader import load_program
from gpucodegen.runtime.host.parameters import Known, alignments, specialized

if TYPE_CHECKING:
    from gpucodegen.emit.tables.memory.copy_plan import PlannedTransfer
    from gpucodegen.options import Options
    from gpucodegen.program_text import Source
    from gpucodegen.runtime.host.spec import KernelSpec

Specialization = tuple[str, tuple[Known | None, ...]]
"""Target, and what is known of the arguments."""


@dataclass(frozen=True, slots=True)
class Executable:
    """One function for one target and one set of argument types."""

    name: str
    target: str
    options: Options
    artifact: Artifact
    host: Callable[..., Any]
    runtime: Any
    made: Stages
    lower_again: Callable[[], Stages]

    @property
    def source(self) -> str:
        """The generated Python: the host function, then the kernels it launches."""
        return self.artifact.source

    @property
    def kernels(self) -> tuple[KernelSpec, ...]:
        """The kernels as source text."""
        return self.artifact.kernels

    @property
    def transfers(self) -> tuple[PlannedTransfer, ...]:
        """How each ``dma_start`` and ``dma_wait`` is carried out."""
        return self.artifact.transfers

    @property
    def stages(self) -> list[tuple[str, str]]:
        """The module after each pass; the passes run if the disk held their end."""
        if not self.made:
            self.made.extend(self.lower_again())
        return printed(self.made)

    def assembly(self) -> dict[str, str]:
        """Kernel name to machine code: assembler text, or PTX of kernels for GPUs."""
        text_of = find(self.target).assembly
        return {spec.name: text_of(spec) for spec in self.kernels}

    def launcher(
        self, arguments: Sequence[Any], values: Sequence[Any], *, graph: bool = False
    ) -> Callable[[], Any]:
        """A callable without arguments: runs and converts the results.

        ``graph``: what the device is to do is noted now, and done as one.
        """
        runtime = self.runtime.for_call(values)
        to_device, from_device = runtime.transfers(
            values, self.artifact.written, self.artifact.overwritten
        )
        run = partial(self.run, runtime, arguments)
        if graph:
            run = self._recorded(runtime, arguments, to_device())

        def launch() -> Any:
            result = run(to_device())
            from_device()
            return result

        return launch

    def run(self, runtime: Any, arguments: Sequence[Any], values: Sequence[Any]) -> Any:
        """One call on values that kernels reach where they are."""
        result = self._result(runtime, values)
        return self._returned(runtime, result, arguments, values)

    def _recorded(
        self, runtime: Any, arguments: Sequence[Any], values: Sequence[Any]
    ) -> Callable[[Sequence[Any]], Any]:
        """Calls on these very values; each returns arrays of its own."""
        recorder, finish = runtime.recording()
        kept = self._result(recorder, values)
        replay = finish()
        own = {id(value) for value in values}

        def fresh(one: Any) -> Any:
            return one if id(one) in own else runtime.copied(one)

        def run(_: Sequence[Any]) -> Any:
            replay()
            several = isinstance(kept, tuple)
            parts = cast("tuple[Any, ...]", kept) if several else (kept,)
            made = tuple(map(fresh, parts))
            result = made if several else made[0]
            return self._returned(runtime, result, arguments, values)

        vars(run)["constants"] = recorder  # which the graph reads
        return run

    def _result(self, runtime: Any, values: Sequence[Any]) -> Any:
        """What the host function returns."""
        try:
            return self.host(runtime, *values)
        except RecursionError as problem:
            from sys import getrecursionlimit

            depth = getrecursionlimit()
            raise errors.CallsTooDeep(function=self.name, depth=depth) from problem

    def _returned(
        self,
        runtime: Any,
        result: Any,
        arguments: Sequence[Any],
        values: Sequence[Any],
    ) -> Any:
        """It as the caller gets it."""
        if result is None:
            return None

        def converted(one: Any, unsigned: str) -> Any:
            for value, argument in zip(values, arguments, strict=True):
                if one is value and hasattr(value, "pointer"):
                    return argument  # an argument that returns is the argument
            return runtime.result(one, unsigned)

        kinds = self.artifact.unsigned
        if isinstance(result, tuple):
            return tuple(map(converted, cast("tuple[Any, ...]", result), kinds))
        return converted(result, kinds[0])


_ONE_AT_A_TIME = RLock()
"""Catching warnings changes the whole process."""


def build(
    source: Source, name: str, key: Specialization, options: Options
) -> Executable:
    """Run the pipeline, emit the source and make it callable.

    Text, where the source is one, finds what an earlier process made of it.
    ``options`` are final: what was tuned is among them.
    """
    target, known = key
    place = ""
    if source.text:
        identity = find(target).identity
        place = kept.key_of(source.key, name, identity, known, options)
    stages: Stages = []

    def lowered(stages: Stages) -> Artifact:
        from gpucodegen.dialects.func import Function

        module = source.module
        types = specialized(Function(module.functions[name]).type.inputs, known)
        key = target, types, alignments(known)
        return lower(module, name, key, options, stages)

    def again() -> Stages:
        lowered(stages := [])
        return stages

    found = kept.load(place) if place else None
    if found is None:
        with (
            _ONE_AT_A_TIME,
            collected_afterwards(),
            catch_warnings(record=True) as told,
        ):
            simplefilter("always")
            found = lowered(stages)
        for warning in told:
            errors.tell(warning.message)
        if place and not told:
            kept.keep(place, found)
    loaded = load_program(found, find(target).engine(), options.outside)
    host = loaded.functions[found.python_name]
    return Executable(name, target, options, found, host, loaded.runtime, stages, again)
