"""Steps along loops as they are written: of each unit one loop is the outermost.

Comes in: a `UnitNest`. Goes out: a `Schedule` or `Refusal`. Outside are loops that no
dependence crosses. Then comes the choice of one loop of each unit that carries the most
dependences and reverses none. isl orders what is left open, parallel loops outside. So
a triangular solve runs column by column of its matrix, all rows below at once, and a
factorisation updates all that is left of its matrix in each step.

With T the loops chosen, a dependence x -> y is crossed where T(x) and T(y) differ,
reversed where T(y) < T(x), and carried where T(x) < T(y) for all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice, product

from gpucodegen.tiling.model.isl import Map
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.orders.isl_schedule import find_schedule
from gpucodegen.tiling.schedule.schedule import Schedule, UnitNest

COMBINATIONS = 256
"""Choices of loops that are looked at."""
Chosen = Mapping[str, str]
"""By unit, one of its loops."""


def schedule_steps(nest: UnitNest) -> Schedule | Refusal:
    """The schedule whose steps are loops of the text.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.schedule.schedule import Unit
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> update = Statement("S", (read("x", "j"), read("x", "i"), write("x", "i")))
    >>> divide = Statement("D", (read("x", "i"), write("x", "i")))
    >>> rows = Loop("i", "0", "9", body=(Loop("j", "0", "i", body=(update,)), divide))
    >>> built = model(Scop((), (), (Array("x", (9,)),), (rows,)))
    >>> units = (Unit(("S",)), Unit(("D",)))
    >>> schedule_steps(UnitNest(built, dependences(built), units)).times
    {'S': ('j', 'i', '1'), 'D': ('i', '1', '0')}
    """
    loops = _OwnLoops(nest)
    rows: list[Chosen] = []
    while (outer := loops.uncrossed(rows)) is not None:
        rows.append(outer)
    step = loops.carrying(rows)
    if step is None:
        return Refusal("no choice of loops carries a dependence and reverses none")
    rows.append(step)
    first = {unit.name: tuple(row[unit.name] for row in rows) for unit in nest.units}
    return find_schedule(nest, first=first)


@dataclass(frozen=True, slots=True)
class _OwnLoops:
    """What choices of loops do to the dependences of a nest; answers are kept."""

    nest: UnitNest
    known: dict[tuple[int, str, str], tuple[bool, bool, bool]] = field(
        default_factory=dict[tuple[int, str, str], tuple[bool, bool, bool]]
    )

    def uncrossed(self, taken: list[Chosen]) -> Chosen | None:
        """Loops not taken yet that no dependence crosses."""
        for chosen in self._choices(taken):
            effects = self._effects(chosen)
            if not any(after or before for after, before, _ in effects):
                return chosen
        return None

    def carrying(self, taken: list[Chosen]) -> Chosen | None:
        """Loops not taken yet that carry most and reverse nothing."""
        best, most = None, 0
        for chosen in self._choices(taken):
            effects = list(self._effects(chosen))
            count = sum(not same for _, _, same in effects)
            if count > most and not any(before for _, before, _ in effects):
                best, most = chosen, count
        return best

    def _choices(self, taken: list[Chosen]) -> Iterator[Chosen]:
        names = [unit.name for unit in self.nest.units]
        open_loops = [
            [
                loop.name
                for loop in self.nest.instances(unit).loops
                if all(row[unit.name] != loop.name for row in taken)
            ]
            for unit in self.nest.units
        ]
        for loops in islice(product(*open_loops), COMBINATIONS):
            yield dict(zip(names, loops, strict=True))

    def _effects(self, chosen: Chosen) -> Iterator[tuple[bool, bool, bool]]:
        """Of each dependence: whether parts of it go forward, backward, or neither."""
        for number, (dependence, source, sink) in enumerate(self.nest.ordered()):
            ends = chosen[source.name], chosen[sink.name]
            key = (number, *ends)
            if key not in self.known:
                self.known[key] = self._effect(dependence, *ends)
            yield self.known[key]

    def _effect(
        self, dependence: Dependence, source: str, sink: str
    ) -> tuple[bool, bool, bool]:
        """What is not known to be empty is taken to be there."""
        begin, end = self.nest.times_of(dependence, (source,), (sink,))
        solver = self.nest.model.solver

        def some(related: Map) -> bool:
            pairs = dependence.pairs
            found = solver.ask(lambda: pairs.intersect(related), pairs)
            return not solver.is_empty(found)

        return (
            some(begin.lex_lt_map(end)),
            some(begin.lex_gt_map(end)),
            some(begin.apply_range(end.reverse())),
        )
