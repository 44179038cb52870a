"""Affine scheduling of a nest by isl, optionally with loops of the text as outer times.

`find_schedule` gives isl the dependences of a `UnitNest` as validity (keep their
order), proximity (bring their ends together) and coincidence (keep outer loops
parallel) constraints.  isl's answer is checked like any other schedule, and returned as
a `Schedule` or a `Refusal`.

`schedule_steps` chooses the outer times among the loops of the text.  First come loops
that no dependence crosses, then one loop of each unit that carries the most dependences
and reverses none; isl orders the rest, parallel loops outside.  Thus a triangular solve
runs column by column of its matrix, all rows below in parallel, and a factorisation
updates the trailing matrix in each step. With T the chosen loops, a dependence x -> y
is crossed where T(x) and T(y) differ, reversed where T(y) < T(x), and carried where
T(x) < T(y) for all of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from enum import Enum
from functools import partial, reduce
from itertools import islice, product

import islpy

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import IN, OUT, PARAM, Map
from gpucodegen.tiling.model.isl_forms import linear_function
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.schedule import (
    Schedule,
    Unit,
    UnitNest,
    compact,
    padded,
)


class Parallel(Enum):
    """Where parallel loops are placed; the value is the number of isl's algorithm.

    ``OUTSIDE``: around sequential ones (Pluto's algorithm).  ``INSIDE``: outer loops
    carry as many dependences as they can, so that most is parallel within few steps
    (Feautrier, "Some efficient solutions to the affine scheduling problem", 1992).
    """

    OUTSIDE = 0
    INSIDE = 1


PER_QUOTA = 20
"""Dependences for which the scheduler may cost as much as a query.

Where dependence distances are like the extents of the loops, cuts of its integer
programs (isl 0.27) get ever longer numbers: 50,000 operations take up to three seconds
then, and the time grows with their square.  PolyBench takes at most 0.6 of its quota.
"""


@dataclass(frozen=True, slots=True)
class _Attempt:
    """How to ask isl.

    ``most``: the largest coefficient and shift, or -1.  ``near``: the distances of
    dependences are minimised.
    """

    most: int
    near: bool


_ATTEMPTS = (_Attempt(-1, near=True), _Attempt(4, near=True), _Attempt(4, near=False))
"""In turn, until one is answered within the limits."""


def find_schedule(
    nest: UnitNest,
    *,
    parallel: Parallel = Parallel.OUTSIDE,
    first: Mapping[str, tuple[str, ...]] | None = None,
) -> Schedule | Refusal:
    """The schedule of isl's algorithm within the limits.

    ``first``: fixed outer times, of one length; isl orders the rest.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.schedule.schedule import Unit
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> column = Statement("S", (read("A", "i - 1", "j"), write("A", "i", "j")))
    >>> chain = [Loop("i", "1", "99"), Loop("j", "0", "99")]
    >>> built = model(Scop((), (), (Array("A", (99, 99)),), nest(chain, (column,))))
    >>> find_schedule(UnitNest(built, dependences(built), (Unit(("S",)),))).times
    {'S': ('j', 'i')}
    """
    solver = nest.model.solver
    dependences = sum(1 for _ in nest.ordered())
    found = None
    with solver.more(1 + dependences // PER_QUOTA):
        for attempt in _ATTEMPTS:
            found = found or solver.ask(
                partial(_schedule, nest, parallel, first, attempt), None
            )
    times = None if found is None else _times(nest, found)
    if times is None:
        reason = "isl's scheduler gave no answer within its limits"
        return Refusal(reason, undecided=True)
    if first is not None:
        times = _after(first, times)
    return nest.check(times) or nest.schedule(compact(times))


def _after(
    first: Mapping[str, tuple[str, ...]], inner: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    """Appends the inner times, without entries that repeat the first ones."""
    settled = [*zip(*first.values(), strict=True)]
    entries = zip(*(inner[name] for name in first), strict=True)
    rows = [*settled, *(entry for entry in entries if entry not in settled)]
    return dict(zip(first, zip(*rows, strict=True), strict=True))


def _schedule(
    nest: UnitNest,
    parallel: Parallel,
    first: Mapping[str, tuple[str, ...]] | None,
    attempt: _Attempt,
) -> islpy.UnionMap:
    """The flat schedule, unit by unit, of the instances with equal first times."""
    context = nest.model.solver.context
    context.set_schedule_algorithm(parallel.value)
    context.set_schedule_outer_coincidence(int(parallel is Parallel.OUTSIDE))
    context.set_schedule_maximize_band_depth(1)
    context.set_schedule_max_coefficient(attempt.most)
    context.set_schedule_max_constant_term(attempt.most)
    ids = {unit.name: f"U{at}" for at, unit in enumerate(nest.units)}
    domains = [
        nest.instances(unit).values.range().set_tuple_name(ids[unit.name])
        for unit in nest.units
    ]
    domain = reduce(islpy.UnionSet.union, map(islpy.UnionSet, domains))
    order = islpy.UnionMap.empty(domain.get_space())
    for dependence, source, sink in nest.ordered():
        ends = dependence.source.instances.values, dependence.sink.instances.values
        pairs = dependence.pairs
        if first is not None:
            begin, end = nest.times_of(dependence, first[source.name], first[sink.name])
            pairs = pairs.intersect(begin.apply_range(end.reverse()))
        pairs = pairs.apply_domain(ends[0]).apply_range(ends[1])
        named = pairs.set_tuple_name(IN, ids[source.name])
        named = named.set_tuple_name(OUT, ids[sink.name])
        order = order.union(named)
    order = order.coalesce()
    constraints = islpy.ScheduleConstraints.on_domain(domain).set_validity(order)
    constraints = constraints.set_coincidence(order)
    if attempt.near:
        constraints = constraints.set_proximity(order)
    return constraints.compute_schedule().get_map()


def _times(nest: UnitNest, found: islpy.UnionMap) -> dict[str, tuple[str, ...]] | None:
    """The schedule as text; None if a part of it has no single formula."""
    parts: list[islpy.Map] = []
    found.foreach_map(parts.append)
    times: dict[str, tuple[str, ...]] = {}
    for part in parts:
        unit = nest.units[int(str(part.get_tuple_name(IN))[1:])]
        rows = linear_function(part)
        if rows is None:
            return None
        names = [loop.name for loop in nest.instances(unit).loops]
        texts = [_text(rows.get_at(d), names) for d in range(rows.dim(OUT))]
        if None in texts:
            return None
        times[unit.name] = tuple(text for text in texts if text is not None)
    if len(times) < len(nest.units):
        return None
    return padded({unit.name: times[unit.name] for unit in nest.units})


def _term(factor: int, name: str) -> str:
    return name if factor == 1 else f"{factor}*{name}"


def _text(row: islpy.Aff, names: Sequence[str]) -> str | None:
    """A linear formula; None if it divides."""
    if row.dim(islpy.dim_type.div):
        return None
    parameters = [str(row.get_dim_name(PARAM, i)) for i in range(row.dim(PARAM))]
    factors = [
        *((row.get_coefficient_val(IN, i), name) for i, name in enumerate(names)),
        *((row.get_coefficient_val(PARAM, i), p) for i, p in enumerate(parameters)),
    ]
    terms = [_term(f.to_python(), name) for f, name in factors if not f.is_zero()]
    constant = row.get_constant_val().to_python()
    if constant or not terms:
        terms.append(str(constant))
    return " + ".join(terms)


COMBINATIONS = 256
"""The most combinations of loops that are examined."""
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
    loops = _OwnLoops(nest, tuple(nest.ordered()))
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
    """The effect of chosen loops on the dependences of a nest; answers are cached."""

    nest: UnitNest
    ordered: Sequence[tuple[Dependence, Unit, Unit]]
    known: dict[tuple[int, str, str], tuple[bool, bool, bool]] = field(
        default_factory=dict[tuple[int, str, str], tuple[bool, bool, bool]]
    )

    def uncrossed(self, taken: list[Chosen]) -> Chosen | None:
        """Remaining loops that no dependence crosses."""
        for chosen in self._choices(taken):
            effects = self._effects(chosen)
            if not any(after or before for after, before, _ in effects):
                return chosen
        return None

    def carrying(self, taken: list[Chosen]) -> Chosen | None:
        """Remaining loops that carry most dependences and reverse none."""
        best, most = None, 0
        between: dict[tuple[str, str], list[int]] = {}
        for number, (_, source, sink) in enumerate(self.ordered):
            between.setdefault((source.name, sink.name), []).append(number)
        totals: dict[tuple[str, str, str, str], tuple[int, bool]] = {}
        for chosen in self._choices(taken):
            carried, reverses = 0, False
            for (source, sink), numbers in between.items():
                key = source, sink, chosen[source], chosen[sink]
                if key not in totals:
                    effects = [self._effect_of(n, chosen) for n in numbers]
                    count = sum(not same for _, _, same in effects)
                    totals[key] = count, any(before for _, before, _ in effects)
                carried += totals[key][0]
                reverses |= totals[key][1]
            if carried > most and not reverses:
                best, most = chosen, carried
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
        """Per dependence: whether parts of it go forward, backward, or neither."""
        for number in range(len(self.ordered)):
            yield self._effect_of(number, chosen)

    def _effect_of(self, number: int, chosen: Chosen) -> tuple[bool, bool, bool]:
        dependence, source, sink = self.ordered[number]
        ends = chosen[source.name], chosen[sink.name]
        key = (number, *ends)
        if key not in self.known:
            self.known[key] = self._effect(dependence, *ends)
        return self.known[key]

    def _effect(
        self, dependence: Dependence, source: str, sink: str
    ) -> tuple[bool, bool, bool]:
        """Parts that are not known to be empty count as present."""
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
