"""Summaries: a program part as one statement; arrays that may overlap as one storage.

`summary` takes the tree of a called function, or any part that is executed as a whole,
and returns its accesses, in which the loops of the part have become local iterators:

    { parameters -> cell : exists iterations in bounds, conditions : index = cell }

The relation is exact where the part is affine; unknown indices, bounds and conditions
stay unknown, so the relation covers all cells that may be touched.

`merged` takes a `Scop` and alias groups of arrays.  Arrays of one group, where several
of them are accessed, become one array with the dimensions of all of them:

    A[i] = storage[i, *],   B[j] = storage[*, j]

So accesses of different arrays may conflict, and accesses of one array conflict as
before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Map, Set
from gpucodegen.tiling.model.relations import (
    EnclosingScope,
    Model,
    Place,
    Reference,
    conjunction,
    model,
    places,
    trip,
)
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
    Tag,
    statements,
)
from gpucodegen.tiling.proof.witness import find_event


def merged(scop: Scop, groups: Mapping[str, object]) -> Scop:
    """The program on storages; ``groups`` maps names of arrays.

    >>> from gpucodegen.tiling.model.scop import nest, read, write
    >>> copy = Statement("S", (read("A", "i"), write("B", "i")))
    >>> arrays = (Array("A", (8,)), Array("B", (8,)))
    >>> scop = Scop(arrays=arrays, body=nest([Loop("i", "0", "8")], (copy,)))
    >>> found = merged(scop, {"A": 0, "B": 0})
    >>> [(a.array, a.indices) for s in statements(found.body) for a in s.accesses]
    [('A|B', ('i', None)), ('A|B', (None, 'i'))]
    """
    names = storages(scop, groups)
    if not names:
        return scop
    members: dict[str, list[Array]] = {storage: [] for storage in names.values()}
    for array in scop.arrays:
        if array.name in names:
            members[names[array.name]].append(array)
    new = [Array(n, sum((a.shape for a in of), ())) for n, of in members.items()]
    places = dict(place for item in members.items() for place in _places(*item))
    body = tuple(_node(node, places) for node in scop.body)
    return replace(scop, arrays=(*scop.arrays, *new), body=body)


def storages(scop: Scop, groups: Mapping[str, object]) -> dict[str, str]:
    """Array -> storage, for groups of which several arrays are accessed.

    >>> storages(Scop(), {"A": 0})
    {}
    """
    accessed = {a.array for s in statements(scop.body) for a in s.accesses}
    members: dict[object, list[str]] = {}
    for array in scop.arrays:
        if array.name in accessed and array.name in groups:
            members.setdefault(groups[array.name], []).append(array.name)
    several = (names for names in members.values() if len(names) > 1)
    return {name: "|".join(names) for names in several for name in names}


@dataclass(frozen=True, slots=True)
class _Place:
    """The dimensions that an array takes in its storage."""

    storage: str
    before: int
    after: int

    def seen(self, access: Access) -> Access:
        """The access of the storage; cells of the other arrays are unknown to it."""
        unknown = (None,)
        indices = (*unknown * self.before, *access.indices, *unknown * self.after)
        return replace(access, array=self.storage, indices=indices, must=False)


def _places(storage: str, arrays: Sequence[Array]) -> Iterator[tuple[str, _Place]]:
    ranks = [len(array.shape) for array in arrays]
    for at, array in enumerate(arrays):
        yield array.name, _Place(storage, sum(ranks[:at]), sum(ranks[at + 1 :]))


def _node(node: Node, places: Mapping[str, _Place]) -> Node:
    match node:
        case Loop():
            return replace(node, body=tuple(_node(n, places) for n in node.body))
        case If():
            body, orelse = (
                tuple(_node(n, places) for n in part)
                for part in (node.body, node.orelse)
            )
            return replace(node, body=body, orelse=orelse)
        case Statement():
            return _statement(node, places)
        case _:
            return node


def _statement(node: Statement, places: Mapping[str, _Place]) -> Statement:
    """Drops the reduction: the accumulated cell of a storage is unknown."""
    if not any(access.array in places for access in node.accesses):
        return node
    accesses = tuple(
        places[access.array].seen(access) if access.array in places else access
        for access in node.accesses
    )
    return replace(node, accesses=accesses, reduction=None)


def summary(
    body: tuple[Node, ...], is_local: Callable[[str], bool] = lambda _: False
) -> tuple[Access, ...]:
    """The accesses of ``body``, without those of local arrays; each relation once.

    >>> from gpucodegen.tiling.model.scop import Loop, nest, write
    >>> row = nest([Loop("k", "0", "N", 2)], (Statement("S", (write("A", "i", "k"),)),))
    >>> (access,) = summary(row)
    >>> access.indices, access.where
    (('i', 'k'), ('k = (0) + 2*__t_k', '__t_k >= 0', 'k < N'))
    """
    found = (
        _within(access, place.around)
        for place in places(body)
        for access in _accesses(place)
        if not is_local(access.array)
    )
    return tuple(dict.fromkeys(found))


def _accesses(place: Place) -> tuple[Access, ...]:
    """The accesses of a node; starts of copies write their tag, waits update it."""
    node = place.node
    if isinstance(node, Statement):
        return (*node.accesses, *_flag(node.tag, AccessKind.WRITE, node.loc))
    tag = getattr(node, "tag", None)
    kinds = (AccessKind.READ, AccessKind.WRITE)
    return tuple(a for kind in kinds for a in _flag(tag, kind, node.loc))


def _flag(tag: Tag | None, kind: AccessKind, loc: object) -> tuple[Access, ...]:
    return () if tag is None else (Access(tag.array, kind, tag.indices, loc=loc),)


def _within(access: Access, around: EnclosingScope) -> Access:
    """The access with the loops around it as iterators of its own."""
    known = [loop for loop in around.loops if not loop.opaque]
    names = [name for loop in known for name in (loop.name, trip(loop.name))]
    return replace(
        access,
        span=(*((name, None) for name in names), *access.span),
        where=(*replace(around, loops=tuple(known)).constraints, *access.where),
        must=access.must and around.certain,
        listed=False,
    )


def excess(
    scop: Scop, actual: tuple[Access, ...], allowed: tuple[Access, ...]
) -> Iterator[tuple[Access, str]]:
    """The cells that ``actual`` accesses touch beyond the ``allowed`` ones, one each.

    For each access a, over the allowed accesses b of its array and kind:

        a - union of b = {}.

    ``scop`` holds parameters, context and arrays; its body is ignored.

    >>> from gpucodegen.tiling.model.scop import write
    >>> scop = Scop(("i",), ("i >= 0",), (Array("A", (9,)),))
    >>> mine = (write("A", "i"), write("A", "i + 1"))
    >>> [text for _, text in excess(scop, mine, mine[:1])]
    ['writes A[1] where i=0']
    """
    ends = (Statement("actual", actual), Statement("allowed", allowed))
    built = model(replace(scop, body=ends))
    done, may = built.statements
    bounds = [Reference(may, position) for position in range(len(allowed))]
    for position in range(len(actual)):
        reference = Reference(done, position)
        beyond = _beyond(built, reference, bounds)
        if beyond is None or not built.solver.is_empty(beyond):
            yield reference.access, _shown(built, reference, beyond)


def _beyond(built: Model, reference: Reference, bounds: list[Reference]) -> Map | None:
    """The cells of the array that no bound covers; None without an answer."""
    access = reference.access
    box = _cells(built, built.array(access.array))
    left = reference.relation.intersect_range(box)
    for bound in bounds:
        same = (bound.access.array, bound.access.kind) == (access.array, access.kind)
        if same and left is not None:
            left = built.solver.ask(partial(left.subtract, bound.relation), None)
    return left


def _cells(built: Model, array: Array) -> Set:
    """{ cell : 0 <= cell < extent }, where the extent is known."""
    names = [f"__c{d}" for d in range(len(array.scope) + len(array.shape))]
    extents = zip(names[len(array.scope) :], array.shape, strict=True)
    inside = [
        f"0 <= {name}" if extent is None else f"0 <= {name} < {extent}"
        for name, extent in extents
    ]
    return built.where(names, conjunction(inside))


def _shown(built: Model, reference: Reference, beyond: Map | None) -> str:
    """``writes A[1] where i=0``."""
    access = reference.access
    found = None if beyond is None else find_event(built, beyond, reference)
    if found is None:
        return f"{access.kind.value}s cells of {access.array} that were not decided"
    _, cell, parameters = found
    given = ", ".join(f"{name}={value}" for name, value in parameters.items())
    where = f" where {given}" if given else ""
    return f"{access.kind.value}s {access.array}[{', '.join(map(str, cell))}]{where}"
