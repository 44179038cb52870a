"""Arrays that may overlap, seen as one storage of which no place is known.

Comes in: a `Scop` and the group of each array that is in one. Goes out: the `Scop` in
which arrays of one group, where several of them are accessed, are one array with an
unknown index: any two of their accesses may be to one cell.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from .scop import Access, Array, If, Loop, Node, Scop, Statement, statements


def merged(scop: Scop, groups: Mapping[str, object]) -> Scop:
    """The program on storages; ``groups`` maps names of arrays.

    >>> from .scop import nest, read, write
    >>> copy = Statement("S", (read("A", "i"), write("B", "i")))
    >>> arrays = (Array("A", (8,)), Array("B", (8,)))
    >>> scop = Scop(arrays=arrays, body=nest([Loop("i", "0", "8")], (copy,)))
    >>> found = merged(scop, {"A": 0, "B": 0})
    >>> [(a.array, a.indices) for s in statements(found.body) for a in s.accesses]
    [('A|B', (None,)), ('A|B', (None,))]
    """
    names = storages(scop, groups)
    if not names:
        return scop
    new = {name: Array(name, (None,)) for name in names.values()}
    body = tuple(_node(node, names) for node in scop.body)
    return replace(scop, arrays=(*scop.arrays, *new.values()), body=body)


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


def _node(node: Node, storages: Mapping[str, str]) -> Node:
    match node:
        case Loop():
            return replace(node, body=tuple(_node(n, storages) for n in node.body))
        case If():
            body, orelse = (
                tuple(_node(n, storages) for n in part)
                for part in (node.body, node.orelse)
            )
            return replace(node, body=body, orelse=orelse)
        case Statement():
            return _statement(node, storages)
        case _:
            return node


def _statement(node: Statement, storages: Mapping[str, str]) -> Statement:
    """Accesses of storages are to any place; what accumulates there is not known."""
    if not any(access.array in storages for access in node.accesses):
        return node
    accesses = tuple(_access(access, storages) for access in node.accesses)
    return replace(node, accesses=accesses, reduction=None)


def _access(access: Access, storages: Mapping[str, str]) -> Access:
    storage = storages.get(access.array)
    if storage is None:
        return access
    return replace(access, array=storage, indices=(None,), span=(), where=())
