"""How far dependences reach along loops that are aligned with each other.

Comes in: a `UnitNest`, and which loop of each unit counts for each position. Goes out,
per pair of units, the distances { l(y) - l(x) : x -> y in dependences }, their minima.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import reduce

from gpucodegen.tiling.model.isl import Set, Solver
from gpucodegen.tiling.proof.dependences import Dependence
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
    """Distances along aligned loops; alignments that agree on two units share theirs.

    ``known``: by the pair of units and their loops.
    """

    nest: UnitNest
    pairs: Mapping[Pair, Sequence[Dependence]]
    known: dict[Ends, Steps | None] = field(default_factory=dict[Ends, "Steps | None"])

    @staticmethod
    def of(nest: UnitNest) -> Deltas:
        """The dependences of a nest by the units that they connect."""
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
    """The union in fewer pieces, where isl finds them."""
    union = nest.model.solver.ask(lambda: reduce(Set.union, sets).coalesce(), None)
    return list(sets) if union is None else [union]
