"""isl's scheduler: the affine schedule that it finds for a nest, checked.

Comes in: a `UnitNest`. Goes out: a `Schedule` or `Refusal`. It gets the dependences as
validity (keep their order), proximity (bring their ends together) and coincidence (let
outer loops be parallel). What isl answers is checked like any other schedule.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from functools import reduce

import islpy

from gpucodegen.tiling.model.isl import IN, OUT, PARAM
from gpucodegen.tiling.model.isl_forms import linear_function
from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.schedule import Schedule, UnitNest, compact, padded


class Parallel(Enum):
    """Where parallel loops are wanted, by the number of isl's algorithm.

    ``OUTSIDE``: around sequential ones (Pluto's algorithm).  ``INSIDE``: outer loops
    carry as many dependences as they can, so that most is parallel within few steps
    (Feautrier, "Some efficient solutions to the affine scheduling problem", 1992).
    """

    OUTSIDE = 0
    INSIDE = 1


PATIENCE = 40
"""How much more than a query the scheduler may cost: about a second."""


def find_schedule(
    nest: UnitNest,
    *,
    parallel: Parallel = Parallel.OUTSIDE,
    first: Mapping[str, tuple[str, ...]] | None = None,
) -> Schedule | Refusal:
    """The schedule of isl's algorithm within the limits.

    ``first``: outer times that are settled, of one length.  isl orders what they leave
    open.

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
    with solver.more(PATIENCE):
        found = solver.ask(lambda: _schedule(nest, parallel, first), None)
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
    """The times, without the entries of the inner ones that the first ones repeat."""
    settled = [*zip(*first.values(), strict=True)]
    entries = zip(*(inner[name] for name in first), strict=True)
    rows = [*settled, *(entry for entry in entries if entry not in settled)]
    return dict(zip(first, zip(*rows, strict=True), strict=True))


def _schedule(
    nest: UnitNest, parallel: Parallel, first: Mapping[str, tuple[str, ...]] | None
) -> islpy.UnionMap:
    """The flat schedule, unit by unit, of what runs at one of the first times."""
    context = nest.model.solver.context
    context.set_schedule_algorithm(parallel.value)
    context.set_schedule_outer_coincidence(int(parallel is Parallel.OUTSIDE))
    context.set_schedule_maximize_band_depth(1)
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
        order = order.union(named.set_tuple_name(OUT, ids[sink.name]))
    order = order.coalesce()
    constraints = islpy.ScheduleConstraints.on_domain(domain).set_validity(order)
    constraints = constraints.set_proximity(order).set_coincidence(order)
    return constraints.compute_schedule().get_map()


def _times(nest: UnitNest, found: islpy.UnionMap) -> dict[str, tuple[str, ...]] | None:
    """The schedule as text; None if a part of it is not one formula."""
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
