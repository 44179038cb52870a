"""Transfers that the threads of a block start together, and which of them a wait ends.

Each thread moves its part of a transfer, and each start closes a group of its thread.
A wait w on a tag that leaves P groups open ends the start x iff

    tag(x) = tag(w), B(x) = B(w), S(x) < S(w),
    and at least P starts c of the thread have S(x) < S(c) < S(w),

a chain x < c1 < ... < cP < w of one thread.  Starts that may not be executed count for
no chain.  All threads meet in the wait, so other threads may use the cells behind it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce

from gpucodegen.tiling.model.isl import OUT, Map
from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.model.scop import Role, Wait
from gpucodegen.tiling.proof.kernels.ordering import (
    earlier,
    nothing,
    own,
    same,
    through,
)

MOST_OPEN = 16
"""Groups beyond which no more are counted: each costs a composition of relations."""


def completed(
    model: Model, a: Instances, b: Instances, waits: Sequence[Instances]
) -> Map:
    """{ x -> y : some wait ends x that stands before y }."""
    passed = (through(a, w, b, _ended(model, a, w)) for w in waits)
    return reduce(Map.union, passed, nothing(a, b))


def unfinished(model: Model, a: Instances, waits: Sequence[Instances]) -> Map:
    """Copies x (trips -> values) that no wait of their block ends."""
    ended = (
        earlier(same(_ended(model, a, w), a, w, Role.BLOCK), a, w).domain()
        for w in waits
    )
    return reduce(Map.subtract_domain, ended, a.values)


def matching(a: Instances, wait: Instances) -> Map:
    """{ x -> w : tag(x) = tag(w) }, empty where the wait's tag is not known."""
    if a.tag is None or wait.tag is None or not is_known(wait):
        return nothing(a, wait)
    if tag_array(a) != tag_array(wait) or a.tag.dim(OUT) != wait.tag.dim(OUT):
        return nothing(a, wait)
    return a.tag.apply_range(wait.tag.reverse())


def tag_array(instances: Instances) -> str | None:
    """The tag array of a copy or a wait."""
    tag = getattr(instances.node, "tag", None)
    return None if tag is None else tag.array


def may_stay_open(model: Model, wait: Instances) -> int:
    """How many groups a wait may leave open, and still end all that it waits for.

    0 where the tag of a start is not known, or the proof was not found.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, Tag
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> def start(tile):
    ...     stage = f"({tile}) mod 3"
    ...     moved = read("A", tile), write("s", stage)
    ...     return Statement(f"start {tile}", moved, tag=Tag("t", (stage,)))
    >>> first = Loop("p", "0", "2", body=(start("p"),))
    >>> steady = Loop("k", "0", "6", body=(Wait(Tag("t", ("k mod 3",))), start("k + 2")))
    >>> arrays = Array("A", (8,)), Array("s", (3,)), Array("t", (3,))
    >>> built = model(Scop(arrays=arrays, body=(first, steady)))
    >>> [may_stay_open(built, i) for i in built.everything if isinstance(i.node, Wait)]
    [1]
    """
    starts = _starts(model)
    if not all(map(is_known, (wait, *starts))):
        return 0
    waited = [
        (x.order, earlier(same(matching(x, wait), x, wait, Role.THREAD), x, wait))
        for x in starts
    ]
    chains = _chains(model, wait)
    next(chains)
    for count in range(MOST_OPEN):
        longer = model.solver.ask(lambda: next(chains), None)
        if longer is None or not all(
            model.solver.ask(lambda p=pairs, c=longer[n]: p.is_subset(c), False)
            for n, pairs in waited
        ):
            return count
    return MOST_OPEN


def _ended(model: Model, a: Instances, wait: Instances) -> Map:
    """{ x -> w : w ends x }, not yet of one block and in order where none stay open."""
    found = matching(a, wait)
    pending = wait.node.pending if isinstance(wait.node, Wait) else 0
    if not pending:
        return found
    chains = _chains(model, wait)
    for _ in range(pending):
        next(chains)
    return found.intersect(next(chains)[a.order])


def _chains(model: Model, wait: Instances) -> Iterator[dict[int, Map]]:
    """{ x -> w : at least P starts of the thread between }, for P = 0, 1, ...

    One relation for each start, by its order.
    """
    starts = _starts(model)
    sure = [start for start in starts if start.certain]
    steps = {(x.order, c.order): own(x, c) for x in starts for c in sure}
    found = {x.order: own(x, wait) for x in starts}
    while True:
        yield found
        found = {
            x.order: reduce(
                Map.union,
                (steps[x.order, c.order].apply_range(found[c.order]) for c in sure),
                nothing(x, wait),
            ).coalesce()
            for x in starts
        }


def _starts(model: Model) -> list[Instances]:
    """The starts of transfers in textual order."""
    return [i for i in model.statements if i.copies and not i.grouped]


def is_known(instances: Instances) -> bool:
    """Whether the tag of a start or wait is known."""
    tag = getattr(instances.node, "tag", None)
    return tag is not None and None not in tag.indices

