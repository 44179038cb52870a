"""A compiled function: its stages, its generated source and how to run it."""

from __future__ import annotations

from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING
from warnings import catch_warnings, simplefilter

from gpucodegen import errors
from gpucodegen.compiling import artifact
from gpucodegen.compiling.lowering import Key, Stages, emitted, map_module, printed
from gpucodegen.compiling.runnable import Runnable
from gpucodegen.compiling.targets.registry import find
from gpucodegen.debugging.levels import tell
from gpucodegen.debugging.spans import span
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import Known, alignments, specialized
from gpucodegen.runtime.host.generated_code import deferred_garbage_collection
from gpucodegen.runtime.host.loader import load_program

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.emit.copy_plan import PlannedTransfer
    from gpucodegen.options import Options
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.program_text import Source
    from gpucodegen.runtime.host.spec import KernelSpec
    from gpucodegen.schedule.steps import Schedule

Specialization = tuple[str, tuple[Known | None, ...]]
"""Target, and known facts of the arguments."""


@dataclass(frozen=True, slots=True)
class Executable(Runnable):
    """One function for one target and one set of argument types."""

    target: str
    options: Options
    made: Stages
    lower_again: Callable[[list[ModulePass]], Stages]

    @property
    def source(self) -> str:
        """The generated Python: the host function, then the kernels it launches."""
        return self.artifact.source

    @property
    def kernels(self) -> tuple[KernelSpec, ...]:
        return self.artifact.kernels

    @property
    def transfers(self) -> tuple[PlannedTransfer, ...]:
        """The plan of each ``dma_start`` and ``dma_wait``."""
        return self.artifact.transfers

    @property
    def modules(self) -> Stages:
        """The module after each pass; passes run again if the result was cached."""
        if not self.made:
            self.made.extend(self.lower_again([]))
        return self.made

    @property
    def stages(self) -> list[tuple[str, str]]:
        return printed(self.modules)

    @property
    def schedule(self) -> Schedule:
        """The steps that made the kernels; passes run again to tell them."""
        from gpucodegen.schedule.passes import recorded

        ran: list[ModulePass] = []
        modules = [module for _, module in self.lower_again(ran)]
        return recorded(ran, modules, find(self.target).passes(self.options))

    def assembly(self) -> dict[str, str]:
        """Machine code by kernel name: assembler text, or PTX of GPU kernels."""
        text_of = find(self.target).assembly
        return {spec.name: text_of(spec) for spec in self.kernels}


def _typed(module: Module, name: str, key: Specialization) -> Key:
    """The key with the types that known facts give to arguments."""
    from gpucodegen.dialects.func import Function

    target, known = key
    inputs = Function(module.functions[name]).type.inputs
    return target, specialized(inputs, known), alignments(known)


_ONE_AT_A_TIME = RLock()
"""Catching warnings changes the whole process, so only one thread may do it."""


def build(
    source: Source, name: str, key: Specialization, options: Options
) -> Executable:
    """Run the pipeline, emit the source and make it callable.

    If the source is text, the result of an earlier process may come from the disk
    cache. ``options`` are final: tuned options are already included.
    """
    target, known = key
    place = ""
    if source.text:
        identity = find(target).identity
        place = artifact.key_of(source.key, name, identity, known, options)
    stages: Stages = []

    def again(ran: list[ModulePass]) -> Stages:
        module = source.module
        typed = _typed(module, name, key)
        map_module(module, name, typed, options, stages := [], ran)
        return stages

    found = artifact.load(place) if place else None
    tell(1, f"{name} for {target}: {'from disk' if found else 'passes run'}")
    if found is None:
        with (
            _ONE_AT_A_TIME,
            deferred_garbage_collection(),
            catch_warnings(record=True) as told,
        ):
            simplefilter("always")
            with span(f"{name} for {target}", "function"):
                module = source.module
                typed = _typed(module, name, key)
                mapped = map_module(module, name, typed, options, stages)
                found = emitted(module, mapped, name, target, options)
        for warning in told:
            errors.tell(warning.message)
        if place and not told:
            artifact.keep(place, found)
    for planned in found.transfers:
        tell(3, f"{name}: {planned}")
    tell(4, found.source)
    loaded = load_program(found, find(target).engine(), options.outside)
    host = loaded.functions[found.python_name]
    ready = name, found, host, loaded.runtime
    return Executable(*ready, target, options, stages, again)
