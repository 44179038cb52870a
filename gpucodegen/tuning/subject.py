"""The subject of a tuning, as data for other processes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from gpucodegen.compiling.targets.registry import find
from gpucodegen.compiling.tuned_schedules import MEASURED, Scope
from gpucodegen.debugging.version import __version__
from gpucodegen.options import Options
from gpucodegen.records import dataclass

PACKAGES = "llvmlite", "numba", "numpy"
"""Packages whose versions are reported, beside this one's."""

if TYPE_CHECKING:
    from gpucodegen.program import Program
    from gpucodegen.tuning.final_comparison import Timing
    from gpucodegen.tuning.pipeline_templates import Holes


@dataclass(frozen=True, slots=True)
class Subject:
    """One function of a program, its options and the arguments of a call.

    ``identity``: its key in the store, which includes machine and versions.  ``made``:
    a function from a program, a name and arguments to the object that times schedules.
    ``pipeline``: the tuned passes with holes, if any.  ``scope``: the shapes for which
    the result holds.  ``base``: seconds of the default where known; times of other
    schedules are multiples of it.
    """

    text: str
    name: str
    options: Options
    arguments: tuple[Any, ...]
    identity: str
    made: Callable[..., Timing]
    pipeline: str = ""
    scope: Scope = MEASURED
    base: float = 0.0

    @staticmethod
    def of(
        program: Program,
        name: str,
        arguments: tuple[Any, ...],
        holes: Holes | None,
        scope: Scope = MEASURED,
    ) -> Subject:
        """The data of a call, or of a pipeline with holes."""
        from gpucodegen.tuning.arguments import plain

        target, _ = program[name].key_for(arguments)
        options = replace(program[name].options, target=target)
        pipeline = holes.pipeline if holes else ""
        return Subject(
            str(program.module),
            name,
            options,
            plain(arguments),
            identity_of(program, name, arguments, pipeline, scope),
            _maker(holes, scope),
            pipeline,
            scope,
        )

    def contest(self) -> Timing:
        """The object that times or estimates it, in this process.

        Raises RuntimeError on a machine with another key.
        """
        from gpucodegen.tuning.arguments import real

        program, given = self._program(), real(self.arguments)
        made = identity_of(program, self.name, given, self.pipeline, self.scope)
        if made != self.identity:
            raise RuntimeError(
                "this worker's machine, packages or alignment of arrays are others than"
                " those of the process that tunes"
            )
        return self.timing(program, given)

    def warmed(self) -> Timing | None:
        """Compiles the default schedule for processes to be forked from this one.

        Returns the object of `contest` where forked processes may share it, as
        estimates may.  No thread and no device context is left behind.
        """
        from gpucodegen.tuning.paired_benchmark import DEFAULT

        if self.scope.predicted_for:
            contest = self.contest()
            contest.trial(DEFAULT)
            return contest
        if find(self.options.target).repeats_calls and not self.pipeline:
            with suppress(Exception):  # its trial tells what is wrong
                self._compile()
        return None

    def _program(self) -> Program:
        from gpucodegen.api import parse
        from gpucodegen.program import Program
        from gpucodegen.program_text import of_module

        module = parse(self.text, allow_unregistered=True)
        return Program(of_module(module), self.options)

    def _compile(self) -> None:
        from gpucodegen.tuning.arguments import real
        from gpucodegen.tuning.paired_benchmark import (
            DEFAULT,
            compile_kernels,
            scheduled,
        )

        made = scheduled(self._program(), self.name, DEFAULT)
        compile_kernels(made, real(self.arguments))

    def timing(self, program: Program, arguments: tuple[Any, ...]) -> Timing:
        """The object that times or estimates calls with these arguments."""
        from gpucodegen.tuning.paired_benchmark import PairedBenchmark

        timing = self.made(program, self.name, arguments)
        if isinstance(timing, PairedBenchmark):
            timing.base = self.base
        return timing

    def about(self) -> Mapping[str, object]:
        """Its description: function, target, arguments, machine, versions."""
        import platform
        from importlib.metadata import version

        from gpucodegen.compiling.tuned_schedules import device_name
        from gpucodegen.runtime.processor import host_name

        return {
            "function": self.name,
            "target": self.options.target,
            "arguments": [str(argument) for argument in self.arguments],
            **({"pipeline": self.pipeline} if self.pipeline else {}),
            "shapes": self.scope.shapes,
            "predicted_for": self.scope.predicted_for,
            "device": ""
            if self.scope.predicted_for
            else device_name(self.options.target),
            "threads": self.options.threads,
            "processor": host_name(),
            "machine": platform.node(),
            "versions": {
                "gpucodegen": __version__,
                **{name: version(name) for name in PACKAGES},
            },
        }


def _maker(holes: Holes | None, scope: Scope) -> Callable[..., Timing]:
    """The class that makes estimates or measurements."""
    from gpucodegen.tuning.forecast import Forecast
    from gpucodegen.tuning.paired_benchmark import PairedBenchmark

    if scope.predicted_for:
        return partial(Forecast.of, arch=scope.predicted_for)
    return holes.contest if holes else PairedBenchmark.of


def identity_of(
    program: Program,
    name: str,
    arguments: tuple[Any, ...],
    pipeline: str = "",
    scope: Scope = MEASURED,
) -> str:
    """The key in the store of a function called with these arguments.

    Each ``pipeline`` with holes has its own key.
    """
    from gpucodegen.compiling.tuned_schedules import tuning_identity
    from gpucodegen.tiling.tuning.lookup import tuning_key

    function = program[name]
    key = function.key_for(arguments)
    plain = tuning_identity(function.source, name, key, function.options, scope)
    return tuning_key(function=plain, pipeline=pipeline) if pipeline else plain
