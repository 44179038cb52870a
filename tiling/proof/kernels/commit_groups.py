"""Copies that a thread starts alone, and that end group by group.

A thread closes a group by a commit; a wait that leaves N groups open ends all copies
before the N newest commits.  So a copy x has arrived at a wait w of its own thread iff

    more than N commits c of the thread have S(x) < S(c) < S(w),

which is a chain x < c0 < ... < cN < w.  Other threads may use its cells behind a
barrier after that wait.  Copies of engines have groups of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import reduce

from gpucodegen.tiling.model.isl import Map
from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.model.scop import Commit, GroupWait
from gpucodegen.tiling.proof.kernels.ordering import (
    fenced,
    nothing,
    own,
)

Key = tuple[int, int, tuple[int, ...]]


@dataclass(slots=True)
class CommitGroups:
    """The copies of a kernel in groups; what arrives, and where, is found once.

    ``ended`` and ``seen``: by places in the program, those of the fences included.
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
    """Those for groups of the kind of a copy."""
    waits = (fence for fence in fences if isinstance(fence.node, GroupWait))
    return [wait for wait in waits if _is_bulk(wait) == a.bulk]


def _commits(a: Instances, fences: Sequence[Instances]) -> list[Instances]:
    """Those that close groups of the kind of a copy."""
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
    """Chains that end at some instances, each with one more element."""
    longer = (
        chain.apply_range(own(end, b)) for chain, end in zip(chains, ends, strict=True)
    )
    return reduce(Map.union, longer, nothing(a, b)).coalesce()
