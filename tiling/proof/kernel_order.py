"""Order of two executions in a kernel: program order, barriers, waits, warps.

The functions take instances of a `Model` whose loops have roles, and return relations
between the instances of two statements. B is the block of an execution, T its thread, S
its place in the program of its thread: the sequential loops and the text. The threads
of a block are numbered along x, then y, then z; each 32 consecutive ones are a warp. L
is the number of a thread, W = floor(L / 32) its warp, L mod 32 its lane.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce

from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.isl import IN, OUT, Map, Set
from gpucodegen.tiling.model.relations import Instances, Model, common_loops, header
from gpucodegen.tiling.model.scop import Barrier, Loop, ProxyFence, Role, Wait

ALL_LANES = (1 << WARP) - 1


def same_warp(
    model: Model, a: Instances, b: Instances, lanes: int = ALL_LANES
) -> Map | None:
    """{ x -> y : W(x) = W(y), the lanes of both among ``lanes`` }, of any blocks.

    None where it depends on unknown block extents.
    """
    first, second = (_names(i, mark) for i, mark in ((a, "x"), (b, "y")))
    one, other = _number(a.loops, first), _number(b.loops, second)
    if one is None or other is None:
        return None
    conditions = [f"floor(({one})/{WARP}) = floor(({other})/{WARP})"]
    if lanes != ALL_LANES:
        conditions += [_among(one, lanes), _among(other, lanes)]
    tuples = f"[{', '.join(first)}] -> [{', '.join(second)}]"
    text = f"{header(model.scop)} {{ {tuples} : {' and '.join(conditions)} }}"
    return model.solver.map(text)


def _names(instances: Instances, mark: str) -> list[str]:
    return [f"__{mark}{d}" for d in range(len(instances.loops))]


def _number(loops: Sequence[Loop], names: Sequence[str]) -> str | None:
    """L as isl text; dimensions of extent 1 are left out."""
    terms: list[str] = []
    factor: int | None = 1
    for loop, name in zip(loops, names, strict=True):
        if loop.role is not Role.THREAD or loop.uppers == ("1",):
            continue
        if factor is None:
            return None
        terms.append(f"{factor}*{name}")
        (extent,) = loop.uppers or ("",)
        factor = factor * int(extent) if extent.isdecimal() else None
    return " + ".join(terms) or "0"


def _among(number: str, lanes: int) -> str:
    """The constraint that the lane of a thread is in a set, as ranges of lanes."""
    bits = [bool(lanes >> lane & 1) for lane in range(WARP)] + [False]
    starts = [
        lane for lane in range(WARP) if bits[lane] and not (lane and bits[lane - 1])
    ]
    ranges = [(lane, bits.index(False, lane)) for lane in starts]
    texts = (f"{low} <= (({number}) mod {WARP}) < {high}" for low, high in ranges)
    return f"({' or '.join(texts) or '1 = 0'})"


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


def fenced(
    model: Model, a: Instances, b: Instances, fences: Sequence[Instances]
) -> Map:
    """{ x -> y : some fence f of the same block has S(x) < S(f) < S(y) }.

    A fence of a warp orders executions by its own lanes, one of the grid executions of
    all blocks.
    """
    through = (_fenced(model, a, f, b) for f in fences if meets(f))
    return reduce(Map.union, through, nothing(a, b))


def proxied(
    model: Model, a: Instances, b: Instances, fences: Sequence[Instances]
) -> Map:
    """{ x -> y : a proxy fence is between x and y, in the thread of one of them }."""
    found = nothing(a, b)
    for f in (f for f in fences if isinstance(f.node, ProxyFence)):
        before, after = own(a, f), own(f, b)
        met = [f for f in fences if not waits_alone(f)]
        there = before.apply_range(after.union(fenced(model, f, b, met)))
        here = fenced(model, a, f, met).intersect_range(f.domain)
        found = found.union(there).union(here.apply_range(after))
    return found


def meets(instances: Instances) -> bool:
    """Whether threads synchronise there."""
    return isinstance(instances.node, Barrier | Wait)


def nearest(a: Instances, b: Instances, fences: Sequence[Instances]) -> list[Instances]:
    """The fences directly behind a or before b, without those further away.

    A fence between two executions mostly implies that one of these is between them,
    too.
    """
    met: dict[object, list[Instances]] = {}
    for fence in filter(meets, fences):
        node, kind = fence.node, ()
        if isinstance(node, Barrier):
            kind = node.lanes, node.of_grid, node.orders
        met.setdefault(kind, []).append(fence)
    kept = {fence.order for fence in fences if not meets(fence)}
    for group in met.values():
        orders = [fence.order for fence in group]
        kept.add(min((n for n in orders if n > a.order), default=orders[0]))
        kept.add(max((n for n in orders if n < b.order), default=orders[-1]))
    return [fence for fence in fences if fence.order in kept]


def waits_alone(instances: Instances) -> bool:
    """Whether it only completes copies of the statement directly before it."""
    return isinstance(instances.node, Barrier) and not instances.node.orders


def _fenced(model: Model, a: Instances, f: Instances, b: Instances) -> Map:
    lanes = f.node.lanes if isinstance(f.node, Barrier) else None
    if of_grid(f):
        return _across(a, f, b)
    if lanes is None:
        return through(a, f, b)
    before, after = (same_warp(model, *pair, lanes) for pair in ((a, f), (f, b)))
    if before is None or after is None:
        return nothing(a, b)
    return through(a, f, b, before.intersect_range(f.domain), after)


def in_context(model: Model, fence: Instances) -> Instances:
    """A fence without the constraints on its domain that the context implies.

    Pairs of executions outside of the context then do not make it look absent.
    """
    return replace(fence, domain=model.beyond_context(fence.values).domain())


def of_grid(instances: Instances) -> bool:
    """Whether it is a barrier of all blocks."""
    return isinstance(instances.node, Barrier) and instances.node.of_grid


def _across(a: Instances, f: Instances, b: Instances) -> Map:
    """{ x -> f } o { f -> y }, each earlier, of any blocks: every thread reaches f."""
    first = everything(a, f).intersect_range(f.domain)
    second = everything(f, b).intersect_domain(f.domain)
    return earlier(first, a, f).apply_range(earlier(second, f, b))


def through(
    a: Instances,
    f: Instances,
    b: Instances,
    before: Map | None = None,
    after: Map | None = None,
) -> Map:
    """{ x -> f } o { f -> y }, each earlier and in the same block."""
    first = everything(a, f).intersect_range(f.domain) if before is None else before
    second = everything(f, b) if after is None else after
    second = second.intersect_domain(f.domain)
    return earlier(same(first, a, f, Role.BLOCK), a, f).apply_range(
        earlier(same(second, f, b, Role.BLOCK), f, b)
    )


def own(a: Instances, b: Instances) -> Map:
    """{ x -> y : B =, T =, S(x) < S(y), y executed }."""
    pairs = everything(a, b).intersect_range(b.domain)
    for role in (Role.BLOCK, Role.THREAD):
        pairs = same(pairs, a, b, role)
    return earlier(pairs, a, b)


def left_out(model: Model, barrier: Instances) -> Map:
    """Threads (trips -> values) that miss a barrier which other threads reach.

    { (B, T, s) : (B, T', s) in domain for some T', T in block } minus domain, with T'
    of the warp of T for a warp barrier, and T among the lanes that must arrive; for a
    grid barrier, (B', T', s) of any block counts.
    """
    reached = barrier.values
    others = dimensions(barrier, Role.THREAD)
    others += dimensions(barrier, Role.BLOCK) if of_grid(barrier) else []
    for d in others:
        reached = reached.eliminate(IN, d, 1).eliminate(OUT, d, 1)
    block = [loop for loop in barrier.loops if loop.role is not Role.SEQUENTIAL]
    missing = reached.intersect(model.box(barrier, block))
    missing = missing.subtract_domain(barrier.domain)
    lanes = barrier.node.lanes if isinstance(barrier.node, Barrier) else None
    if lanes is None:
        return missing
    wanted = _wanted(model, barrier, lanes)
    return missing if wanted is None else missing.intersect_domain(wanted)


def nonparticipants(model: Model, barrier: Instances) -> Map:
    """Threads (trips -> values) that reach a barrier whose lane mask excludes them.

    { (B, T, s) in domain : T not among the lanes }
    """
    node = barrier.node
    if (
        not isinstance(node, Barrier)
        or not node.alone
        or node.lanes in (None, ALL_LANES)
    ):
        return barrier.values.intersect_domain(Set.empty(barrier.domain.get_space()))
    named = same_warp(model, barrier, barrier, node.lanes)
    return (
        barrier.values
        if named is None
        else barrier.values.subtract_domain(named.domain())
    )


def _wanted(model: Model, barrier: Instances, lanes: int) -> Set | None:
    """{ (B, T, s) : T among the lanes, (B, T', s) in domain, T and T' of one warp }."""
    warp = same_warp(model, barrier, barrier)
    named = same_warp(model, barrier, barrier, lanes)
    if warp is None or named is None:
        return None
    for d, loop in enumerate(barrier.loops):
        if loop.role is not Role.THREAD:
            warp, named = (m.equate(IN, d, OUT, d) for m in (warp, named))
    return barrier.domain.apply(warp).intersect(named.domain())
