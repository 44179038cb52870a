"""Vectorization of innermost parallel loops, ``lanes`` iterations at once.

Where all stores are streaming stores, or neighbouring loads share registers, the full
vectors begin at an aligned position of the first store.

*Neighbours* are several loads of one buffer that differ by constants along its row, as
in stencils.  The *centre* is the load aligned like the store.  With l lanes, a vector
that begins s elements after the centre c[i .. i + l - 1] is shuffled from two vectors
of centres, so each cell is loaded once:

    s < 0:  c[i - l ..], c[i ..]        s > 0:  c[i ..], c[i + l ..]

    previous, current = vectors of the centres
    for i by lanes, as long as another full vector follows:
      following = the next centres; neighbours are shuffled out of the three
      previous, current = current, following
    the remaining iterations, masked
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import VectorType, element_type
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.framework.indexing import Index, compact
from gpucodegen.passes.framework.nests import inner_operations
from gpucodegen.passes.nests.loop_ranges import LoopRange
from gpucodegen.passes.vectorize.accumulations import Addresses, LoopSite
from gpucodegen.passes.vectorize.loops import (
    EnclosingLoop,
    Widened,
    in_blocks,
    inner_loop,
    mark_streaming,
    until_aligned,
    vector_loop,
)
from gpucodegen.passes.vectorize.recognize import (
    ContiguousAccess,
    LoopBody,
    recognize,
)
from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import VectorUnit
from gpucodegen.tiling.machine.vectorization import (
    plan_lanes,
    rows_in_registers,
    thread_block,
)


@dataclass(frozen=True, slots=True)
class NeighbourLoads:
    """Loads around ``centre``, by their distance in elements."""

    centre: ContiguousAccess
    shifts: dict[Operation, int]

    @property
    def first(self) -> int:
        return min(self.shifts.values())

    @property
    def last(self) -> int:
        return max(self.shifts.values())


def stored_access(body: LoopBody) -> ContiguousAccess | None:
    """The first store of the body, if it is contiguous."""
    stores = (s for op, s in body.accesses.items() if not op.results and s.is_last)
    return next(filter(body.has_place_outside, stores), None)


def neighbour_loads(body: LoopBody, lanes: int) -> list[NeighbourLoads]:
    """The neighbours of a body, the most first; each is less than ``lanes`` away.

    Only loads in front of all stores are taken: no iteration of a parallel loop changes
    elements that another one loads, so they may run in an earlier one.
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
    """The loads around the one whose row position is congruent to the store's."""
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


def loads_in_registers(
    body: LoopBody, trips: int | None, lanes: int, unit: VectorUnit
) -> list[NeighbourLoads]:
    """The rows of neighbours that a loop keeps in registers."""
    if not body.takes_masks:
        return []
    vectors, bits = None if trips is None else trips // lanes, lanes * min(body.bits)
    count = rows_in_registers(vectors, bits, len(body.accesses), unit)
    return neighbour_loads(body, lanes)[:count]


def sliding_loop(
    b: Builder,
    body: LoopBody,
    range_: LoopRange,
    lanes: int,
    neighbours: Sequence[NeighbourLoads],
) -> None:
    """Run the body over the range, with neighbours shuffled from registers.

    It loads only elements that the plain loop loads; the range is a single one.
    """
    _Sliding(body, lanes, tuple(neighbours)).build(b, range_)


@dataclass(frozen=True, slots=True)
class _Sliding:
    body: LoopBody
    lanes: int
    neighbours: tuple[NeighbourLoads, ...]

    def build(self, b: Builder, range_: LoopRange) -> None:
        lanes, name = self.lanes, self.body.iv.name
        start, (end,) = Index.of(b.index(range_.lowers[0], "start")), range_.uppers
        ahead = end - (2 * lanes - 1)
        rest_from = start + (end - start) // lanes * lanes - lanes

        def full(i: Builder) -> None:
            carried = [v for w in self.neighbours for v in self._before(i, w, start)]
            i.carried_loop(start, ahead, carried, self._vector, step=lanes, hint=name)

        def rest(i: Builder, iv: Value) -> None:
            Widened(self.body, i, Index.of(iv), lanes, i.index(end - iv)).build()

        b.guard([ahead - start - 1], full)
        b.loop([start, rest_from], end, rest, step=lanes, hint=name)

    def _before(self, b: Builder, loads: NeighbourLoads, start: Index) -> list[Value]:
        """The last centres before ``start``, as many as are used, and the first.

        The foremost load begins with those in front.
        """
        first = self._load(b, loads, start, loads.first)
        turned = [(lane - loads.first) % self.lanes for lane in range(self.lanes)]
        return [b.shuffle(first, first, turned), self._load(b, loads, start, 0)]

    def _vector(self, b: Builder, iv: Value, carried: Sequence[Value]) -> list[Value]:
        at, after, ready = Index.of(iv), list[Value](), dict[Operation, Value]()
        pairs = zip(carried[::2], carried[1::2], strict=True)
        for loads, (previous, current) in zip(self.neighbours, pairs, strict=True):
            following = self._load(b, loads, at + self.lanes, 0)
            for op, shift in loads.shifts.items():
                two = (previous, current) if shift < 0 else (current, following)
                ready[op] = self._shifted(b, *two, shift % self.lanes)
            after += [current, following]
        Widened(self.body, b, at, self.lanes, ready=ready).build()
        return after

    def _shifted(self, b: Builder, one: Value, other: Value, by: int) -> Value:
        return b.shuffle(one, other, range(by, by + self.lanes)) if by else one

    def _load(self, b: Builder, loads: NeighbourLoads, at: Index, shift: int) -> Value:
        centre = Widened(self.body, b, at, self.lanes).at_first(loads.centre)
        *outer, last = centre.indices
        ty = VectorType((self.lanes,), element_type(centre.memref.type))
        return b.affine_vector_load(centre.memref, [*outer, last + shift], ty)


def innermost_loop(site: LoopSite) -> list[Operation]:
    """The replacement of an innermost loop whose iterations are independent."""
    op, range_, machine = site.op, site.range, site.machine
    body = None
    if range_ and not op.results:
        body = recognize(op.body.arguments[0], inner_operations(op))
    if range_ is None or body is None:
        return []
    trips = range_.constant_trips
    if trips is None and not body.takes_masks:
        return []
    loops = (*site.loops, EnclosingLoop(body.iv, trips))
    first = mark_streaming(body, loops, machine)
    loop = inner_loop(body, trips)
    lanes = plan_lanes(loop, machine.unit)
    if not lanes or not site.is_parallel():
        return []
    neighbours = tuple(loads_in_registers(body, trips, lanes, machine.unit))
    vectors = _VectorLoop(body, lanes, first, neighbours, site.addresses)
    if site.shares_threads:
        size, counted = thread_block(loop, machine.threads), first is None
        return [in_blocks(op, range_, size, vectors.build, counted=counted)]
    b = Builder(op.location)
    vectors.build(b, range_)
    return b.operations


@dataclass(frozen=True, slots=True)
class _VectorLoop:
    """A body on ``lanes``; ``first``: its first streaming store."""

    body: LoopBody
    lanes: int
    first: ContiguousAccess | None
    neighbours: tuple[NeighbourLoads, ...]
    addresses: Addresses

    def build(self, b: Builder, part: LoopRange) -> None:
        """Run the iterations of a part of the range."""
        body, lanes = self.body, self.lanes
        slides = part.is_single and bool(self.neighbours)
        aligned = self.first or (stored_access(body) if slides else None)
        address = aligned and self.addresses.of(aligned.memref)
        if aligned and address and len(part.lowers) == 1:
            part = until_aligned(b, body, part, lanes, aligned, address)
        if slides:
            sliding_loop(b, body, part, lanes, self.neighbours)
        else:
            vector_loop(b, body, part, lanes)
