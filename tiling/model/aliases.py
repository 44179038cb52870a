"""Arrays that may overlap, seen as one storage.

Comes in: a `Scop` and the group of each array that is in one. Goes out: the `Scop` in
which arrays of one group, where several of them are accessed, are one array. It has the
dimensions of all of them, and an access knows its own:

    A[i] = storage[i, *],   B[j] = storage[*, j]

So accesses of different arrays may be to one cell, those of one array where they were.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from gpucodegen.tiling.model.scop import (
    Access,
    Array,
    If,
    Loop,
    Node,
    Scop,
    Statement,
    statements,
)


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
    """Where the dimensions of an array are in its storage."""

    storage: str
    before: int
    after: int

    def seen(self, access: Access) -> Access:
        """The access of the storage, which for others may not be to their cell."""
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
    """What accumulates in a storage is not known."""
    if not any(access.array in places for access in node.accesses):
        return node
    accesses = tuple(
        places[access.array].seen(access) if access.array in places else access
        for access in node.accesses
    )
    return replace(node, accesses=accesses, reduction=None)
