"""Pipeline templates with holes for tuning, as in ``tile{sizes=[$a,$b]}``.

`Holes` takes a pipeline and the values of each hole.  It gives the points of a search,
the passes of a point, and the witness of an illegal one.  A point of zeros is the
compiler's own schedule, without the pipeline.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field
from itertools import product
from math import prod
from typing import TYPE_CHECKING, Any

from gpucodegen import errors
from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning.search import Identity, Status, Trial, identity
from gpucodegen.tuning.paired_benchmark import PairedBenchmark
from gpucodegen.tuning.schedules import Schedules

if TYPE_CHECKING:
    from gpucodegen.compiling.tuned_schedules import Point
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program

_HOLE = re.compile(r"\$(\w+)")
TOGETHER = "the holes of a pipeline are filled together"


@dataclass(frozen=True, slots=True)
class Holes:
    """A pipeline and the values of its holes, which are integers of 1 and more.

    >>> holes = Holes.of("tile{sizes=[$a,$b]}", {"a": [8, 16], "b": [4]})
    >>> holes.filled({"a": 16, "b": 4})
    'tile{sizes=[16,4]}'
    >>> holes.filled({"a": 0, "b": 0})
    ''
    """

    pipeline: str
    values: Mapping[str, tuple[int, ...]]
    refused: dict[Identity, Trial | None] = field(
        default_factory=dict[Identity, "Trial | None"]
    )

    @staticmethod
    def of(pipeline: str, values: Mapping[str, Sequence[int]] | None) -> Holes:
        """The holes of a pipeline, all with values, in textual order.

        Raises InvalidOption; and InvalidPassOption for a malformed pipeline.
        """
        from gpucodegen.passes.framework.pipeline_text import parse_pipeline

        given = dict(values or {})
        names = list(dict.fromkeys(_HOLE.findall(pipeline)))
        if not names or set(names) != set(given):
            wanted = errors.one_of([f"${name}" for name in names]) or "at least one"
            hint = f"Give values of the holes of the pipeline, {wanted}"
            raise errors.InvalidOption(name="values", value=given, hint=hint)
        for name, sizes in given.items():
            if not sizes or any(type(size) is not int or size < 1 for size in sizes):
                hint = f"Give {name} integers >= 1"
                raise errors.InvalidOption(name="values", value=given, hint=hint)
        found = Holes(pipeline, {name: tuple(given[name]) for name in names})
        parse_pipeline(found.filled(found.start))
        return found

    @property
    def start(self) -> Point:
        """The first value of each hole."""
        return {name: sizes[0] for name, sizes in self.values.items()}

    @property
    def count(self) -> int:
        """The number of points with the pipeline, legal or not."""
        return prod(map(len, self.values.values()))

    def points(self) -> Iterator[Point]:
        """All points, the last hole fastest."""
        for sizes in product(*self.values.values()):
            yield dict(zip(self.values, sizes, strict=True))

    def filled(self, point: Point) -> str:
        """The passes of a point; none for zeros."""
        if not any(point.values()):
            return ""
        return _HOLE.sub(lambda hole: str(point[hole[1]]), self.pipeline)

    def scheduled(self, module: Module, point: Point) -> Module:
        """A module after the passes of a point.  Raises Error."""
        from gpucodegen.passes.framework.base import run_pipeline
        from gpucodegen.passes.framework.pipeline_text import parse_pipeline

        return run_pipeline(module, parse_pipeline(self.filled(point)))

    def schedules(self, module: Module) -> Schedules:
        """The points of a search; refused ones are collected in ``refused``."""
        from gpucodegen.tiling.tuning.knobs import Knob

        values = {name: (0, *sizes) for name, sizes in self.values.items()}
        return Schedules(Knob("pipeline", values, self.start), self._refusal(module))

    def contest(
        self, program: Program, name: str, arguments: Sequence[Any]
    ) -> PipelineContest:
        """The benchmark of the passes of each point."""
        made = PipelineContest.of(program, name, arguments)
        made.holes = self
        return made

    @property
    def illegal(self) -> list[Trial]:
        """The points that the passes refused, each with its witness."""
        return [trial for trial in self.refused.values() if trial is not None]

    def _refusal(self, module: Module) -> Callable[[Point], str | None]:
        def refusal(point: Point) -> str | None:
            if any(point.values()) and not all(point.values()):
                return TOGETHER
            key = identity(point)
            if key not in self.refused:
                self.refused[key] = self._attempt(module, point)
            found = self.refused[key]
            return None if found is None else found.reason

        return refusal

    def _attempt(self, module: Module, point: Point) -> Trial | None:
        try:
            self.scheduled(module, point)
        except errors.Error as refused:
            return Trial(point, Status.ILLEGAL, reason=refused.message)
        return None


@dataclass(slots=True)
class PipelineContest(PairedBenchmark):
    """Times a program after the passes of each point."""

    holes: Holes | None = None

    def _compiled(self, point: Point) -> Any:
        """The function after the passes of a point."""
        from gpucodegen.program import Program
        from gpucodegen.program_text import of_module

        assert self.holes is not None
        module = self.holes.scheduled(self.program.module, point)
        return Program(of_module(module), self.program.options)[self.name]
