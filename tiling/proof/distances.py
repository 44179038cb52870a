"""Halos per time step of a time loop, for overlapped (redundantly computed) tiles.

`step_halo` takes a `UnitNest` whose outermost loop is time, and per unit its
*positions*: isl text of the time step and of the cell in space that it computes.  It
returns a `StepHalo`.  A tile that is computed for some steps without its neighbours is
right at the end if every value that an instance reads was made by an instance of the
tile too, or before the first step.  With u the remaining steps after an instance, the
tile computes the cells from ``first - a*u - c`` to ``last + b*u + d`` along a
dimension, with slopes a and b that all units share and margins c and d of each unit.
The condition for each read y of a value of x, with dt and d the distances of time and
space, is

    c(x) >= c(y) + d - a * dt   and   d(x) >= d(y) - d - b * dt.

Distances come from isl and are exact; the slopes are the smallest for which margins
exist, and the margins are longest paths. Sources: Krishnamoorthy et al. (PLDI 2007),
PolyMage (ASPLOS 2015), Meng and Skadron, ghost zones (ICS 2009).  `Deltas` gives the
distances { l(y) - l(x) : x -> y in dependences } per pair of units, for aligned loops.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import reduce

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Set, Solver
from gpucodegen.tiling.proof.dependences import Dependence, Kind
from gpucodegen.tiling.schedule.schedule import UnitNest

Factors = tuple[int, ...]
Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Steps:
    """Distances from one unit to another; ``lows``: the least sums, by factors."""

    solver: Solver
    sets: Sequence[Set]
    lows: dict[Factors, int | None] = field(default_factory=dict[Factors, "int | None"])

    def least(self, row: Factors) -> int | None:
        """min { d_k + sum f_km * d_m : d in sets }; None if there is none."""
        return self.least_sum((*row, 1))

    def least_sum(self, factors: Factors) -> int | None:
        """min { sum f_m * d_m : d in sets }; None if there is none."""
        if factors not in self.lows:
            found = [self.solver.least(deltas, factors) for deltas in self.sets]
            lows = [low for low in found if low is not None]
            self.lows[factors] = min(lows) if len(lows) == len(found) else None
        return self.lows[factors]


Distances = Mapping[Pair, Steps]
Ends = tuple[Pair, tuple[str, ...], tuple[str, ...]]


@dataclass(frozen=True, slots=True)
class Deltas:
    """Distances along aligned loops; alignments that agree on two units share results.

    ``known``: by the pair of units and their loops.
    """

    nest: UnitNest
    pairs: Mapping[Pair, Sequence[Dependence]]
    known: dict[Ends, Steps | None] = field(default_factory=dict[Ends, "Steps | None"])

    @staticmethod
    def of(nest: UnitNest) -> Deltas:
        """Groups the dependences of a nest by pairs of units."""
        pairs: dict[Pair, list[Dependence]] = {}
        for dependence, source, sink in nest.ordered():
            pairs.setdefault((source.name, sink.name), []).append(dependence)
        return Deltas(nest, pairs)

    def between(self, loops: Mapping[str, tuple[str, ...]]) -> Distances | None:
        """Per pair of units { l(y) - l(x) : x -> y in dependences }."""
        found: dict[Pair, Steps] = {}
        for pair, dependences in self.pairs.items():
            before, after = (loops[name] for name in pair)
            ends = pair, before, after
            if ends not in self.known:
                self.known[ends] = self._steps(dependences, before, after)
            steps = self.known[ends]
            if steps is None:
                return None
            found[pair] = steps
        return found

    def _steps(
        self,
        dependences: Sequence[Dependence],
        before: Sequence[str],
        after: Sequence[str],
    ) -> Steps | None:
        found = [_deltas(self.nest, each, before, after) for each in dependences]
        sets = [deltas for deltas in found if deltas is not None]
        if len(sets) < len(found):
            return None
        return Steps(self.nest.model.solver, _merged(self.nest, sets))


def _deltas(
    nest: UnitNest, dependence: Dependence, before: Sequence[str], after: Sequence[str]
) -> Set | None:
    ends = dependence.source.instances.name, dependence.sink.instances.name
    first, second = (
        nest.model.times(name, loops)
        for name, loops in zip(ends, (before, after), strict=True)
    )
    return nest.model.solver.ask(
        lambda: dependence.pairs.apply_domain(first).apply_range(second).deltas(), None
    )


def _merged(nest: UnitNest, sets: Sequence[Set]) -> list[Set]:
    """The union, coalesced into fewer pieces where isl can."""
    union = nest.model.solver.ask(lambda: reduce(Set.union, sets).coalesce(), None)
    return list(sets) if union is None else [union]


STEEPEST = 8
"""Values that travel further per step leave tiles that are nearly all halo."""


@dataclass(frozen=True, slots=True)
class Sides:
    """Cells towards lower and towards higher indices."""

    below: int
    above: int


@dataclass(frozen=True, slots=True)
class StepHalo:
    """Per dimension the slopes a and b; per unit and dimension the margins c and d."""

    slopes: tuple[Sides, ...]
    margins: Mapping[str, tuple[Sides, ...]]


def step_halo(
    nest: UnitNest,
    positions: Mapping[str, tuple[str, ...]],
    least: Mapping[str, Sequence[Sides]],
) -> StepHalo | None:
    """The smallest slopes and margins; None if values travel without a limit.

    ``least``: lower bounds of the margins per unit.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.schedule.schedule import Unit
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> reads = read("A", "i - 2"), read("A", "i + 1")
    >>> there = Statement("S", (*reads, write("B", "i")))
    >>> back = Statement("R", (read("B", "j"), write("A", "j")))
    >>> sweeps = (*nest([Loop("i", "2", "98")], (there,)),
    ...           *nest([Loop("j", "2", "98")], (back,)))
    >>> body = nest([Loop("t", "0", "T")], sweeps)
    >>> built = model(Scop(("T",), (), (Array("A", (100,)), Array("B", (100,))), body))
    >>> steps = UnitNest(built, dependences(built), (Unit(("S",)), Unit(("R",))))
    >>> found = step_halo(steps, {"S": ("t", "i"), "R": ("t", "j")}, {})
    >>> found.slopes
    (Sides(below=2, above=1),)
    """
    values = [d for d in nest.dependences if d.kind is Kind.RAW]
    flowing = replace(nest, dependences=tuple(values))
    distances = Deltas.of(flowing).between(positions)
    if distances is None:
        return None
    names = [unit.name for unit in nest.units]
    rank = len(positions[names[0]]) - 1
    slopes: list[Sides] = []
    margins: dict[str, list[Sides]] = {name: [] for name in names}
    for dimension in range(rank):
        own = {n: least[n][dimension] if n in least else Sides(0, 0) for n in names}
        below = _side(distances, dimension, -1, {n: s.below for n, s in own.items()})
        above = _side(distances, dimension, 1, {n: s.above for n, s in own.items()})
        if below is None or above is None:
            return None
        slopes.append(Sides(below[0], above[0]))
        for name in names:
            margins[name].append(Sides(below[1][name], above[1][name]))
    return StepHalo(tuple(slopes), {n: tuple(found) for n, found in margins.items()})


def _side(
    distances: Distances, dimension: int, sign: int, least: Mapping[str, int]
) -> tuple[int, Mapping[str, int]] | None:
    """The smallest slope of one side with its margins."""
    for slope in range(STEEPEST + 1):
        found = _margins(distances, (slope, *[0] * dimension, sign), least)
        if found is not None:
            return slope, found
    return None


def _margins(
    distances: Distances, factors: tuple[int, ...], least: Mapping[str, int]
) -> Mapping[str, int] | None:
    """Longest paths against the flow of values; None if there is a positive cycle."""
    margins = dict(least)
    spare = {pair: steps.least_sum(factors) for pair, steps in distances.items()}
    for _ in range(len(margins) + 1):
        changed = False
        for (source, sink), low in spare.items():
            if low is None:
                return None
            if margins[source] < margins[sink] - low:
                margins[source], changed = margins[sink] - low, True
        if not changed:
            return margins
    return None
