"""Search order: the space of a tuning and the strategy that starts with the default."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from gpucodegen.records import dataclass
from gpucodegen.tiling.tuning import search
from gpucodegen.tiling.tuning.search import Space
from gpucodegen.tuning.schedules import PRUNED

if TYPE_CHECKING:
    from gpucodegen.tiling.tuning.search import Point
    from gpucodegen.tuning.pipeline_templates import Holes
    from gpucodegen.tuning.schedules import Schedules

Candidates = Sequence[Sequence[int] | Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Order:
    """The points to try, and their order.

    ``space``: the allowed points.  ``note``: the points that the model excludes.
    """

    space: Space
    strategy: search.Strategy
    note: str = ""

    @staticmethod
    def of(
        found: Schedules,
        holes: Holes | None,
        candidates: Candidates | None,
        sampler: Any,
        trials: int,
        width: int,
        listed: int,
    ) -> Order:
        """The order of at most ``trials`` trials, ``width`` of them at a time.

        ``listed``: the points of a list that are yielded at a time, for its order does
        not depend on trials. ``candidates`` and the points of a pipeline, if they are
        few, are tried in the given order; so are the plans of a GPU's kernels, in the
        order of the model.  Other spaces are searched, by the ``sampler`` or by local
        search.
        """
        ranked, left_out = found.ranked
        points = _given(found, holes, candidates, trials)
        space = found.space
        if points is not None:
            space = Space(found.knob.values, found.objection)
            rest = search.given(points, width=listed)
        elif sampler is not None:
            rest = search.sampled(space, ranked[:1], sampler, width=width)
        elif found.knob.option == "plan":
            rest = search.given(ranked, width=listed)
        else:
            rest = search.local_search(space, ranked, width=width, model=found.clocks)
        note = "" if candidates is not None else _left_out(left_out)
        return Order(space, search.after(found.default, rest), note)


def _given(
    found: Schedules,
    holes: Holes | None,
    candidates: Candidates | None,
    trials: int,
) -> Sequence[Point] | None:
    """Points to try instead of searching: given ones, or all of a pipeline if few."""
    if candidates is not None:
        return [found.default, *map(found.point_of, candidates)]
    if holes and holes.count < trials:
        return [found.default, *holes.points()]
    return None


def _left_out(count: int) -> str:
    if not count:
        return ""
    return (
        f"left out: {count} schedules that the model of the machine expects to take"
        f" more than {PRUNED:.0f} times as long as the default"
    )
