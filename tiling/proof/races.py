"""Race freedom of a mapped kernel: blocks, threads, barriers, asynchronous copies.

`races` takes the `Model` of a kernel, whose block and thread indices are loops with a
`Role` and whose tree holds `Barrier` and `Wait` nodes.  It returns the races found; an
empty tuple is the proof that there are none.  For an execution x let B(x) and T(x) be
its block and thread, S(x) its place in its thread's program (loops that are neither
blocks nor threads, then text), and let

    conflict = { x -> y : x and y access one cell, one writes,
                 not both atomic of one kind }.

Required are

    blocks:     { x -> y in conflict : B(x) != B(y) } = {}
    threads:    { x -> y in conflict : B(x) = B(y), T(x) != T(y), S(x) <= S(y),
                  no barrier b with S(x) < S(b) < S(y) } = {}
    transfers:  { x -> y in conflict : x starts a copy, B(x) = B(y), S(x) < S(y),
                  no wait w on the tag of x with S(x) < S(w) < S(y) } = {}
    proxy:      { x -> y in conflict on memory of the block : y starts a copy of an
                  engine, x is none, S(x) < S(y), no proxy fence f with
                  S(x) < S(f) < S(y) in the thread of one of them } = {}
    overlap:    { x -> x : x starts a copy that reads and writes one cell } = {}
    tags:       as transfers, for x -> y that start copies on one cell of a tag array
    unfinished: every copy is followed by a wait on its tag
    divergence: every barrier is reached by all threads of the block or by none,
                one of a warp by all its lanes that have to come or by none,
                one that names lanes by no others,
                one of the grid by all threads of all blocks or by none.

Where a kernel has barriers of the grid, blocks may use one cell on both sides of one:

    blocks:     { x -> y in conflict : B(x) != B(y), S(x) <= S(y),
                  no barrier b of the grid with S(x) < S(b) < S(y) } = {}

A barrier counts for the memories that it orders, and a warp barrier for its lanes. A
copy may touch its cells at any moment from its start to its wait; the threads of a
block execute it together, and its wait contains a barrier.  A copy in a commit group of
its thread is executed by that thread alone (see `async_copies`), and the rule of
threads holds for it too, as for a copy that arrives at an mbarrier; `mbarriers` has the
order and the rules of mbarriers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import product

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Limits, Map
from gpucodegen.tiling.model.relations import Doubt, Instances, Model
from gpucodegen.tiling.model.scop import (
    Barrier,
    GroupWait,
    If,
    Loop,
    Node,
    Role,
    Scop,
    Statement,
    Wait,
    statements,
)
from gpucodegen.tiling.proof.async_copies import CommitGroups, Transfers, abandoned
from gpucodegen.tiling.proof.conflicts import (
    Detail,
    GroupPair,
    StatementGroup,
    groups_of,
)
from gpucodegen.tiling.proof.kernel_order import (
    ALL_LANES,
    in_context,
    left_out,
    meets,
    nonparticipants,
    of_grid,
)
from gpucodegen.tiling.proof.mbarriers import Mbarriers
from gpucodegen.tiling.proof.witness import Event, Witness, find_instance


@dataclass(frozen=True, slots=True)
class Race:
    """A violated rule, with executions that show the violation if some were found."""

    rule: str
    reason: str
    witness: Witness | None = None
    event: Event | None = None
    locations: tuple[object, ...] = ()

    def __str__(self) -> str:
        event = self.event if self.event and self.event.iteration else None
        shown = self.witness or event
        return f"{self.reason}: {shown}" if shown else self.reason


def races(model: Model, decided: frozenset[str] = frozenset()) -> tuple[Race, ...]:
    """The races of a kernel, at most one per rule and pair of statement groups.

    ``decided``: arrays that break no rule on conflicts (see `enumeration`).

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Barrier, Loop, Scop, nest, read
    >>> from gpucodegen.tiling.model.scop import write
    >>> thread = Loop("t", "0", "32", role=Role.THREAD)
    >>> put, get = write("s", "t"), read("s", "31 - t")
    >>> store, load = Statement("put", (put,)), Statement("get", (get,))
    >>> def kernel(*body):
    ...     return Scop(arrays=(Array("s", (32,)),), body=nest([thread], body))
    >>> races(model(kernel(store, Barrier(), load)))
    ()
    >>> print(races(model(kernel(store, load)))[0])
    no barrier orders two threads: put at (t=0) writes s[0] and get at (t=31) reads it
    """
    if _runs_in_order(model):
        return ()
    stray = _outside_of_threads(model)
    if stray:
        return stray
    return (
        *_divergent_barriers(model),
        *unfinished_copies(model),
        *_conflicting(model, decided),
    )


def without(scop: Scop, decided: frozenset[str]) -> Scop:
    """A kernel without the accesses to ``decided`` arrays, which `races` leaves out.

    Statements that have no others go with them.  Copies, and all of kernels with
    mbarriers, stay: other rules are about them.
    """
    if any(statement.phase for statement in statements(scop.body)):
        return scop
    return replace(scop, body=_without(scop.body, decided))


def _without(body: tuple[Node, ...], decided: frozenset[str]) -> tuple[Node, ...]:
    return tuple(kept for node in body for kept in _node_without(node, decided))


def _node_without(node: Node, decided: frozenset[str]) -> Iterator[Node]:
    match node:
        case Loop(body=body):
            yield replace(node, body=_without(body, decided))
        case If(body=body, orelse=orelse):
            orelse = _without(orelse, decided)
            yield replace(node, body=_without(body, decided), orelse=orelse)
        case Statement(accesses=accesses) if accesses and not (
            node.tag or node.grouped or node.bulk or node.joined
        ):
            kept = tuple(a for a in accesses if a.array not in decided)
            if kept:
                yield replace(node, accesses=kept)
        case _:
            yield node


PROOF = Limits(2_000_000, 128_000_000)
"""A proof may cost more than an analysis: without it nothing is compiled."""


def _conflicting(model: Model, decided: frozenset[str]) -> Iterator[Race]:
    groups, transfers = groups_of(model), Transfers(model)
    commits = CommitGroups(model)
    fences = [
        in_context(model, i)
        for i in model.everything
        if not isinstance(i.node, Statement)
    ]
    mbarriers = Mbarriers.of(model, fences)
    for fault in mbarriers.faults:
        yield _event_race(model, "phases", fault.reason, fault.instances, fault.bad)
    for (i, first), (j, second) in product(enumerate(groups), enumerate(groups)):
        sure = [fence for fence in fences if _is_sure(fence, first, second)]
        pair = GroupPair(model, first, second, sure, transfers, commits, mbarriers)
        for array in sorted((first.arrays & second.arrays) - decided):
            if not _private(model, pair, array):
                yield from _broken_rules(pair, array, symmetric=i <= j)
        if first.copies and i == j:
            yield from _overlapping(pair)
        if first.head.tag is not None and second.head.tag is not None:
            yield from _unproven(
                pair,
                "tags",
                "a tag is used again before its copy is complete",
                lambda p=pair: p.in_flight(p.one_tag()),
            )


def _is_sure(fence: Instances, first: StatementGroup, second: StatementGroup) -> bool:
    """Whether a fence between executions of two groups is certainly passed.

    It is unless an unknown condition is around it and around neither group; a condition
    inside of a sequential loop may differ from iteration to iteration.  If the fence
    only acts for its own thread, the condition has to be around the first group.
    """
    fixed = sum(loop.role is not Role.SEQUENTIAL for loop in fence.loops)
    is_common = meets(fence)
    around = [*first.head.doubts, *(second.head.doubts if is_common else ())]
    return all(
        (is_common and not doubt.uniform) or (doubt.depth <= fixed and doubt in around)
        for doubt in fence.doubts
    )


def _unproven(
    pair: GroupPair, rule: str, reason: str, query: Callable[[], Map]
) -> Iterator[Race]:
    """A race unless the set of ``query`` is certainly empty."""
    pairs = pair.model.solver.ask(query, None)
    if pairs is not None and pair.model.solver.is_empty(pairs):
        return
    locations = (pair.first.head.node.loc, pair.second.head.node.loc)
    witness = None if pairs is None else pair.witness(pairs)
    if witness:
        locations = witness.locations
    else:
        reason = f"{reason}, or the proof was not found within the limit"
    yield Race(rule, reason, witness, locations=locations)


def _overlapping(pair: GroupPair) -> Iterator[Race]:
    for array in sorted(pair.first.arrays):
        yield from _unproven(
            pair,
            "transfers",
            "a copy writes cells that it reads",
            lambda a=array: pair.overlap(a),
        )
        yield from _unproven(
            pair,
            "transfers",
            "two copies of one group write one cell",
            lambda a=array: pair.written_twice(a),
        )


def _private(model: Model, pair: GroupPair, array: str) -> bool:
    """Whether every thread has its own copy of the array, and nothing copies it."""
    owners = {loop.name for loop in pair.first.head.loops if loop.role is Role.THREAD}
    one_thread = owners <= set(model.array(array).scope)
    return one_thread and _per_block(pair, array) and not pair.first.copies


def _per_block(pair: GroupPair, array: str) -> bool:
    """Whether every block has its own copy of the array."""
    blocks = {loop.name for loop in pair.first.head.loops if loop.role is Role.BLOCK}
    return blocks <= set(pair.model.array(array).scope)


def _orders(fence: Instances, memory: str) -> bool:
    """Whether a barrier or wait orders accesses to shared or to global memory.

    Copy engines write to global memory; a wait for their reads does not order writes.
    """
    if isinstance(fence.node, GroupWait) and fence.node.reads:
        return memory == "shared"
    return not isinstance(fence.node, Barrier) or memory in fence.node.orders


def _any(_: Instances) -> bool:
    return True


def _none(_: Instances) -> bool:
    return False


_RULES = {
    "blocks": ("two blocks use one cell", GroupPair.across_blocks, _none),
    "grid": (
        "no barrier of the grid orders two blocks",
        GroupPair.unordered_blocks,
        of_grid,
    ),
    "threads": ("no barrier orders two threads", GroupPair.unordered_threads, _any),
    "transfers": (
        "no wait completes a copy before its cells are used",
        GroupPair.in_flight,
        _any,
    ),
    "proxy": (
        "no proxy fence orders a copy of an engine behind a write",
        GroupPair.unseen,
        _any,
    ),
}
"""The message, the set that has to be empty, the fences that count."""


def _broken_rules(pair: GroupPair, array: str, *, symmetric: bool) -> Iterator[Race]:
    rules = ["transfers" if pair.first.copies else "threads"]
    if pair.first.head.grouped or pair.first.head.arrives:
        rules.insert(0, "threads")
    is_shared = _per_block(pair, array)
    if pair.second.head.bulk and not pair.first.copies and is_shared:
        rules.append("proxy")
    if not is_shared and any(map(of_grid, pair.model.everything)):
        rules.insert(0, "grid")
    elif symmetric and not is_shared:
        rules.insert(0, "blocks")
    memory = "shared" if is_shared else "global"
    fences = [f for f in pair.fences if _orders(f, memory)]
    sufficient = None
    for rule in rules:
        reason, broken, counts = _RULES[rule]
        fenced = replace(pair, fences=[f for f in fences if counts(f)])
        near = replace(fenced, fences=pair.nearest(fenced.fences))
        is_same = len(near.fences) == len(fenced.fences)
        details = sorted(_supersets(pair), key=lambda d, s=sufficient: d is not s)
        less = [
            replace(few, detail=detail)
            for few in ((fenced,) if is_same else (near, fenced))
            for detail in details
        ]
        for number, p in enumerate(less):
            if pair.proven(partial(_breaking, p, broken, array)):
                sufficient = p.detail
                break
            if not number and pair.is_apart(array):
                return
        else:
            query = partial(_breaking, fenced, broken, array)
            yield from _unproven(fenced, rule, reason, query)


def _supersets(pair: GroupPair) -> tuple[Detail, ...]:
    """Supersets to query first, cheap ones before exact ones.

    Copies that arrive at an mbarrier take no rougher one than HULL: conditions tell
    which thread starts them.
    """
    if pair.first.head.arrives or pair.second.head.arrives:
        return (Detail.HULL,)
    return Detail.ROUGH, Detail.HULL, Detail.UNGUARDED


def _breaking(
    pair: GroupPair, broken: Callable[[GroupPair, Map], Map], array: str
) -> Map:
    return broken(pair, pair.conflict(array))


def _divergent_barriers(model: Model) -> Iterator[Race]:
    """Barriers and waits that some threads of a block reach and others do not."""
    for barrier in model.everything:
        if not meets(barrier):
            continue
        doubt = _doubted(barrier)
        if doubt is not None:
            missed = "by all" if _has_threads(model) else "at all"
            reason = f"a {barrier.name} stands where it may not be reached {missed}"
            places = (barrier.node.loc, doubt.loc)
            yield Race("divergence", f"{reason}: {doubt.what}", locations=places)
            continue
        for reason, threads in (
            (f"not all {_meeting(barrier)} reach a {barrier.name}", left_out),
            (f"a lane that is not named reaches a {barrier.name}", nonparticipants),
        ):
            bad = model.solver.ask(partial(threads, model, barrier), None)
            if bad is None or not model.solver.is_empty(bad):
                yield _event_race(model, "divergence", reason, barrier, bad)


def _meeting(barrier: Instances) -> str:
    """The threads that the barrier synchronises, in words."""
    if of_grid(barrier):
        return "threads of the grid"
    lanes = barrier.node.lanes if isinstance(barrier.node, Barrier) else None
    if lanes is None:
        return "threads of a block"
    return "lanes of a warp" if lanes == ALL_LANES else "lanes that meet"


def _doubted(barrier: Instances) -> Doubt | None:
    """A condition around the barrier that its threads may decide differently."""
    is_wide = of_grid(barrier)
    blocks = {l.name for l in barrier.loops if l.role is Role.BLOCK and not is_wide}
    apart = (d for d in barrier.doubts if not d.uniform and d.cause not in blocks)
    return next(apart, None)


def _event_race(
    model: Model, rule: str, reason: str, instances: Instances, bad: Map | None
) -> Race:
    """A race that one execution shows; ``bad`` maps instances to loop values."""
    event = None if bad is None else find_instance(model.solver, bad, instances)
    return Race(rule, reason, event=event, locations=(instances.node.loc,))


def unfinished_copies(model: Model) -> Iterator[Race]:
    """Copies without a wait."""
    transfers = Transfers(model)
    fences = [i for i in model.everything if not isinstance(i.node, Statement)]
    for copy in model.statements:
        if not copy.copies or copy.arrives:
            continue
        open_ones = abandoned if copy.grouped else transfers.unfinished
        missing = model.solver.ask(partial(open_ones, copy, fences), None)
        if missing is None or not model.solver.is_empty(missing):
            yield _event_race(model, "unfinished", "no wait ends a copy", copy, missing)


def _runs_in_order(model: Model) -> bool:
    """Whether there is one thread and no copy, so that no race is possible."""
    return not _has_threads(model) and not any(
        i.copies or isinstance(i.node, Wait) for i in model.everything
    )


def _has_threads(model: Model) -> bool:
    loops = (loop for instances in model.everything for loop in instances.loops)
    return any(loop.role is not Role.SEQUENTIAL for loop in loops)


def _outside_of_threads(model: Model) -> tuple[Race, ...]:
    """Reports statements that are not inside all block and thread loops."""
    roles = {
        tuple(loop.name for loop in i.loops if loop.role is not Role.SEQUENTIAL): i
        for i in model.everything
    }
    if len(roles) < 2:
        return ()
    locations = tuple(i.node.loc for i in roles.values())
    reason = "statements of one kernel stand in different block or thread loops"
    return (Race("threads", reason, locations=locations),)
