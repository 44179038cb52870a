"""Witnesses: concrete iterations, by the names of the program, that show a violation.

From a set of offending instances as an isl relation, `find_witness` and its siblings
make plain data with the statements, the iterations by loop name, the cell and the
source locations.
"""

from __future__ import annotations

from dataclasses import field

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Map, Solver
from gpucodegen.tiling.model.isl_forms import mentioned_parameters
from gpucodegen.tiling.model.relations import Instances, Model, Reference


@dataclass(frozen=True, slots=True)
class Event:
    """One execution of one statement and its access to the cell.

    >>> print(Event("S0", {"i": 0, "k": 1}, "write"))
    (i=0, k=1)
    """

    statement: str
    iteration: dict[str, int]
    verb: str
    loc: object = None

    def __str__(self) -> str:
        values = ", ".join(f"{name}={value}" for name, value in self.iteration.items())
        return f"({values})"


@dataclass(frozen=True, slots=True)
class Witness:
    """Two executions that touch one cell, and the parameters under which they do.

    >>> first = Event("S0", {"i": 0, "k": 0}, "write")
    >>> second = Event("S0", {"i": 0, "k": 1}, "write")
    >>> print(Witness("C", (0, 0), first, second))
    iterations (i=0, k=0) and (i=0, k=1) both write C[0, 0]
    """

    array: str
    cell: tuple[int, ...]
    first: Event
    second: Event
    parameters: dict[str, int] = field(default_factory=dict[str, int])

    def __str__(self) -> str:
        cell = f"{self.array}[{', '.join(map(str, self.cell))}]"
        given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        where = f" where {given}" if given else ""
        first, second = self.first, self.second
        if first.verb == second.verb and first.statement == second.statement:
            return f"iterations {first} and {second} both {first.verb} {cell}{where}"
        return (
            f"{first.statement} at {first} {first.verb}s {cell} and "
            f"{second.statement} at {second} {second.verb}s it{where}"
        )

    @property
    def locations(self) -> tuple[object, object]:
        """The source locations of the two accesses."""
        return self.first.loc, self.second.loc


def find_witness(
    model: Model, pairs: Map, first: Reference, second: Reference
) -> Witness | None:
    """A member of ``pairs`` (instance -> instance) by names, None if none was found.

    Taken from, over the values of the loops in place of the instances, { x -> [y ->
    cell] : x -> y in pairs, x -> cell in first, y -> cell in second }.
    """
    conflicts = model.solver.ask(
        lambda: (
            pairs.apply_domain(first.instances.values)
            .apply_range(second.instances.values)
            .range_product(first.relation.apply_domain(first.instances.values))
            .intersect_range(
                second.relation.apply_domain(second.instances.values).wrap()
            )
            .wrap()
        ),
        None,
    )
    point = None if conflicts is None else model.solver.smallest(conflicts)
    if point is None:
        return None
    parameters, coordinates = point
    a, b = len(first.instances.loops), len(second.instances.loops)
    cell = coordinates[a + b :]
    return Witness(
        array=first.access.array,
        cell=cell[len(cell) - len(first.access.indices) :],
        first=_event(first, coordinates[:a]),
        second=_event(second, coordinates[a : a + b]),
        parameters=_told(model, pairs, parameters),
    )


def _told(model: Model, relation: Map, values: dict[str, int]) -> dict[str, int]:
    """The parameters that the relation depends on, in the program's words."""
    decisive = mentioned_parameters(model.beyond_context(relation))
    return {
        model.scop.told(name): value
        for name, value in values.items()
        if name in decisive
    }


def find_event(
    model: Model, cells: Map, reference: Reference
) -> tuple[Event, tuple[int, ...], dict[str, int]] | None:
    """A member of ``cells`` (instance -> cell): the event, the cell, the parameters."""
    by_value = model.solver.ask(
        lambda: cells.apply_domain(reference.instances.values).wrap(), None
    )
    point = None if by_value is None else model.solver.smallest(by_value)
    if point is None:
        return None
    parameters, coordinates = point
    depth = len(reference.instances.loops)
    cell = coordinates[depth:]
    return (
        _event(reference, coordinates[:depth]),
        cell[len(cell) - len(reference.access.indices) :],
        _told(model, cells, parameters),
    )


def _event(reference: Reference, values: tuple[int, ...]) -> Event:
    access, instances = reference.access, reference.instances
    names = [loop.name for loop in instances.loops]
    return Event(
        statement=instances.name,
        iteration=dict(zip(names, values, strict=True)),
        verb=access.kind.value,
        loc=access.loc if access.loc is not None else instances.node.loc,
    )


def find_instance(solver: Solver, values: Map, instances: Instances) -> Event | None:
    """A member of ``values`` (instance -> values of the loops)."""
    point = solver.smallest(values.range())
    if point is None:
        return None
    names = [loop.name for loop in instances.loops]
    iteration = dict(zip(names, point[1], strict=True))
    return Event(instances.name, iteration, "reach", instances.node.loc)
