"""A program part as one statement: what it reads and writes, as relations to cells.

Comes in: the tree of a called function, or whatever is executed as a whole. Goes out:
its accesses, in which the loops of the part have become local iterators.

    { parameters -> cell : exists iterations in bounds, conditions : index = cell }

The relation is exact where the part is affine; an index, bound or condition that is not
known stays unknown, so that the relation covers all that may be touched.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

from gpucodegen.tiling.model.isl import Map, Set
from gpucodegen.tiling.model.places import Around, Place, conjunction, places, trip
from gpucodegen.tiling.model.relations import Model, Reference, model
from gpucodegen.tiling.model.scop import (
    Access,
    AccessKind,
    Array,
    Node,
    Scop,
    Statement,
    Tag,
)
from gpucodegen.tiling.proof.witness import find_event


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
    """Those of the node; starts of copies write their tag, waits read and write it."""
    node = place.node
    if isinstance(node, Statement):
        return (*node.accesses, *_flag(node.tag, AccessKind.WRITE, node.loc))
    tag = getattr(node, "tag", None)
    kinds = (AccessKind.READ, AccessKind.WRITE)
    return tuple(a for kind in kinds for a in _flag(tag, kind, node.loc))


def _flag(tag: Tag | None, kind: AccessKind, loc: object) -> tuple[Access, ...]:
    return () if tag is None else (Access(tag.array, kind, tag.indices, loc=loc),)


def _within(access: Access, around: Around) -> Access:
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
    """What ``actual`` accesses touch beyond the ``allowed`` ones, each with a cell.

    For each access a, over the allowed ones b of its array and kind:
    a - union of b = {}.

    ``scop`` holds parameters, context and arrays; its body is not looked at.

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
