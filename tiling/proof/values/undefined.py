"""Reads of cells that hold nothing: no write can have reached them before.

Comes in: a `Model`. Goes out: one `UndefinedRead` per read of a fresh array that finds
an unwritten cell. Writes that may happen count as if they did. A read of unknown cells
counts only where none of them, and one that may not be executed only if none of its
executions finds anything, so that what is reported happens if the read does.  A read
that finds nothing only where an array of the caller has no element does not count.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from gpucodegen.tiling.model.isl import OUT, Map, Set
from gpucodegen.tiling.model.relations import Model, Reference
from gpucodegen.tiling.proof.bounds.bounds import extents_of_arguments
from gpucodegen.tiling.proof.values.flow import flow
from gpucodegen.tiling.proof.witness import Event, find_event


@dataclass(frozen=True, slots=True)
class UndefinedRead:
    """A read that finds no value.

    ``proven``: it is certainly executed, and finds none in any iteration. Otherwise
    other iterations do, or it may not be executed.
    """

    reference: Reference
    proven: bool
    event: Event
    cell: tuple[int, ...]
    parameters: dict[str, int]

    def __str__(self) -> str:
        given = ", ".join(f"{name}={value}" for name, value in self.parameters.items())
        where = f" where {given}" if given else ""
        who = f"iteration {self.event} reads" if self.event.iteration else "it reads"
        cell = ", ".join(map(str, self.cell))
        return (
            f"{who} the undefined {self.reference.access.array}[{cell}], which nothing "
            f"has written before{where}"
        )


def undefined_reads(model: Model) -> tuple[UndefinedRead, ...]:
    """Every read of a fresh array that may find nothing, in textual order.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> step = Statement("S", (read("t", "i"), write("t", "i + 1")))
    >>> body = nest([Loop("i", "0", "8")], (step,))
    >>> arrays = (Array("t", (9,), fresh=True),)
    >>> (found,) = undefined_reads(model(Scop(arrays=arrays, body=body)))
    >>> print(found)
    iteration (i=0) reads the undefined t[0], which nothing has written before
    >>> found.proven
    False
    """
    return tuple(_undefined_reads(model))


def _undefined_reads(model: Model) -> Iterator[UndefinedRead]:
    fresh = {a.name for a in model.scop.arrays if a.fresh and not a.register}
    for reference in model.references:
        access = reference.access
        if access.array not in fresh or access.writes or not access.must:
            continue
        nothing = _nothing_written(model, reference)
        if nothing is None:
            continue
        proven = _always(model, reference, nothing)
        shown = nothing if proven else _of_full_arrays(model, nothing)
        found = find_event(model, shown, reference)
        if found is not None:
            yield UndefinedRead(reference, proven, *found)


def _of_full_arrays(model: Model, cells: Map) -> Map:
    """The part where no array of the caller is without elements."""
    limits = [f"{extent} >= 1" for extent in sorted(extents_of_arguments(model))]
    full = model.where((), " and ".join(limits) or "true").params()
    return model.solver.ask(lambda: cells.intersect_params(full), cells)


def _nothing_written(model: Model, read: Reference) -> Map | None:
    """{ x -> c in untouched : c inside }, or None where it is empty or not known.

    Cells outside of the array are the matter of `gpucodegen.tiling.proof.bounds`.
    Not exact:   without the x that read some c' with x -> c' not in untouched.
    Not certain: only if there is no such x.
    """
    found = flow(model, read)
    if found is None:
        return None

    def nothing() -> Map | None:
        untouched = found.untouched.intersect_range(_inside(model, read))
        written = read.relation.subtract(found.untouched).domain()
        if not read.exact:
            untouched = untouched.subtract_domain(written)
        hidden = not read.instances.certain and not written.is_empty()
        return None if hidden or untouched.is_empty() else untouched

    return model.solver.ask(nothing, None)


def _inside(model: Model, read: Reference) -> Set:
    """{ c : 0 <= c_d < extent_d for each dimension whose extent is known }."""
    array = model.array(read.access.array)
    cell = [f"__c{i}" for i in range(read.relation.dim(OUT))]
    own = zip(cell[len(array.scope) :], array.shape, strict=True)
    limits = [f"0 <= {c} < {extent}" for c, extent in own if extent is not None]
    return model.where(cell, " and ".join(limits) or "true")


def _always(model: Model, read: Reference, nothing: Map) -> bool:
    """domain(read) is a subset of domain(nothing)."""
    domain = read.instances.domain
    return read.instances.certain and model.solver.ask(
        lambda: domain.is_subset(nothing.domain()), otherwise=False
    )
