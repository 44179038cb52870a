"""Accesses outside their array, proven or possible, each with a witness.

Comes in: a `Model`. Goes out: one `Violation` per access and dimension that may leave
the array. Extents that are not known are not checked from above, nor are accesses in
opaque loops, for whether they run is not known.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from .isl import OUT, Map
from .model import Model, Reference
from .witness import Event, find_event


@dataclass(frozen=True, slots=True)
class Violation:
    """An access that leaves its array along one dimension.

    ``proven``: it does so in every run that executes the statement at all. Otherwise
    there are parameters for which it does, or isl gave no answer (``event`` is None).
    """

    reference: Reference
    dimension: int
    proven: bool
    event: Event | None
    cell: tuple[int, ...]
    extent: int | str | None
    parameters: dict[str, int]

    def __str__(self) -> str:
        array, verb = self.reference.access.array, self.reference.access.kind.value
        if self.event is None:
            return f"{verb} of {array} may leave dimension {self.dimension}"
        given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        where = f" where {given}" if given else ""
        cell = ", ".join(map(str, self.cell))
        return (
            f"iteration {self.event} {verb}s {array}[{cell}], outside dimension "
            f"{self.dimension} of extent {self.extent}{where}"
        )


def violations(model: Model) -> tuple[Violation, ...]:
    """Every access that may leave its array, in textual order.

    >>> from .model import model
    >>> from .scop import Array, Loop, Scop, Statement, nest, read
    >>> last = Statement("S", (read("A", "i + 1"),))
    >>> body = nest([Loop("i", "0", "8")], (last,))
    >>> scop = Scop(arrays=(Array("A", (8,)),), body=body)
    >>> print(violations(model(scop))[0])
    iteration (i=7) reads A[8], outside dimension 0 of extent 8
    """
    return tuple(_violations(model))


def _violations(model: Model) -> Iterator[Violation]:
    for reference in model.references:
        if any(loop.opaque for loop in reference.instances.loops):
            continue
        array = model.array(reference.access.array)
        for dimension, extent in enumerate(array.shape):
            if reference.access.indices[dimension] is None:
                continue
            outside = _outside(model, reference, len(array.scope) + dimension, extent)
            if not model.solver.is_empty(outside):
                yield _violation(model, reference, dimension, extent, outside)


def _outside(
    model: Model, reference: Reference, at: int, extent: int | str | None
) -> Map:
    """{ x -> c in access : c_at < 0 or c_at >= extent }."""
    cell = [f"__c{i}" for i in range(reference.relation.dim(OUT))]
    beyond = "" if extent is None else f" or {cell[at]} >= {extent}"
    box = model.where(cell, f"{cell[at]} < 0{beyond}")
    return model.solver.ask(
        lambda: reference.relation.intersect_range(box), reference.relation
    )


def _violation(
    model: Model,
    reference: Reference,
    dimension: int,
    extent: int | str | None,
    outside: Map,
) -> Violation:
    """Proven: parameters(domain) is a subset of parameters(outside)."""
    found = find_event(model.solver, outside, reference)
    event, cell, parameters = found or (None, (), {})
    always = model.solver.ask(
        lambda: reference.instances.domain.params().is_subset(outside.params()),
        otherwise=False,
    )
    certain = reference.exact and reference.instances.certain
    proven = certain and always and found is not None
    return Violation(reference, dimension, proven, event, cell, extent, parameters)
