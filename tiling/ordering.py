"""What orders two executions in a kernel: program order, barriers, waits.

Comes in: instances of a `Model` whose loops have roles. Goes out: relations between the
instances of two statements. B is the block of an execution, T its thread, S its place
in the program of its thread: the sequential loops and the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from .isl import IN, OUT, Map
from .model import Instances, Model, common_loops
from .scop import Role


def everything(a: Instances, b: Instances) -> Map:
    """{ x -> y } for all tuples x and y, whether executed or not."""
    return Map.universe(
        a.domain.get_space().map_from_domain_and_range(b.domain.get_space())
    )


def nothing(a: Instances, b: Instances) -> Map:
    """{ } between instances of the two."""
    return Map.empty(everything(a, b).get_space())


def dimensions(instances: Instances, role: Role) -> list[int]:
    """The positions of the loops that have this role."""
    return [d for d, loop in enumerate(instances.loops) if loop.role is role]


def same(pairs: Map, a: Instances, b: Instances, role: Role) -> Map:
    """{ x -> y in pairs : B(x) = B(y) }, or the same with T, as ``role`` says."""
    positions = zip(dimensions(a, role), dimensions(b, role), strict=True)
    return reduce(lambda kept, p: kept.equate(IN, p[0], OUT, p[1]), positions, pairs)


def earlier(pairs: Map, a: Instances, b: Instances, *, or_same: bool = False) -> Map:
    """{ x -> y in pairs : S(x) < S(y) }, or S(x) <= S(y)."""
    found = nothing(a, b)
    for d, loop in enumerate(common_loops(a, b)):
        if loop.role is Role.SEQUENTIAL:
            found = found.union(pairs.order_lt(IN, d, OUT, d))
            pairs = pairs.equate(IN, d, OUT, d)
    if a.order < b.order or (or_same and a.order == b.order):
        found = found.union(pairs)
    return found


def fenced(a: Instances, b: Instances, fences: Sequence[Instances]) -> Map:
    """{ x -> y : some fence f of the same block has S(x) < S(f) < S(y) }."""
    return reduce(Map.union, (_through(a, f, b) for f in fences), nothing(a, b))


def completed(a: Instances, b: Instances, waits: Sequence[Instances]) -> Map:
    """{ x -> y : some wait w with tag(w) = tag(x) has S(x) < S(w) < S(y) }."""
    found = nothing(a, b)
    for wait in waits:
        if a.tag is None or wait.tag is None or not _known(wait):
            continue
        if a.tag.dim(OUT) == wait.tag.dim(OUT) and tag_array(a) == tag_array(wait):
            matching = a.tag.apply_range(wait.tag.reverse())
            found = found.union(_through(a, wait, b, matching))
    return found


def _through(
    a: Instances, f: Instances, b: Instances, before: Map | None = None
) -> Map:
    """{ x -> f } o { f -> y }, each earlier and in the same block."""
    first = everything(a, f).intersect_range(f.domain) if before is None else before
    second = everything(f, b).intersect_domain(f.domain)
    return earlier(same(first, a, f, Role.BLOCK), a, f).apply_range(
        earlier(same(second, f, b, Role.BLOCK), f, b)
    )


def _known(wait: Instances) -> bool:
    tag = getattr(wait.node, "tag", None)
    return tag is not None and None not in tag.indices


def tag_array(instances: Instances) -> str | None:
    """The tag array of a copy or a wait."""
    tag = getattr(instances.node, "tag", None)
    return None if tag is None else tag.array


def left_out(model: Model, barrier: Instances) -> Map:
    """Threads (trips -> values) that miss a barrier which others of their block reach.

    { (B, T, s) : (B, T', s) in domain for some T', T in block } minus domain.
    """
    reached = barrier.values
    for d in dimensions(barrier, Role.THREAD):
        reached = reached.eliminate(IN, d, 1).eliminate(OUT, d, 1)
    block = [loop for loop in barrier.loops if loop.role is not Role.SEQUENTIAL]
    return reached.intersect(model.box(barrier, block)).subtract(barrier.values)
