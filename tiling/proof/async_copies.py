"""Asynchronous copies: which copies a wait completes, and waits without a copy.

`Transfers` covers copies that the threads of a block start together.  Each start closes
a commit group of its thread, unless it is joined: then the next start in the same loops
closes the group of both. A wait w on a tag that leaves P groups open completes the
start x, whose group c0 closes, iff

    tag(x) = tag(w), B(x) = B(w), S(x) <= S(c0) < S(w),
    and at least P starts c of the thread close groups with S(c0) < S(c) < S(w),

a chain c0 < c1 < ... < cP < w of one thread.  Starts that may not be executed count for
no chain.  The wait holds a barrier, so other threads may use the cells behind it.

`CommitGroups` covers copies that one thread starts alone.  A wait that leaves N groups
open completes all copies before the N newest commits, so a copy x has arrived at a wait
w of its own thread iff

    more than N commits c of the thread have S(x) < S(c) < S(w),

which is a chain x < c0 < ... < cN < w.  Other threads may use its cells behind a
barrier after that wait.  Bulk copies have commit groups of their own.

`unmatched_waits` returns an `Unmatched` for each wait that certainly has an execution
without a copy to wait for.  With B the block of an execution and S its place in the
program, these are the waits w in

    { w : no start x with tag(x) = tag(w), B(x) = B(w), S(x) < S(w),
          and no other wait y on that tag with S(x) < S(y) < S(w) }.

Unknown conditions, bounds and tag indices count in favour of the program: such starts
may match, such waits may not have run.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import field
from functools import reduce
from itertools import islice, pairwise, takewhile

from gpucodegen.records import dataclass
from gpucodegen.tiling.model.isl import IN, OUT, Map
from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.model.scop import Commit, GroupWait, Role, Statement, Wait
from gpucodegen.tiling.proof.kernel_order import (
    earlier,
    everything,
    fenced,
    nothing,
    own,
    same,
    through,
)
from gpucodegen.tiling.proof.witness import Event, find_instance

Key = tuple[int, int, tuple[int, ...]]


@dataclass(slots=True)
class CommitGroups:
    """The copies of a kernel in commit groups; results are cached.

    ``ended`` and ``seen`` are keyed by places in the program, those of the fences
    included.
    """

    model: Model
    ended: dict[Key, Map] = field(default_factory=dict[Key, Map], init=False)
    seen: dict[Key, Map] = field(default_factory=dict[Key, Map], init=False)

    def arrived(self, a: Instances, b: Instances, fences: Sequence[Instances]) -> Map:
        """{ x -> y : x has arrived when y, of any thread of a block, is executed }."""
        key = a.order, b.order, _orders(fences)
        if key not in self.seen:
            self.seen[key] = self._arrived(a, b, fences)
        return self.seen[key]

    def _arrived(self, a: Instances, b: Instances, fences: Sequence[Instances]) -> Map:
        found = nothing(a, b)
        for wait in _waits(a, fences):
            seen = own(wait, b).union(fenced(self.model, wait, b, fences))
            found = found.union(self._ended(a, wait, fences).apply_range(seen))
        return found

    def _ended(self, a: Instances, w: Instances, fences: Sequence[Instances]) -> Map:
        key = a.order, w.order, _orders(_commits(a, fences))
        if key not in self.ended:
            self.ended[key] = _ended(a, w, fences)
        return self.ended[key]


def _orders(fences: Sequence[Instances]) -> tuple[int, ...]:
    return tuple(fence.order for fence in fences)


def abandoned(a: Instances, fences: Sequence[Instances]) -> Map:
    """Copies x (trips -> values) that no wait of their thread ends."""
    ended = (_ended(a, wait, fences).domain() for wait in _waits(a, fences))
    return reduce(Map.subtract_domain, ended, a.values)


def _waits(a: Instances, fences: Sequence[Instances]) -> list[Instances]:
    """The waits for groups of the kind of a copy, bulk or not."""
    waits = (fence for fence in fences if isinstance(fence.node, GroupWait))
    return [wait for wait in waits if _is_bulk(wait) == a.bulk]


def _commits(a: Instances, fences: Sequence[Instances]) -> list[Instances]:
    """The commits of groups of the kind of a copy, bulk or not."""
    commits = (fence for fence in fences if isinstance(fence.node, Commit))
    return [commit for commit in commits if _is_bulk(commit) == a.bulk]


def _is_bulk(fence: Instances) -> bool:
    return isinstance(fence.node, Commit | GroupWait) and fence.node.bulk


def _ended(a: Instances, wait: Instances, fences: Sequence[Instances]) -> Map:
    """{ x -> w : of one thread, more commits between than w leaves open }."""
    assert isinstance(wait.node, GroupWait)
    commits = _commits(a, fences)
    chains = [own(a, commit) for commit in commits]
    for _ in range(wait.node.pending):
        chains = [_extended(a, chains, commits, commit) for commit in commits]
    return _extended(a, chains, commits, wait)


def _extended(
    a: Instances, chains: Sequence[Map], ends: Sequence[Instances], b: Instances
) -> Map:
    """Chains that end at some instances, each extended by one more element."""
    longer = (
        chain.apply_range(own(end, b)) for chain, end in zip(chains, ends, strict=True)
    )
    return reduce(Map.union, longer, nothing(a, b)).coalesce()


MOST_OPEN = 16
"""Groups beyond which no more are counted: each costs a composition of relations."""


@dataclass(slots=True)
class Transfers:
    """The copies of a kernel with tags, and the waits that complete them; cached.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, Tag
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> def start(tile):
    ...     stage = f"({tile}) mod 3"
    ...     moved = read("A", tile), write("s", stage)
    ...     return Statement(f"start {tile}", moved, tag=Tag("t", (stage,)))
    >>> first = Loop("p", "0", "2", body=(start("p"),))
    >>> body = Wait(Tag("t", ("k mod 3",))), start("k + 2")
    >>> steady = Loop("k", "0", "6", body=body)
    >>> arrays = Array("A", (8,)), Array("s", (3,)), Array("t", (3,))
    >>> built = model(Scop(arrays=arrays, body=(first, steady)))
    >>> (wait,) = (each for each in built.everything if each.name == "wait")
    >>> Transfers(built).may_stay_open(wait)
    1
    """

    model: Model
    ends: dict[tuple[int, int], Map] = field(
        default_factory=dict[tuple[int, int], Map], init=False
    )

    def completed(self, a: Instances, b: Instances, waits: Sequence[Instances]) -> Map:
        """{ x -> y : some wait before y completes x }."""
        passed = (through(a, w, b, self.ended(a, w)) for w in waits)
        return reduce(Map.union, passed, nothing(a, b))

    def unfinished(self, a: Instances, waits: Sequence[Instances]) -> Map:
        """Copies x (trips -> values) that no wait of their block completes."""
        ended = (_before(a, w, self.ended(a, w), Role.BLOCK).domain() for w in waits)
        return reduce(Map.subtract_domain, ended, a.values)

    def ended(self, a: Instances, wait: Instances) -> Map:
        """{ x -> w : w completes x }, exact for x before w in its block."""
        found = matching(a, wait)
        pending = wait.node.pending if isinstance(wait.node, Wait) else 0
        if not (pending or is_joined(a)) or found.is_empty():
            return found
        if (a.order, wait.order) not in self.ends:
            (chains,) = islice(self._chains(wait), pending, pending + 1)
            for x in self.starts:
                pairs, chain = matching(x, wait), chains[x.order]
                is_all = _waited(x, wait).is_subset(chain)
                ends = pairs if is_all else pairs.intersect(chain)
                self.ends[x.order, wait.order] = ends
        return self.ends[a.order, wait.order]

    def may_stay_open(self, wait: Instances) -> int:
        """The number of groups that a wait may leave in flight without losing a copy.

        0 where the tag of a start is unknown, or no proof was found.
        """
        if not all(map(is_known, (wait, *self.starts))):
            return 0
        chains = islice(self._chains(wait), 1, MOST_OPEN + 1)

        def holds() -> bool:
            longer = next(chains)
            return all(_waited(x, wait).is_subset(longer[x.order]) for x in self.starts)

        proven = (self.model.solver.ask(holds, False) for _ in range(MOST_OPEN))
        return sum(takewhile(bool, proven))

    def _chains(self, wait: Instances) -> Iterator[dict[int, Map]]:
        """{ x -> w : at least P groups closed between }, for P = 0, 1, ...

        Each list has one relation per start, in the order of starts.
        """
        starts = [start for start in self.starts if not is_joined(start)]
        sure = [start for start in starts if start.certain]
        steps = {(x.order, c.order): own(x, c) for x in starts for c in sure}
        found = {x.order: own(x, wait) for x in starts}
        while True:
            yield self._with_joined(found, wait)
            found = {
                x.order: reduce(
                    Map.union,
                    (steps[x.order, c.order].apply_range(found[c.order]) for c in sure),
                    nothing(x, wait),
                ).coalesce()
                for x in starts
            }

    def _with_joined(self, found: dict[int, Map], wait: Instances) -> dict[int, Map]:
        """The relations of all starts; a joined start has that of its closer."""
        result = {x.order: nothing(x, wait) for x in self.starts} | found
        for x, c in reversed(list(pairwise(self.starts))):
            if is_joined(x) and _loops(x) == _loops(c):
                result[x.order] = _together(x, c).apply_range(result[c.order])
        return result

    @property
    def starts(self) -> list[Instances]:
        """The starts in textual order."""
        return [i for i in self.model.statements if i.tag is not None]


def is_joined(start: Instances) -> bool:
    """Whether the next start in the same loops closes the group of a start."""
    return isinstance(start.node, Statement) and start.node.joined


def _loops(instances: Instances) -> list[str]:
    return [loop.name for loop in instances.loops]


def _together(x: Instances, c: Instances) -> Map:
    """{ x -> c : in the same iteration of the same loops }."""
    pairs = everything(x, c).intersect_range(c.domain)
    for d in range(len(x.loops)):
        pairs = pairs.equate(IN, d, OUT, d)
    return pairs


def _waited(a: Instances, wait: Instances) -> Map:
    """{ x -> w : tag(x) = tag(w), B =, T =, S(x) < S(w) }."""
    return _before(a, wait, matching(a, wait), Role.THREAD)


def _before(a: Instances, b: Instances, pairs: Map, role: Role) -> Map:
    """{ x -> y in pairs : S(x) < S(y) }, of one block or, as ``role`` says, thread."""
    for each in (Role.BLOCK, role):
        pairs = same(pairs, a, b, each)
    return earlier(pairs, a, b)


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


def is_known(instances: Instances) -> bool:
    """Whether the tag of a start or wait is known."""
    tag = getattr(instances.node, "tag", None)
    return tag is not None and None not in tag.indices


@dataclass(frozen=True, slots=True)
class Unmatched:
    """A wait without a copy, with an execution that shows it."""

    wait: Instances
    event: Event | None

    def __str__(self) -> str:
        shown = f" at {self.event}" if self.event and self.event.iteration else ""
        return f"no copy with its tag is under way{shown}"


def unmatched_waits(model: Model) -> Iterator[Unmatched]:
    """The waits of a program that certainly have no copy to wait for.

    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, Tag, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> moved, tag = (read("A", "i"), write("s", "i")), Tag("t", ("0",))
    >>> twice = (Statement("copy", moved, tag=tag), Wait(tag), Wait(tag))
    >>> arrays = (Array("A", (8,)), Array("s", (8,)), Array("t", (1,)))
    >>> scop = Scop(arrays=arrays, body=nest([Loop("i", "0", "8")], twice))
    >>> [str(found) for found in unmatched_waits(model(scop))]
    ['no copy with its tag is under way at (i=0)']
    """
    waits = [i for i in model.everything if isinstance(i.node, Wait)]
    certain = [wait for wait in waits if wait.certain and is_known(wait)]
    transfers = Transfers(model)
    for wait in certain:
        missing = model.solver.ask(lambda w=wait: _missing(transfers, w, certain), None)
        if missing is not None and not missing.is_empty():
            always = wait.domain.params().is_subset(missing.params())
            if always:
                yield Unmatched(wait, find_instance(model.solver, missing, wait))


def _missing(transfers: Transfers, wait: Instances, waits: list[Instances]) -> Map:
    """{ trips -> values } of the executions without a copy."""
    missing = wait.values
    for start in transfers.starts:
        pairs = earlier(
            same(matching(start, wait), start, wait, Role.BLOCK), start, wait
        )
        if is_known(start):
            pairs = pairs.subtract(transfers.completed(start, wait, waits))
        missing = missing.subtract_domain(pairs.range())
    return missing
