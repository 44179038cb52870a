"""Loads of neighbours in a row, and what of them vectors have in registers already.

*Neighbours* are several loads of one buffer that differ by constants along its row.
The *centre* is the load whose vectors lie as those of the store do.  With l lanes, a
vector that begins s elements after the centre c[i .. i + l - 1] consists of the last
lanes of one vector of centres and of the first lanes of the next:

    s < 0:  c[i - l ..], c[i ..]        s > 0:  c[i ..], c[i + l ..]
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile

from gpucodegen.ir.operation import Operation
from gpucodegen.passes.cpu.vectorize.recognize import ContiguousAccess, LoopBody
from gpucodegen.passes.framework.indexing import compact


@dataclass(frozen=True, slots=True)
class NeighbourLoads:
    """Loads around ``centre``, by how many elements each lies after it."""

    centre: ContiguousAccess
    shifts: dict[Operation, int]

    @property
    def first(self) -> int:
        """The shift of the first load."""
        return min(self.shifts.values())

    @property
    def last(self) -> int:
        """The shift of the last load."""
        return max(self.shifts.values())


def stored_access(body: LoopBody) -> ContiguousAccess | None:
    """Where the body stores first, if that is a row."""
    stores = (s for op, s in body.accesses.items() if not op.results and s.is_last)
    return next(filter(body.has_place_outside, stores), None)


def neighbour_loads(body: LoopBody, lanes: int) -> list[NeighbourLoads]:
    """The neighbours of a body, the most first; each is less than ``lanes`` away.

    Only loads in front of all stores are taken: no iteration of a parallel loop changes
    what another one loads, so they may be executed in an earlier one.
    """
    store = stored_access(body)
    if store is None:
        return []
    groups: list[dict[Operation, ContiguousAccess]] = []
    for op, access in _loads(body):
        near = (g for g in groups if _distance(access, _any(g)) is not None)
        group = next(near, None)
        if group is None:
            groups.append({op: access})
        else:
            group[op] = access
    found = [_around_centre(group, store, lanes) for group in groups]
    sliding = [loads for loads in found if _slides(loads, lanes)]
    return sorted(sliding, key=lambda loads: -len(loads.shifts))


def _loads(body: LoopBody) -> Iterator[tuple[Operation, ContiguousAccess]]:
    for op in takewhile(lambda op: op.name != "affine.store", body.operations):
        access = body.accesses.get(op)
        if access and access.is_last and body.has_place_outside(access):
            yield op, access


def _any(group: dict[Operation, ContiguousAccess]) -> ContiguousAccess:
    return next(iter(group.values()))


def _around_centre(
    group: dict[Operation, ContiguousAccess], store: ContiguousAccess, lanes: int
) -> NeighbourLoads:
    """The loads around that one whose place in its row is congruent to the store's."""
    middle = sorted(group.values(), key=lambda s: _distance(s, _any(group)) or 0)
    alike = [s for s in middle if _is_alike(s, store, lanes)]
    (centre, *_) = alike or middle[len(middle) // 2 :]
    shifts = {op: _distance(access, centre) or 0 for op, access in group.items()}
    return NeighbourLoads(centre, shifts)


def _is_alike(access: ContiguousAccess, store: ContiguousAccess, lanes: int) -> bool:
    apart = compact(access.indices[-1] - store.indices[-1]).constant
    return apart is not None and apart % lanes == 0


def _slides(loads: NeighbourLoads, lanes: int) -> bool:
    return loads.first < loads.last and max(loads.last, -loads.first) < lanes


def _distance(access: ContiguousAccess, other: ContiguousAccess) -> int | None:
    """Elements from ``other`` to ``access`` if both run along the same row."""
    if access.memref is not other.memref:
        return None
    apart = [
        compact(a - b).constant
        for a, b in zip(access.indices, other.indices, strict=True)
    ]
    return apart[-1] if not any(apart[:-1]) and None not in apart else None
