"""What is tuned, as data that another process can take."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gpucodegen.options import Options

PACKAGES = "gpucodegen", "llvmlite", "numba", "numpy"
"""Whose versions people are told."""

if TYPE_CHECKING:
    from gpucodegen.program import Program
    from gpucodegen.tiling.tuning.space import Point
    from gpucodegen.tiling.tuning.trials import Trial
    from gpucodegen.tuning.holes import Holes
    from gpucodegen.tuning.measuring.contest import Contest


@dataclass(frozen=True, slots=True)
class Subject:
    """One function of a program, its options and the arguments of a call.

    ``identity``: its key in the store, which says machine and versions too.  ``made``:
    makes the contest of a program, a name and arguments.  ``pipeline``: the passes
    whose holes are tuned, if that is what is tuned.
    """

    text: str
    name: str
    options: Options
    arguments: tuple[Any, ...]
    identity: str
    made: Callable[..., Contest]
    pipeline: str = ""

    @staticmethod
    def of(
        program: Program, name: str, arguments: tuple[Any, ...], holes: Holes | None
    ) -> Subject:
        """The data of a call; of a pipeline with holes, if there is one."""
        from gpucodegen.tuning.measuring.arguments import plain
        from gpucodegen.tuning.measuring.contest import Contest

        options = program[name].options
        pipeline = holes.pipeline if holes else ""
        return Subject(
            str(program.module),
            name,
            options,
            plain(arguments),
            identity_of(program, name, arguments, pipeline),
            holes.contest if holes else Contest.of,
            pipeline,
        )

    def contest(self) -> Contest:
        """A contest in this process."""
        from gpucodegen.api import parse
        from gpucodegen.program import Program
        from gpucodegen.program_text import of_module
        from gpucodegen.tuning.measuring.arguments import real

        program = Program(
            of_module(parse(self.text, allow_unregistered=True)), self.options
        )
        return self.made(program, self.name, real(self.arguments))

    def about(self) -> Mapping[str, object]:
        """What people read of it: function, target, arguments, machine, versions."""
        import platform
        from importlib.metadata import version

        from gpucodegen.runtime.machine.processor import host_name

        return {
            "function": self.name,
            "target": self.options.target,
            "arguments": [str(argument) for argument in self.arguments],
            **({"pipeline": self.pipeline} if self.pipeline else {}),
            "threads": self.options.threads,
            "processor": host_name(),
            "machine": platform.node(),
            "versions": {name: version(name) for name in PACKAGES},
        }


def identity_of(
    program: Program, name: str, arguments: tuple[Any, ...], pipeline: str = ""
) -> str:
    """The key in the store of a function called with these arguments.

    That of a ``pipeline`` with holes is another one for each pipeline.
    """
    from gpucodegen.compiling.winners import tuning_identity
    from gpucodegen.tiling.tuning.store import tuning_key

    function = program[name]
    key = function.key_for(arguments)
    plain = tuning_identity(function.source, name, key, function.options)
    return tuning_key(function=plain, pipeline=pipeline) if pipeline else plain


def measured(pickled: bytes, point: Point) -> Trial:
    """The trial of a point of a pickled subject, in whatever process this is."""
    return _contest(pickled).trial(point)


@lru_cache(maxsize=2)
def _contest(pickled: bytes) -> Contest:
    """The contest of a subject, made once in a process.

    Raises RuntimeError on a machine whose times are those of another key.
    """
    import pickle

    subject: Subject = pickle.loads(pickled)  # noqa: S301  (made by this package)
    contest = subject.contest()
    given = tuple(contest.rotation.arguments)
    here = identity_of(contest.program, subject.name, given, subject.pipeline)
    if here != subject.identity:
        raise RuntimeError(
            "this worker's machine, packages or alignment of arrays are others than"
            " those of the process that tunes"
        )
    return contest
