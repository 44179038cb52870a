"""Copies that a thread starts alone, and that end group by group.

A thread closes a group by a commit; a wait that leaves N groups open ends all copies
before the N newest commits.  So a copy x has arrived at a wait w of its own thread iff

    more than N commits c of the thread have S(x) < S(c) < S(w),

which is a chain x < c0 < ... < cN < w.  Other threads may use its cells behind a
barrier after that wait.  Copies of engines have groups of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

from gpucodegen.tiling.model.isl import Map
from gpucodegen.tiling.model.relations import Instances, Model
from gpucodegen.tiling.model.scop import Commit, GroupWait
from gpucodegen.tiling.proof.kernels.ordering import (
    fenced,
    nothing,
    own,
)


def arrived(
    model: Model, a: Instances, b: Instances, fences: Sequence[Instances]
) -> Map:
    """{ x -> y : x has arrived when y, of any thread of its block, is executed }."""
    found = nothing(a, b)
    for wait in _waits(a, fences):
        ended = _ended(a, wait, fences)
        seen = own(wait, b).union(fenced(model, wait, b, fences))
        found = found.union(ended.apply_range(seen))
    return found


def abandoned(a: Instances, fences: Sequence[Instances]) -> Map:
    """Copies x (trips -> values) that no wait of their thread ends."""
    ended = (_ended(a, wait, fences).domain() for wait in _waits(a, fences))
    return reduce(Map.subtract_domain, ended, a.values)


def _waits(a: Instances, fences: Sequence[Instances]) -> list[Instances]:
    """Those for groups of the kind of a copy."""
    waits = (fence for fence in fences if isinstance(fence.node, GroupWait))
    return [wait for wait in waits if _is_bulk(wait) == a.bulk]


def _is_bulk(fence: Instances) -> bool:
    return isinstance(fence.node, Commit | GroupWait) and fence.node.bulk


def _ended(a: Instances, wait: Instances, fences: Sequence[Instances]) -> Map:
    """{ x -> w : of one thread, more commits between than w leaves open }."""
    assert isinstance(wait.node, GroupWait)
    commits = [
        fence
        for fence in fences
        if isinstance(fence.node, Commit) and _is_bulk(fence) == a.bulk
    ]
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
