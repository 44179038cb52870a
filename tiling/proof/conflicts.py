"""Conflicting pairs of executions in a kernel, and the order between them.

From the `Model` of a kernel, `groups_of` makes statement groups.  A `GroupPair` gives
the sets of pairs that `gpucodegen.tiling.proof.races` requires to be empty, and a
witness where one is not.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from functools import reduce
from itertools import product, zip_longest

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import Map, Set
from gpucodegen.tiling.model.relations import Instances, Model, Reference
from gpucodegen.tiling.model.scop import Access, AccessKind, Role, Statement
from gpucodegen.tiling.proof.async_copies import CommitGroups, Transfers, tag_array
from gpucodegen.tiling.proof.kernel_order import (
    earlier,
    everything,
    fenced,
    nearest,
    nothing,
    proxied,
    same,
    waits_alone,
)
from gpucodegen.tiling.proof.mbarriers import Mbarriers
from gpucodegen.tiling.proof.witness import Witness, find_witness


@dataclass(frozen=True, slots=True)
class StatementGroup:
    """Statements in the same loops with no barrier, wait or copy between them.

    Or copies of one thread's commit groups with no other statement between them.
    Whatever orders one member orders all, so one query serves the group.
    """

    head: Instances
    references: tuple[Reference, ...]
    found: dict[tuple[str, _Class, Detail], Map | None] = field(
        default_factory=dict[tuple[str, "_Class", "Detail"], "Map | None"],
        compare=False,
    )
    """Cached results of `touching`."""

    @property
    def copies(self) -> bool:
        """Whether it starts copies.

        A copy with a tag, or one that arrives at an mbarrier, is a group of its own.
        """
        return self.head.copies

    @property
    def classes(self) -> set[_Class]:
        """The kinds of accesses in the group."""
        return {_class(reference.access) for reference in self.references}

    @property
    def arrays(self) -> set[str]:
        """The arrays accessed."""
        return {reference.access.array for reference in self.references}

    def touches(self, array: str, kind: _Class) -> bool:
        """Whether there are accesses of this class."""
        return any(
            reference.access.array == array and _class(reference.access) == kind
            for reference in self.references
        )

    def touching(
        self, model: Model, array: str, kind: _Class, detail: Detail
    ) -> Map | None:
        """{ instance -> cell } of all accesses of this class, or a superset."""
        key = array, kind, detail
        if key not in self.found:
            self.found[key] = self._touching(model, *key)
        return self.found[key]

    def cells(self, array: str, kind: _Class) -> Set:
        """All cells of an array that accesses of this class access."""
        relations = (
            reference.relation.range()
            for reference in self.references
            if reference.access.array == array and _class(reference.access) == kind
        )
        return reduce(Set.union, relations)

    def written(self, array: str) -> list[Map]:
        """{ instance -> cell } that each statement writes of an array."""
        found: dict[int, Map] = {}
        for reference in self.references:
            if reference.access.array == array and _class(reference.access) == WRITES:
                order, cells = reference.instances.order, reference.relation
                found[order] = found[order].union(cells) if order in found else cells
        return list(found.values())

    def _touching(
        self, model: Model, array: str, kind: _Class, detail: Detail
    ) -> Map | None:
        found = [
            reference
            for reference in self.references
            if reference.access.array == array and _class(reference.access) == kind
        ]
        if not found:
            return None
        if detail.guarded:
            relations = (reference.relation for reference in found)
            union = reduce(Map.union, relations).coalesce()
        else:
            box = model.box(self.head, self.head.loops)
            cells = reduce(Map.union, (reference.cells for reference in found))
            union = box.apply_range(cells.coalesce()).coalesce()
        return Map.from_basic_map(union.simple_hull()) if detail.is_hull else union


class Detail(Enum):
    """The precision of access relations in a query; supersets come first."""

    ROUGH = "a simple hull, as if all conditions held"
    UNGUARDED = "as if all conditions held"
    HULL = "a simple hull"
    EXACT = "just what is accessed"

    @property
    def guarded(self) -> bool:
        """Whether the conditions around an access are included."""
        return self in (Detail.HULL, Detail.EXACT)

    @property
    def is_hull(self) -> bool:
        """Whether many pieces are replaced by one convex piece around them."""
        return self in (Detail.ROUGH, Detail.HULL)


def _sorted(group: StatementGroup) -> list[_Class]:
    """Reads first; the order is fixed so that proofs are reproducible."""
    return sorted(group.classes, key=lambda kind: (kind[0].value, kind[1]))


FEW_PIECES = 4
"""Pieces of a set whose simple hull is computed, in which isl compares all pairs."""
READS, WRITES = (AccessKind.READ, ""), (AccessKind.WRITE, "")
_Class = tuple[AccessKind, str]
"""Reads or writes, and how they combine if they are atomic."""


def _class(access: Access) -> _Class:
    return access.kind, access.atomic


def _compatible(one: _Class, other: _Class) -> bool:
    """Two reads, or two atomic updates of one kind."""
    reads = one[0] is other[0] is AccessKind.READ
    return reads or (bool(one[1]) and one[1] == other[1])


def groups_of(model: Model) -> list[StatementGroup]:
    """The statements in text order, indistinguishable neighbours in one group."""
    grouped: dict[object, list[Instances]] = {}
    segment, kind = 0, (False, False)
    for instances, following in zip_longest(model.everything, model.everything[1:]):
        before, kind = kind, (instances.grouped, instances.bulk)
        ends = _is_alone(instances, following)
        segment += ends or kind != before
        if isinstance(instances.node, Statement):
            loops = tuple(loop.name for loop in instances.loops)
            grouped.setdefault((segment, loops), []).append(instances)
        segment += ends
    return [
        StatementGroup(
            members[0],
            tuple(Reference(i, k) for i in members for k in range(len(i.accesses))),
        )
        for members in grouped.values()
    ]


def _is_alone(instances: Instances, following: Instances | None) -> bool:
    """Whether it orders other statements, or has an order of its own."""
    if not isinstance(instances.node, Statement) or instances.phase is not None:
        return True
    if instances.copies and not instances.grouped:
        return True
    return following is not None and waits_alone(following)


@dataclass(frozen=True, slots=True)
class GroupPair:
    """Two groups in program order, and the pairs of their executions.

    A pair of less ``detail`` uses supersets of the accesses: emptiness of a superset is
    a proof, and most proofs need no more.
    """

    model: Model
    first: StatementGroup
    second: StatementGroup
    fences: Sequence[Instances]
    transfers: Transfers
    commits: CommitGroups
    mbarriers: Mbarriers
    detail: Detail = Detail.EXACT
    phases: dict[tuple[int, ...], Map] = field(
        default_factory=dict[tuple[int, ...], Map]
    )
    """Cached results of `_within_a_phase`, by the fences that count."""

    def conflict(self, array: str) -> Map:
        """{ x -> y : one cell, one writes, not both atomic of one kind }."""
        found = nothing(self.first.head, self.second.head)
        for one, other in product(_sorted(self.first), _sorted(self.second)):
            touched = self.first.touches(array, one), self.second.touches(array, other)
            if all(touched) and not _compatible(one, other):
                mine = self.first.touching(self.model, array, one, self.detail)
                theirs = self.second.touching(self.model, array, other, self.detail)
                if mine is not None and theirs is not None:
                    found = found.union(mine.apply_range(theirs.reverse()))
        return found

    def is_apart(self, array: str) -> bool:
        """Whether certainly { x -> y : one cell, one writes, ... } = {}.

        It is if the cells of x and those of y are disjoint sets, whatever x and y are.
        """
        for one, other in product(_sorted(self.first), _sorted(self.second)):
            touched = self.first.touches(array, one), self.second.touches(array, other)
            if not all(touched) or _compatible(one, other):
                continue
            cells = self.first.cells(array, one), self.second.cells(array, other)
            if not self._are_disjoint(*(cells if other != READS else cells[::-1])):
                return False
        return True

    def _are_disjoint(self, used: Set, written: Set) -> bool:
        """Whether two sets are disjoint.

        Often what is written is what all conditions on one cell allow, in some pieces
        by other conditions: then the simple hull of these is a small superset.
        """
        ask = self.model.solver.ask
        if 1 < written.n_basic_set() <= FEW_PIECES:
            hull = ask(lambda: Set.from_basic_set(written.simple_hull()), written)
            if ask(lambda: used.is_disjoint(hull), otherwise=False):
                return True
        return ask(lambda: used.is_disjoint(written), otherwise=False)

    def nearest(self, fences: Sequence[Instances]) -> list[Instances]:
        """The fences closest to the groups, which suffice for most proofs."""
        return nearest(self.first.head, self.second.head, fences)

    def across_blocks(self, conflict: Map) -> Map:
        """{ x -> y in conflict : B(x) != B(y) }."""
        return conflict.subtract(self._same(conflict, Role.BLOCK))

    def unordered_blocks(self, conflict: Map) -> Map:
        """{ x -> y in conflict : B !=, S(x) <= S(y), no barrier of the grid between }.

        Taken over simple supersets of the fences' complements, as for threads.
        """
        a, b = self.first.head, self.second.head
        ordered = earlier(everything(a, b), a, b, or_same=True)
        far = conflict.intersect(ordered).subtract(
            fenced(self.model, a, b, self.fences)
        )
        return far.subtract(self._same(far, Role.BLOCK))

    def unordered_threads(self, conflict: Map) -> Map:
        """{ x -> y in conflict : B =, T !=, S(x) <= S(y), no barrier between }.

        Only mbarriers order the effects of copies that complete on them.
        """
        a, b = self.first.head, self.second.head
        by_mbarriers = self._by_mbarriers()
        if by_mbarriers.is_empty() and not a.arrives:
            near = conflict.intersect(self._within_a_phase())
            return near.subtract(self._same(near, Role.THREAD))
        near = earlier(self._same(conflict, Role.BLOCK), a, b, or_same=True)
        near = near.subtract(self._same(near, Role.THREAD)).subtract(by_mbarriers)
        return near if a.arrives else near.intersect(self._within_a_phase())

    def in_flight(self, conflict: Map) -> Map:
        """{ x -> y in conflict : B =, S(x) < S(y), no wait for x between }."""
        a, b = self.first.head, self.second.head
        after = earlier(self._same(conflict, Role.BLOCK), a, b)
        if a.arrives:
            return after.subtract(self._by_mbarriers())
        if a.grouped:
            return after.subtract(self.commits.arrived(a, b, self.fences))
        return after.subtract(self.transfers.completed(a, b, self.fences))

    def unseen(self, conflict: Map) -> Map:
        """{ x -> y in conflict : B =, S(x) < S(y), no proxy fence between }."""
        a, b = self.first.head, self.second.head
        after = earlier(self._same(conflict, Role.BLOCK), a, b)
        return after.subtract(proxied(self.model, a, b, self.fences))

    def _within_a_phase(self) -> Map:
        """{ x -> y : B =, S(x) <= S(y), no barrier between }, of any threads.

        Computed over all tuples: constraints on the cells would only slow it down.
        """
        counted = tuple(fence.order for fence in self.fences)
        if counted not in self.phases:
            a, b = self.first.head, self.second.head
            inside = self._same(everything(a, b), Role.BLOCK)
            ordered = earlier(inside, a, b, or_same=True)
            passed = fenced(self.model, a, b, self.fences)
            self.phases[counted] = ordered.subtract(passed).coalesce()
        return self.phases[counted]

    def _by_mbarriers(self) -> Map:
        """{ x -> y : one of them is over when the other begins }, by mbarriers.

        Where there are copies, mbarriers are only taken to guard what these write.
        """
        a, b = self.first.head, self.second.head
        written = self.mbarriers.copied
        if written and written.isdisjoint(self.first.arrays & self.second.arrays):
            return nothing(a, b)
        back = self.mbarriers.ordered(b, a).reverse()
        return self.mbarriers.ordered(a, b).union(back)

    def overlap(self, array: str) -> Map:
        """{ x -> x : x reads and writes one cell }."""
        read, written = (
            self.first.touching(self.model, array, (kind, ""), Detail.EXACT)
            for kind in (AccessKind.READ, AccessKind.WRITE)
        )
        if read is None or written is None:
            return nothing(self.first.head, self.first.head)
        pairs = read.apply_range(written.reverse())
        return pairs.intersect(Map.identity(pairs.get_space()))

    def written_twice(self, array: str) -> Map:
        """{ x -> x : two statements of the first group write one cell }."""
        seen = twice = None
        for statement in self.first.written(array):
            if seen is not None:
                both = seen.intersect(statement)
                twice = both if twice is None else twice.union(both)
            seen = statement if seen is None else seen.union(statement)
        if twice is None:
            return nothing(self.first.head, self.first.head)
        pairs = twice.apply_range(twice.reverse())
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

    def witness(self, pairs: Map) -> Witness | None:
        """Executions of a pair of accesses that are among some pairs."""
        for mine, theirs in product(self.first.references, self.second.references):
            a, b = mine.access, theirs.access
            if a.array == b.array and not _compatible(_class(a), _class(b)):
                found = find_witness(self.model, pairs, mine, theirs)
                if found:
                    return found
        return None
