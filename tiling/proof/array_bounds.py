"""Array bounds checks: accesses that leave their array, proven or possible.

`suspects` returns one `Suspect` per access and dimension of a `Model` that is not
proven to stay inside the array; `violations` turns them into `Violation`s with a
witness, without accesses in opaque loops, whose execution is unknown. Unknown extents
are not checked from above.  `leaving` gives the parameter values for which an access
certainly leaves its array, as pieces of conjunctions of constraints, for a check at
launch; None where parameters do not decide it, or isl gives no answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import reduce

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import OUT, Map, Set
from gpucodegen.tiling.model.isl_forms import condition, mentioned_parameters
from gpucodegen.tiling.model.relations import Model, Reference
from gpucodegen.tiling.proof.witness import Event, find_event
from gpucodegen.tiling.schedule.isl_ast import conjunctions
from gpucodegen.tiling.schedule.schedule_ast import Inequality


@dataclass(frozen=True, slots=True)
class Violation:
    """An access that leaves its array along one dimension.

    ``proven``: it does so in every run that executes the access, in each copy of it
    that passes made. Otherwise there are parameters for which it does, or isl gave no
    answer (``event`` is None). ``runs``: every run executes it. ``needed``: the
    condition on the extents of the caller's arrays under which the access stays inside;
    None if other values matter.
    """

    reference: Reference
    dimension: int
    proven: bool
    event: Event | None
    cell: tuple[int, ...]
    extent: int | str | None
    parameters: dict[str, int]
    needed: str | None = None
    runs: bool = False

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


@dataclass(frozen=True, slots=True)
class Suspect:
    """An access that is not proven to stay inside its array along one dimension.

    ``outside``: instance -> cell, where it leaves the array; None where the index or
    the execution count is unknown.
    """

    reference: Reference
    dimension: int
    extent: int | str | None
    outside: Map | None


def suspects(model: Model) -> tuple[Suspect, ...]:
    """Every access that is not proven to stay inside its array, in textual order."""
    return tuple(_suspects(model))


def violations(
    model: Model, found: Sequence[Suspect] | None = None
) -> tuple[Violation, ...]:
    """Every access that may leave its array, in textual order.

    ``found``: the suspects of the model, if already computed.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read
    >>> last = Statement("S", (read("A", "i + 1"),))
    >>> body = nest([Loop("i", "0", "8")], (last,))
    >>> scop = Scop(arrays=(Array("A", (8,)),), body=body)
    >>> print(violations(model(scop))[0])
    iteration (i=7) reads A[8], outside dimension 0 of extent 8
    """
    return tuple(
        _violation(model, suspect, suspect.outside)
        for suspect in (suspects(model) if found is None else found)
        if suspect.outside is not None
    )


def needs(model: Model, found: Iterable[Violation]) -> str:
    """The condition on argument extents under which these accesses stay inside.

    Accesses that depend on more than extents are left out; "" if none remain.
    """
    each = dict.fromkeys(violation.needed for violation in found if violation.needed)
    if not each:
        return ""
    whole = " and ".join(each)
    shown = model.solver.ask(lambda: condition(model.where((), whole).params()), None)
    return model.scop.told(shown or whole)


def by_array(found: Sequence[Violation]) -> Iterator[tuple[Violation, int]]:
    """All proven violations, and the first possible violation per array.

    The number counts further accesses of the array that may leave it.
    """
    yield from ((violation, 0) for violation in found if violation.proven)
    possible: dict[str, list[Violation]] = {}
    for violation in found:
        if not violation.proven:
            possible.setdefault(violation.reference.access.array, []).append(violation)
    for first, *others in possible.values():
        more = {id(other.reference) for other in others} - {id(first.reference)}
        yield first, len(more)


def _suspects(model: Model) -> Iterator[Suspect]:
    for reference in model.references:
        is_opaque = any(loop.opaque for loop in reference.instances.loops)
        is_unknown = is_opaque or reference.access.trusted
        array = model.array(reference.access.array)
        if array.register or array.ordered:
            continue
        for dimension, extent in enumerate(array.shape):
            if is_unknown or reference.access.indices[dimension] is None:
                yield Suspect(reference, dimension, extent, None)
                continue
            outside = _outside(model, reference, len(array.scope) + dimension, extent)
            if not model.solver.is_empty(outside):
                yield Suspect(reference, dimension, extent, outside)


def _outside(
    model: Model, reference: Reference, at: int, extent: int | str | None
) -> Map:
    """{ x -> c in access : c_at < 0 or c_at >= extent }."""
    array = model.array(reference.access.array)
    cell = [f"__c{i}" for i in range(reference.relation.dim(OUT))]
    cell[: len(array.scope)] = array.scope
    extent = dict(array.scoped_extents).get(at - len(array.scope), extent)
    beyond = "" if extent is None else f" or {cell[at]} >= {extent}"
    box = model.where(cell, f"{cell[at]} < 0{beyond}")
    return model.solver.ask(
        lambda: reference.relation.intersect_range(box), reference.relation
    )


def _violation(model: Model, suspect: Suspect, outside: Map) -> Violation:
    """Proven: every copy is certain, parameters(domains) is in parameters(outside).

    Copies have one source location; some may lie under conditions that no run fulfils.
    """
    reference, dimension = suspect.reference, suspect.dimension
    extent = suspect.extent
    found = find_event(model, outside, reference)
    event, cell, given = found or (None, (), {})
    shown = model.scop.told(extent) if isinstance(extent, str) else extent
    copies = [r for r in model.references if _is_copy(r, reference)]
    proven = found is not None and _always(model, copies, dimension, extent)
    needed = None if proven else _needed(model, reference, outside)
    runs = proven and _runs(model, copies)
    seen = event, cell, shown, given
    return Violation(reference, dimension, proven, *seen, needed, runs)


def _needed(model: Model, reference: Reference, outside: Map) -> str | None:
    """Parameters(domain) - parameters(outside), if it is a relation of extents."""
    executed = _given([reference.instances.domain])
    inside = model.solver.ask(
        lambda: executed.subtract(_given([outside])).gist(executed), None
    )
    if inside is None or not mentioned_parameters(inside) <= extents_of_arguments(
        model
    ):
        return None
    return condition(inside)


def extents_of_arguments(model: Model) -> set[str]:
    """The parameters that are extents of arrays of the caller."""
    given = [array for array in model.scop.arrays if not array.fresh]
    return {
        extent for array in given for extent in array.shape if isinstance(extent, str)
    }


def _always(
    model: Model,
    copies: Sequence[Reference],
    dimension: int,
    extent: int | str | None,
) -> bool:
    if not all(r.exact and r.instances.certain for r in copies):
        return False
    at = len(model.array(copies[0].access.array).scope) + dimension
    outside = [_outside(model, copy, at, extent) for copy in copies]
    executed = [copy.instances.domain for copy in copies]
    return model.solver.ask(
        lambda: _given(executed).is_subset(_given(outside)), otherwise=False
    )


def _runs(model: Model, copies: Sequence[Reference]) -> bool:
    """Context is a subset of parameters(domains)."""
    context = model.where((), " and ".join(model.scop.context) or "1 = 1").params()
    executed = [copy.instances.domain for copy in copies]
    return model.solver.ask(
        lambda: context.is_subset(_given(executed)), otherwise=False
    )


def _given(relations: Sequence[Map] | Sequence[Set]) -> Set:
    """The parameters for which one of them is not empty."""
    return reduce(Set.union, [relation.params() for relation in relations])


def _is_copy(a: Reference, b: Reference) -> bool:
    if a is b or (a.instances is b.instances and a.position == b.position):
        return True
    first, second = a.access, b.access
    alike = (first.array, first.kind) == (second.array, second.kind)
    return alike and first.loc is not None and first.loc == second.loc


Pieces = tuple[tuple[Inequality, ...], ...]


def leaving(model: Model, suspect: Suspect) -> Pieces | None:
    """The parameters for which an access that certainly runs leaves its array.

    >>> from gpucodegen.tiling.proof.array_bounds import suspects
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read
    >>> look, loop = Statement("S", (read("A", "i + 1"),)), Loop("i", "0", "N")
    >>> scop = Scop(("N",), (), (Array("A", (8,)),), nest([loop], (look,)))
    >>> built = model(scop)
    >>> ((constraint,),) = leaving(built, *suspects(built))
    >>> print(constraint.expression)
    (N - 8)
    """
    reference, outside = suspect.reference, suspect.outside
    if outside is None or not (reference.exact and reference.instances.certain):
        return None
    known = model.where((), " and ".join(model.scop.context) or "1 = 1").params()

    def pieces() -> Pieces | None:
        bad: Set = outside.params().gist_params(known).coalesce()
        return conjunctions(bad.remove_redundancies().compute_divs(), known)

    return model.solver.ask(pieces, None)
