"""The schedules a function can be tuned over.

Comes in: a program and the arguments of a call.  Goes out: what the passes that would
compile it let tuning vary (`gpucodegen.tiling.tuning.knobs`), and their verdict on each
point.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import index, itemgetter
from typing import TYPE_CHECKING, Any
from warnings import catch_warnings, simplefilter

from gpucodegen import errors
from gpucodegen.compiling.targets.registry import find
from gpucodegen.compiling.winners import Point
from gpucodegen.passes.loops.order.asked import is_asked
from gpucodegen.passes.loops.tiling.asked_tiles import is_of_time_tiles
from gpucodegen.runtime.host.arguments import alignments, specialized
from gpucodegen.tiling.tuning.calibration import Correction
from gpucodegen.tuning.choices.legality import Legality, Passes

if TYPE_CHECKING:
    from gpucodegen.dialects.builtin import Module
    from gpucodegen.program import Program
    from gpucodegen.tiling.tuning.knobs import Knob
    from gpucodegen.tiling.tuning.search import Space


PRUNED = 2.0
"""Times the default's clocks by the model beyond which a schedule is not tried."""


@dataclass(frozen=True, slots=True)
class Schedules:
    """What a function can be tuned over.

    ``refusal``: why the compiler refuses a point, or None.  ``space``: points that are
    legal and worth a trial.  ``default``: the point of the compiler's own choices.
    ``where``: which other points a caller wants.  ``correction``: of the model, by
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
        """Why a point is not tried: the caller does not want it, or it is illegal."""
        if self.where is not None and any(point.values()) and not self.where(point):
            return "where= leaves it out"
        return self.refusal(point)

    @property
    def default(self) -> Point:
        """Nothing asked for."""
        return dict.fromkeys(self.knob.values, 0)

    @property
    def ranked(self) -> tuple[tuple[Point, ...], int]:
        """Where a search begins, and how many points are left out.

        The default, and what the model ranks behind it.  Left out is what it expects to
        take more than `PRUNED` times as long as the default.
        """
        knob, most = self.knob, PRUNED * (self.clocks(self.default) or 0.0)
        found = [(self.clocks(point) or 0.0, point) for point in knob.ranked()]
        points = sorted(found, key=itemgetter(0))
        kept = [point for clocks, point in points if clocks <= most]
        starts = [{**self.default, **knob.start}] if knob.start else []
        return (self.default, *starts, *kept), len(points) - len(kept)

    def clocks(self, point: Point) -> float | None:
        """What the corrected model expects of a point; None where there is no model."""
        expected = self.knob.clocks(point)
        if expected is None or not self.correction.weights:
            return expected
        return expected * self.correction.factor(self.knob.features(point))

    def point_of(self, sizes: Sequence[int] | Mapping[str, int]) -> Point:
        """Sizes by their names; those left out are the compiler's choice.

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
    """Whether a value of the CPU stands beside tile sizes."""
    return is_asked(name) or is_of_time_tiles(name)


def schedules(program: Program, name: str, arguments: Sequence[Any]) -> Schedules:
    """What can be tuned in a function called with these arguments."""
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
    """The function as its mapping begins, for the types of these arguments."""
    function = program[name]
    target, known = function.key_for(tuple(arguments))
    types = specialized(function.view.type.inputs, known)
    options = find(target).settled(function.options)
    mapping = Passes((target, types, alignments(known)), options)
    with catch_warnings():
        simplefilter("ignore")  # compiling tells them
        return mapping.front(program.module, name)
