"""The race proof of a mapped kernel: blocks, threads, barriers, asynchronous copies.

Comes in: the `Model` of a kernel, whose block and thread indices are loops with a
`Role`, with `Barrier` and `Wait` nodes where they stand. Goes out: the races found; an
empty tuple is the proof that there are none.

For an execution x let B(x) and T(x) be its block and thread, S(x) its place in its
thread's program (loops that are neither blocks nor threads, then text), and let

    conflict = { x -> y : x and y access one cell, one writes, not both atomic }.

Required are

    blocks:     { x -> y in conflict : B(x) != B(y) } = {}
    threads:    { x -> y in conflict : B(x) = B(y), T(x) != T(y), S(x) <= S(y),
                  no barrier b with S(x) < S(b) < S(y) } = {}
    transfers:  { x -> y in conflict : x starts a copy, B(x) = B(y), S(x) < S(y),
                  no wait w on the tag of x with S(x) < S(w) < S(y) } = {}
    overlap:    { x -> x : x starts a copy that reads and writes one cell } = {}
    tags:       as transfers, for x -> y that start copies on one cell of a tag array
    unfinished: every copy is followed by a wait on its tag
    divergence: every barrier is reached by all threads of the block or by none.

A copy may touch its cells at any moment from its start to its wait; it is executed by
the threads of a block together, and its wait contains a barrier.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from itertools import product

from .isl import Map
from .model import Instances, Model, Reference
from .ordering import (
    completed,
    earlier,
    everything,
    fenced,
    left_out,
    nothing,
    same,
    tag_array,
    unfinished,
)
from .scop import Access, AccessKind, Role, Statement
from .witness import Event, Witness, find_instance, find_witness


@dataclass(frozen=True, slots=True)
class Race:
    """A rule that does not hold, with executions that show it where some were found."""

    rule: str
    reason: str
    witness: Witness | None = None
    event: Event | None = None
    locations: tuple[object, ...] = ()

    def __str__(self) -> str:
        shown = self.witness or self.event
        return f"{self.reason}: {shown}" if shown else self.reason


def races(model: Model) -> tuple[Race, ...]:
    """The races of a kernel, at most one per rule and pair of statement groups.

    >>> from .model import model
    >>> from .scop import Array, Barrier, Loop, Scop, nest, read, write
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
    with model.solver.more(PATIENCE):
        return (
            *_divergent_barriers(model),
            *unfinished_copies(model),
            *_conflicting(model),
        )


PATIENCE = 8
"""How much more than an analysis a proof may cost: without it nothing is compiled."""


@dataclass(frozen=True, slots=True)
class _Group:
    """Statements in the same loops with no barrier, wait or copy between them.

    What orders one of them orders all, so they are asked about together.
    """

    head: Instances
    references: tuple[Reference, ...]

    @property
    def copies(self) -> bool:
        """Whether this is the start of a copy, which is always alone in its group."""
        return self.head.tag is not None

    @property
    def arrays(self) -> set[str]:
        """The arrays accessed."""
        return {reference.access.array for reference in self.references}

    def touching(
        self, array: str, kind: tuple[AccessKind, bool], *, coarse: bool
    ) -> Map | None:
        """{ instance -> cell } of all accesses of this class, or a simple superset."""
        relations = [
            reference.relation
            for reference in self.references
            if reference.access.array == array and _class(reference.access) == kind
        ]
        if not relations:
            return None
        union = reduce(Map.union, relations)
        return Map.from_basic_map(union.simple_hull()) if coarse else union


_CLASSES = tuple(product(AccessKind, (False, True)))


def _class(access: Access) -> tuple[AccessKind, bool]:
    return access.kind, access.atomic


def _compatible(one: tuple[AccessKind, bool], other: tuple[AccessKind, bool]) -> bool:
    """Two reads, or two atomic accesses."""
    reads = one[0] is other[0] is AccessKind.READ
    return reads or (one[1] and other[1])


def _groups(model: Model) -> list[_Group]:
    grouped: dict[object, list[Instances]] = {}
    segment = 0
    for instances in model.everything:
        ends = not isinstance(instances.node, Statement) or instances.tag is not None
        segment += ends
        if isinstance(instances.node, Statement):
            loops = tuple(loop.name for loop in instances.loops)
            grouped.setdefault((segment, loops), []).append(instances)
        segment += ends
    return [
        _Group(
            members[0],
            tuple(Reference(i, k) for i in members for k in range(len(i.accesses))),
        )
        for members in grouped.values()
    ]


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two groups about which the rules are asked, in this order.

    A ``coarse`` pair takes simple supersets of what is accessed: what holds for them
    holds, and most proofs need no more.
    """

    model: Model
    first: _Group
    second: _Group
    fences: Sequence[Instances]
    coarse: bool = False

    def conflict(self, array: str) -> Map:
        """{ x -> y : one cell, one writes, not both atomic }."""
        found = nothing(self.first.head, self.second.head)
        for one, other in product(_CLASSES, _CLASSES):
            if not _compatible(one, other):
                mine = self.first.touching(array, one, coarse=self.coarse)
                theirs = self.second.touching(array, other, coarse=self.coarse)
                if mine is not None and theirs is not None:
                    found = found.union(mine.apply_range(theirs.reverse()))
        return found

    def across_blocks(self, conflict: Map) -> Map:
        """{ x -> y in conflict : B(x) != B(y) }."""
        return conflict.subtract(self._same(conflict, Role.BLOCK))

    def unordered_threads(self, conflict: Map) -> Map:
        """{ x -> y in conflict : B =, T !=, S(x) <= S(y), no barrier between }."""
        near = conflict.intersect(self._within_a_phase())
        return near.subtract(self._same(near, Role.THREAD))

    def in_flight(self, conflict: Map) -> Map:
        """{ x -> y in conflict : B =, S(x) < S(y), no wait for x between }."""
        a, b = self.first.head, self.second.head
        after = earlier(self._same(conflict, Role.BLOCK), a, b)
        return after.subtract(completed(a, b, self.fences))

    def _within_a_phase(self) -> Map:
        """{ x -> y : B =, S(x) <= S(y), no barrier between }, of any threads.

        Taken over all tuples: what is known of the cells would only slow it down.
        """
        a, b = self.first.head, self.second.head
        inside = self._same(everything(a, b), Role.BLOCK)
        ordered = earlier(inside, a, b, or_same=True)
        return ordered.subtract(fenced(a, b, self.fences)).coalesce()

    def overlap(self, array: str) -> Map:
        """{ x -> x : x reads and writes one cell }."""
        read, written = (
            self.first.touching(array, (kind, False), coarse=False)
            for kind in (AccessKind.READ, AccessKind.WRITE)
        )
        if read is None or written is None:
            return nothing(self.first.head, self.first.head)
        pairs = read.apply_range(written.reverse())
        return pairs.intersect(Map.identity(pairs.get_space()))

    def one_tag(self) -> Map:
        """{ x -> y : both start copies with the same cell as tag }."""
        a, b = self.first.head, self.second.head
        if a.tag is None or b.tag is None or tag_array(a) != tag_array(b):
            return nothing(a, b)
        return a.tag.apply_range(b.tag.reverse())

    def _same(self, pairs: Map, role: Role) -> Map:
        return same(pairs, self.first.head, self.second.head, role)

    def proven(self, query: Callable[[], Map]) -> bool:
        """Whether the set of ``query`` is certainly empty."""
        pairs = self.model.solver.ask(query, None)
        return pairs is not None and self.model.solver.is_empty(pairs)

    def race(self, rule: str, reason: str, query: Callable[[], Map]) -> Iterator[Race]:
        """What is wrong unless the set of ``query`` is certainly empty."""
        pairs = self.model.solver.ask(query, None)
        if pairs is not None and self.model.solver.is_empty(pairs):
            return
        locations = (self.first.head.node.loc, self.second.head.node.loc)
        witness = None if pairs is None else self._witness(pairs)
        if witness:
            locations = witness.locations
        else:
            reason = f"{reason}, or the proof was not found within the limit"
        yield Race(rule, reason, witness, locations=locations)

    def _witness(self, pairs: Map) -> Witness | None:
        for mine, theirs in product(self.first.references, self.second.references):
            a, b = mine.access, theirs.access
            if a.array == b.array and not _compatible(_class(a), _class(b)):
                found = find_witness(self.model.solver, pairs, mine, theirs)
                if found:
                    return found
        return None


def _conflicting(model: Model) -> Iterator[Race]:
    groups = _groups(model)
    fences = [i for i in model.everything if not isinstance(i.node, Statement)]
    for (i, first), (j, second) in product(enumerate(groups), enumerate(groups)):
        pair = _Pair(model, first, second, fences)
        for array in sorted(first.arrays & second.arrays):
            if not _private(model, pair, array):
                yield from _broken_rules(pair, array, symmetric=i <= j)
        if first.copies and i == j:
            yield from _overlapping(pair)
        if first.copies and second.copies:
            yield from pair.race(
                "tags",
                "a tag is used again before its copy is complete",
                lambda p=pair: p.in_flight(p.one_tag()),
            )


def _overlapping(pair: _Pair) -> Iterator[Race]:
    for array in sorted(pair.first.arrays):
        yield from pair.race(
            "transfers",
            "a copy writes cells that it reads",
            lambda a=array: pair.overlap(a),
        )


def _private(model: Model, pair: _Pair, array: str) -> bool:
    """Whether every thread has its own copy of the array, and none is transferred."""
    owners = {loop.name for loop in pair.first.head.loops if loop.role is Role.THREAD}
    one_thread = owners <= set(model.array(array).scope)
    return one_thread and _per_block(pair, array) and not pair.first.copies


def _per_block(pair: _Pair, array: str) -> bool:
    """Whether every block has its own copy of the array."""
    blocks = {loop.name for loop in pair.first.head.loops if loop.role is Role.BLOCK}
    return blocks <= set(pair.model.array(array).scope)


_RULES = {
    "blocks": ("two blocks use one cell", _Pair.across_blocks),
    "threads": ("no barrier orders two threads", _Pair.unordered_threads),
    "transfers": (
        "no wait completes a copy before its cells are used",
        _Pair.in_flight,
    ),
}


def _broken_rules(pair: _Pair, array: str, *, symmetric: bool) -> Iterator[Race]:
    rules = ["transfers" if pair.first.copies else "threads"]
    if symmetric and not _per_block(pair, array):
        rules.insert(0, "blocks")
    for rule in rules:
        reason, broken = _RULES[rule]
        hulls = replace(pair, coarse=True)
        if not hulls.proven(partial(_breaking, hulls, broken, array)):
            yield from pair.race(rule, reason, partial(_breaking, pair, broken, array))


def _breaking(pair: _Pair, broken: Callable[[_Pair, Map], Map], array: str) -> Map:
    return broken(pair, pair.conflict(array))


def _divergent_barriers(model: Model) -> Iterator[Race]:
    """Barriers, and waits, that some threads of a block reach and others do not."""
    for barrier in model.everything:
        if isinstance(barrier.node, Statement):
            continue
        reason = f"not all threads of a block reach a {barrier.name}"
        location = (barrier.node.loc,)
        if not _same_for_a_block(barrier):
            reason = f"a {barrier.name} stands where it may not be reached by all"
            yield Race("divergence", reason, locations=location)
            continue
        missing = model.solver.ask(lambda b=barrier: left_out(model, b), None)
        if missing is None or not model.solver.is_empty(missing):
            yield _event_race(model, "divergence", reason, barrier, missing)


def _same_for_a_block(barrier: Instances) -> bool:
    """Whether only the number of blocks, if anything, keeps it from being reached."""
    blocks = {loop.name for loop in barrier.loops if loop.role is Role.BLOCK}
    return all(doubt.cause in blocks for doubt in barrier.doubts)


def _event_race(
    model: Model, rule: str, reason: str, instances: Instances, bad: Map | None
) -> Race:
    """A race that one execution shows; ``bad`` maps instances to loop values."""
    event = None if bad is None else find_instance(model.solver, bad, instances)
    return Race(rule, reason, event=event, locations=(instances.node.loc,))


def unfinished_copies(model: Model) -> Iterator[Race]:
    """Copies whose end nobody waits for."""
    fences = [i for i in model.everything if not isinstance(i.node, Statement)]
    for copy in model.statements:
        if copy.tag is None:
            continue
        missing = model.solver.ask(lambda c=copy: unfinished(c, fences), None)
        if missing is None or not model.solver.is_empty(missing):
            yield _event_race(model, "unfinished", "no wait ends a copy", copy, missing)


def _runs_in_order(model: Model) -> bool:
    """Whether there is one thread and no copy, so that nothing can race."""
    loops = (loop for instances in model.everything for loop in instances.loops)
    one_thread = all(loop.role is Role.SEQUENTIAL for loop in loops)
    return one_thread and all(i.tag is None for i in model.everything)


def _outside_of_threads(model: Model) -> tuple[Race, ...]:
    """Every statement must stand in all the block and thread loops."""
    roles = {
        tuple(loop.name for loop in i.loops if loop.role is not Role.SEQUENTIAL): i
        for i in model.everything
    }
    if len(roles) < 2:
        return ()
    locations = tuple(i.node.loc for i in roles.values())
    reason = "statements of one kernel stand in different block or thread loops"
    return (Race("threads", reason, locations=locations),)
