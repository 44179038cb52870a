"""The tuning space of a function: knobs, legality of points, and their model ranking.

From a program and the arguments of a call, `schedules` runs the passes that would
compile it.  They report the sizes that tuning may vary
(`gpucodegen.tiling.tuning.knobs`), and decide the legality of each point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field, replace
from operator import index, itemgetter
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from gpucodegen import errors
from gpucodegen.compiling.targets.registry import find
from gpucodegen.compiling.tuned_schedules import Point, with_point
from gpucodegen.options import Options
from gpucodegen.passes.loops.requested_schedules import is_asked, is_of_time_tiles
from gpucodegen.records import dataclass
from gpucodegen.runtime.host.arguments import alignments, specialized
from gpucodegen.tiling.tuning.calibration import Correction

if TYPE_CHECKING:
    from gpucodegen.compiling.lowering import Key
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.passes.framework.base import ModulePass
    from gpucodegen.program import Program
    from gpucodegen.tiling.tuning.knobs import Knob
    from gpucodegen.tiling.tuning.search import Space


TILING = "tile"
"""The pass that applies tile sizes."""
PLANNED = "improve-locality", "wavefront"
"""Passes that apply the loop orders, fusions and time tiles of a plan."""
REFUSALS = (
    errors.IllegalTransformation,
    errors.InvalidOption,
    errors.InvalidPassOption,
)


@dataclass(frozen=True, slots=True)
class Passes:
    """The passes that compile a function for a target and argument types."""

    key: Key
    options: Options

    def front(self, module: Module, name: str) -> Module:
        """The affine nests of a function."""
        from gpucodegen.compiling.pipeline import front_passes
        from gpucodegen.passes.framework.base import run_pipeline
        from gpucodegen.passes.framework.functions import reachable

        _, types, aligned = self.key
        passes = front_passes(name, types, self.options.handlers, alignments=aligned)
        return run_pipeline(reachable(module, name), passes, verify=False)

    def mapping(self, options: Options) -> list[ModulePass]:
        """The passes that map the nests."""
        from gpucodegen.compiling.pipeline import mapping_passes

        return mapping_passes(self.key[0], replace(options, verify=False))

    def knobs(self, module: Module) -> list[Knob]:
        """The knobs of all nests that the passes map, tile sizes at the end."""
        from gpucodegen.passes.framework.base import run_pipeline

        found: list[Knob] = []
        made = module
        for pass_ in self.mapping(replace(self.options, tile_sizes=())):
            found += pass_.knobs(made)
            made = pass_.apply(made)
        tiling = self.mapping(replace(self.options, tile_sizes=(1,)))
        (at,) = _deciding(tiling)
        before = run_pipeline(module, tiling[:at], verify=False)
        return [*found, *tiling[at].knobs(before)]


@dataclass(frozen=True, slots=True)
class Legality:
    """Whether the passes can implement a point.

    ``module``: the affine nests.  The module before the first deciding pass, and all
    answers, are cached.
    """

    passes: Passes
    module: Module
    before: dict[str, Module] = field(default_factory=dict[str, "Module"])
    verdicts: dict[Options, str | None] = field(
        default_factory=dict[Options, "str | None"]
    )

    def refusal(self, point: Point) -> str | None:
        """Why compiling with such tiles, orders or fusions fails, or None."""
        asked = with_point(self.passes.options, point)
        if not (asked.tile_sizes or asked.plan):
            return None
        if asked not in self.verdicts:
            self.verdicts[asked] = self._refusal(asked)
        return self.verdicts[asked]

    def _refusal(self, asked: Options) -> str | None:
        try:
            self._decide(self.passes.mapping(asked))
        except REFUSALS as refused:
            return refused.message
        return None

    def _decide(self, passes: Sequence[ModulePass]) -> None:
        """Runs the passes from the first to the last that a point configures."""
        from gpucodegen.passes.framework.base import run_pipeline

        deciding = _deciding(passes)
        if not deciding:
            return
        first, last = deciding[0], deciding[-1]
        name = passes[first].name
        if name not in self.before:
            made = run_pipeline(self.module, passes[:first], verify=False)
            self.before[name] = made
        run_pipeline(self.before[name], passes[first : last + 1], verify=False)


def _deciding(passes: Sequence[ModulePass]) -> list[int]:
    """The indices of passes that are configured by tile sizes or plan fields."""
    return [
        n
        for n, one in enumerate(passes)
        if one.name == TILING or (one.name in PLANNED and getattr(one, "plan", ()))
    ]


PRUNED = 2.0
"""Times the default's clocks by the model beyond which a schedule is not tried."""


@dataclass(frozen=True, slots=True)
class Schedules:
    """The tuning space of a function.

    ``refusal``: why the compiler refuses a point, or None.  ``space``: points that are
    legal and worth a trial.  ``default``: the point of the compiler's own choices.
    ``where``: the caller's predicate on other points.  ``correction``: of the model, by
    earlier trials on this machine.
    """

    knob: Knob
    refusal: Callable[[Point], str | None]
    where: Callable[[Point], bool] | None = None
    correction: Correction = field(default_factory=Correction)

    @property
    def space(self) -> Space:
        """The points of a search."""
        from gpucodegen.tiling.tuning.search import Space

        def objection(point: Point) -> object | None:
            return self.knob.objection(point) or self.objection(point)

        return Space(self.knob.values, objection, self.knob.schedule)

    def objection(self, point: Point) -> str | None:
        """Why a point is not tried: the caller excludes it, or it is illegal."""
        if self.where is not None and any(point.values()) and not self.where(point):
            return "where= leaves it out"
        return self.refusal(point)

    @property
    def default(self) -> Point:
        """The empty point."""
        return dict.fromkeys(self.knob.values, 0)

    @property
    def ranked(self) -> tuple[tuple[Point, ...], int]:
        """The first points of a search, and how many points are left out.

        These are the default, and points in the order of the model.  Points that the
        model expects to take more than `PRUNED` times as long as the default are left
        out.
        """
        knob, most = self.knob, PRUNED * (self.clocks(self.default) or 0.0)
        found = [(self.clocks(point) or 0.0, point) for point in knob.ranked()]
        points = sorted(found, key=itemgetter(0))
        kept = [point for clocks, point in points if clocks <= most]
        starts = [{**self.default, **knob.start}] if knob.start else []
        return (self.default, *starts, *kept), len(points) - len(kept)

    def clocks(self, point: Point) -> float | None:
        """The corrected model's clocks of a point; None where there is no model."""
        expected = self.knob.clocks(point)
        if expected is None or not self.correction.weights:
            return expected
        return expected * self.correction.factor(self.knob.features(point))

    def point_of(self, sizes: Sequence[int] | Mapping[str, int]) -> Point:
        """Sizes by their names; missing ones are the compiler's choice.

        Raises InvalidOption for names and sizes that no knob has.
        """
        names = list(self.knob.values)
        try:
            if not isinstance(sizes, Mapping):
                names = [name for name in names if not _is_of_a_plan(name)]
                extra = [f"tile{depth}" for depth in range(len(names), len(sizes))]
                names += [] if self.knob.option == "register_tile" else extra
                sizes = dict(zip(names[: len(sizes)], sizes, strict=True))
            given = {name: index(size) for name, size in sizes.items()}
        except (TypeError, ValueError):
            given = {"": 0}
        if not given.keys() <= {*names} or min(given.values(), default=0) < 0:
            known = ", ".join(names) or "knobs, of which it has none"
            hint = f"Give whole numbers for {known}"
            raise errors.InvalidOption(name="candidates", value=sizes, hint=hint)
        return {**self.default, **given}


def _is_of_a_plan(name: str) -> bool:
    """Whether a value of the CPU is a plan field beside tile sizes."""
    return is_asked(name) or is_of_time_tiles(name)


def schedules(program: Program, name: str, arguments: Sequence[Any]) -> Schedules:
    """The tuning space of a function called with these arguments."""
    from gpucodegen.tiling.tuning.knobs import joined

    function = program[name]
    target, known = function.key_for(tuple(arguments))
    if find(target).interprets:
        hint = "Tune it for cpu, cuda or sim: the interpreter has no schedules"
        raise errors.InvalidOption(name="target", value=target, hint=hint)
    types = specialized(function.view.type.inputs, known)
    options = find(target).settled(function.options)
    mapping = Passes((target, types, alignments(known)), options)
    with catch_warnings():
        simplefilter("ignore")  # compiling tells them
        module = mapping.front(program.module, name)
        found = mapping.knobs(module)
    return Schedules(joined(found), Legality(mapping, module).refusal)


def affine_nests(program: Program, name: str, arguments: Sequence[Any]) -> Module:
    """The affine nests from which the mapping starts, for these arguments."""
    function = program[name]
    target, known = function.key_for(tuple(arguments))
    types = specialized(function.view.type.inputs, known)
    options = find(target).settled(function.options)
    mapping = Passes((target, types, alignments(known)), options)
    with catch_warnings():
        simplefilter("ignore")  # compiling tells them
        return mapping.front(program.module, name)
