"""Proof that a ring of stages in shared memory is filled and read in order.

A ring has S stages and two arrays of S mbarriers, *full* and *empty* (CUTLASS calls it
a pipeline of TMA copies).  One thread, the producer, executes in trip k of its loops,
k = 0, 1, ..., K - 1, with stage c(k) = k mod S and rank r(k) = floor(k/S),

    P1  a wait on empty[c] for phase r - 1, of parity (r + 1) mod 2,
    P2  an arrival on full[c] that expects as many bytes as the copies bring,
    P3  copies into stage c of some arrays, completing on full[c];

other threads, the consumers, execute in trip k of theirs

    C1  a wait on full[c] for phase r, of parity r mod 2,
    C2  reads of stage c,
    C3  an arrival on empty[c], by some of the threads.

`find_ring` checks these conditions; each is followed by what would happen without it.

1.  No other statement uses these mbarriers, but for initialisations of each barrier
    once, by one thread, before a barrier of the block behind which all the others are
    (an arrival at a barrier that is not initialised is lost).  A phase of full needs
    one arrival, one of empty as many as threads execute C3, at least one (else phases
    end too early, or never).
2.  P1, P2, P3 and C1, C2, C3 each are in one iteration of the same loops, in this
    order, under the same conditions on threads; only C3 may have further ones.  (A copy
    before its wait, or a read behind its arrival, overlaps what the wait is for.)
3.  The loops of producer and consumers have the same trip counts, which do not depend
    on the thread, and no barrier of the block is in or between them; no consumer is the
    producer; each thread that waits in C1 also arrives in C3, or a lane of its warp
    does, with a barrier of the warp between.  (Else some wait for a phase that never
    ends, or that has been followed by two more.)
4.  The stage of each of these statements is k mod S, and the parities are those above,
    for all k; so the rank of an arrival or a wait is the number of earlier ones of its
    thread on its barrier.
5.  P2 expects the bytes of P3, C3 none.  (Else a phase ends before its copies do.)
6.  The copies of a trip write disjoint cells; each has no other effect but reads of
    arrays that nothing writes.
7.  The arrays that the copies write are of the block, and nothing else uses these but
    reads C2.  Each thread that reads also arrives in C3, or a lane of its warp does,
    with a barrier of the warp between; a barrier that orders no memory counts only
    directly behind the read, as that of ``wgmma`` (PTX ISA, wgmma.wait_group).

**Phases.**  Arrivals of trip k belong to phase r(k) of their barrier: suppose that the
first arrival in time that comes too early is of trip k.  If it is P2, P1 of this trip
has seen phase r - 1 of empty[c] end, which takes all C3 of trip k - S, and at least one
of them is behind a C1 that has seen phase r - 1 of full[c] end, so phase r was running.
If it is C3, its thread has in C1 seen phase r of full[c] end, so P2 of trip k was
executed behind a P1 that has seen phase r - 1 of empty[c] end.  Both use only earlier
arrivals.  A wait of a parity returns once the phase of that parity is over and the one
before it was: the thread's wait of trip k - S has seen that.

**Progress.**  Let some threads be blocked, at waits of the trips k, and let k be the
smallest.  C1 needs P2 and P3 of trip k, so the producer is blocked at P1 of a trip
k' <= k, thus k' = k; P1 needs C3 of trip k - S, so a consumer is blocked at C1 of a
trip below k, or at a barrier of its warp with a lane that is.  Contradiction.

**Order.**  A copy x of trip k and a read y of trip l on one cell are of one stage, as
are two copies of different trips.  With m = r(k), n = r(l),

    m <= n:  x, end of phase m of full, which is not behind phase n, C1, y
    m > n:   y, C3, end of phase n of empty, which is not behind m - 1, P1, x
    copies of ranks m < n: x, end of phase m of full, C1, C3, end of phase m of empty,
             P1 of rank n, the other copy

are chains of executions that follow each other.  So the rules ``phases``, and for the
ring's arrays ``threads`` and ``transfers``, of `races` hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import prod
from typing import TypeAlias, TypeGuard

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP
from gpucodegen.tiling.model.isl_evaluation import (
    Integers,
    UndecidedError,
    formula,
)
from gpucodegen.tiling.model.scop import (
    Access,
    Barrier,
    If,
    Loop,
    Node,
    Statement,
    Turn,
    Wait,
    walk,
)
from gpucodegen.tiling.proof.kernel_accesses import (
    MOST_POINTS,
    Condition,
    KernelAccesses,
    Mask,
    check_bounds,
    held,
    spans,
)
from gpucodegen.tiling.proof.kernel_order import ALL_LANES


@dataclass(frozen=True, slots=True)
class Place:
    """A statement with what is around it.

    ``body``: the list of nodes that has the statement at ``path[-1]``; ``path``: the
    positions in all lists from the outermost one, with the branch taken at each
    condition.
    """

    statement: Statement
    loops: tuple[Loop, ...]
    conditions: tuple[Condition, ...]
    body: tuple[Node, ...]
    path: tuple[int, ...]

    @property
    def barrier(self) -> Access:
        """The access to the mbarrier of a statement that uses one."""
        return self.statement.accesses[0]

    @property
    def turn(self) -> Turn | None:
        phase = self.statement.phase
        return None if phase is None else phase.turn

    def is_before(self, other: Place) -> bool:
        """Whether the other is behind it in one iteration, maybe in more conditions."""
        at = len(self.path) - 1
        return (
            other.path[:at] == self.path[:at]
            and len(other.path) > at
            and self.path[at] < other.path[at]
            and len(self.loops) == len(other.loops)
        )


def places(
    body: tuple[Node, ...],
    loops: tuple[Loop, ...] = (),
    conditions: tuple[Condition, ...] = (),
    path: tuple[int, ...] = (),
) -> Iterator[Place]:
    """The statements of a body, in textual order."""
    for position, node in enumerate(body):
        here = (*path, position)
        match node:
            case Statement():
                yield Place(node, loops, conditions, body, here)
            case Loop():
                yield from places(node.body, (*loops, node), conditions, here)
            case If(constraints=known):
                for branch, inner in enumerate((node.body, node.orelse)):
                    more = (*conditions, Condition(known, holds=branch == 0))
                    yield from places(inner, loops, more, (*here, branch))
            case _:
                pass


@dataclass(frozen=True, slots=True)
class Ring:
    """The arrays of a ring that is proven, and the names of its statements."""

    arrays: frozenset[str] = frozenset()
    statements: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class _Trips:
    """The iterations k = 0, 1, ... of some loops, of the block that has the most."""

    values: dict[str, Integers]
    numbers: Integers

    def index(self, text: str | None) -> Integers:
        """An index in each iteration."""
        return self._value("unknown" if text is None else text, is_constraint=False)

    def holds(self, text: str | None) -> Mask:
        """Whether a constraint holds, in each iteration."""
        found = self._value("unknown" if text is None else text, is_constraint=True)
        return found.astype(bool)

    def _value(self, text: str, *, is_constraint: bool) -> Integers:
        found = formula(text, is_constraint=is_constraint)
        if not found.variables <= self.values.keys():
            raise UndecidedError(text)
        value = np.asarray(found.value(self.values))
        return np.broadcast_to(value, self.numbers.shape)


def find_ring(kernel: KernelAccesses) -> Ring:
    """The ring of a kernel, if it has mbarriers; raise UndecidedError unless proven."""
    every = list(places(kernel.body))
    on_barriers = [place for place in every if place.turn is not None]
    if not on_barriers:
        return Ring()
    proof = _RingProof.of(kernel, every, on_barriers)
    proof.check_initialised()
    proof.check_roles()
    proof.check_progress()
    proof.check_trips()
    arrays = proof.check_copies()
    for place in every:
        for access in place.statement.accesses:
            if access.array in arrays and place not in proof.copies:
                proof.check_read(place, access)
    barriers = {place.barrier.array for place in on_barriers}
    names = frozenset(place.statement.name for place in on_barriers)
    return Ring(arrays | barriers, names)


Meets: TypeAlias = Callable[[Barrier, int], bool]


def _require(holds: bool | np.bool_, what: str) -> None:
    if not holds:
        raise UndecidedError(what)


def _only(found: Sequence[Place]) -> Place:
    _require(len(found) == 1, "several rings, or parts of a ring")
    return found[0]


@dataclass(frozen=True, slots=True)
class _RingProof:
    """The statements of a ring, by the names above."""

    kernel: KernelAccesses
    stages: int
    inits: tuple[Place, ...]
    p1: Place
    p2: Place
    copies: tuple[Place, ...]
    c1: Place
    c3: Place

    @staticmethod
    def of(
        kernel: KernelAccesses, every: Sequence[Place], on_barriers: Sequence[Place]
    ) -> _RingProof:
        """Tell the two arrays of mbarriers apart: copies complete on full."""
        copies = tuple(p for p in on_barriers if p.turn is Turn.COPY)
        _require(bool(copies), "mbarriers without copies")
        full = copies[0].barrier.array
        barriers = {place.barrier.array for place in on_barriers}
        _require(len(barriers) == 2, "mbarriers that are no ring")
        (empty,) = barriers - {full}

        def part(array: str, turn: Turn) -> Place:
            return _only(
                [
                    place
                    for place in on_barriers
                    if place.turn is turn and place.barrier.array == array
                ]
            )

        shapes = {kernel.arrays[array].shape for array in barriers}
        _require(len(shapes) == 1, "barriers of different stages")
        (shape,) = shapes
        _require(len(shape) == 1, "mbarriers in several dimensions")
        (stages,) = shape
        _require(all(map(kernel.is_of_block, barriers)), "mbarriers of other blocks")
        for place in every:
            used = {access.array for access in place.statement.accesses} & barriers
            is_part = place.turn is not None and _uses_one_barrier(place)
            _require(is_part or not used, "another use of an mbarrier")
        if not isinstance(stages, int):
            raise UndecidedError("an unknown number of stages")
        return _RingProof(
            kernel=kernel,
            stages=stages,
            inits=(part(full, Turn.INIT), part(empty, Turn.INIT)),
            p1=part(empty, Turn.WAIT),
            p2=part(full, Turn.ARRIVE),
            copies=copies,
            c1=part(full, Turn.WAIT),
            c3=part(empty, Turn.ARRIVE),
        )

    @property
    def producing(self) -> tuple[Place, ...]:
        return self.p1, self.p2, *self.copies

    def threads(self, place: Place) -> Mask:
        """The threads that execute a statement; raise if anything else decides it."""
        mask = np.ones(self.kernel.count, bool)
        for condition in place.conditions:
            if condition.constraints is None:
                raise UndecidedError("an unknown condition around an mbarrier")
            values = self.kernel.indices
            is_true = held(condition.constraints, values, mask.shape)
            mask &= is_true == condition.holds
        return mask

    def check_initialised(self) -> None:
        """Condition 1."""
        parts = (*self.producing, self.c1, self.c3)
        last = max(place.path[0] for place in self.inits)
        first = min(place.path[0] for place in parts)
        between = self.kernel.body[last + 1 : first]
        is_met = any(_orders_block(node) for node in between)
        _require(is_met, "no barrier behind the initialisation of mbarriers")
        arrivals = (1, int(self.threads(self.c3).sum()))
        for place, wanted in zip(self.inits, arrivals, strict=True):
            phase = place.statement.phase
            _require(
                phase is not None and phase.number == wanted > 0,
                "another number of arrivals than an mbarrier expects",
            )
            _require(self.threads(place).sum() == 1, "initialised by several threads")
            is_known = all(loop.uppers[0].isdecimal() for loop in place.loops)
            _require(is_known, "initialised in some blocks")
            cells = _trips(self.kernel, place.loops).index(place.barrier.indices[0])
            is_each = np.array_equal(np.sort(cells), np.arange(self.stages))
            _require(is_each, "mbarriers that are not initialised once")

    def check_roles(self) -> None:
        """Conditions 2 and 5."""
        total = 0
        for place in self.producing:
            is_here = place.path[:-1] == self.p1.path[:-1]
            _require(is_here, "a producer in several places")
        _require(self.p1.is_before(self.p2), "an arrival before the wait for its phase")
        for copy in self.copies:
            _require(self.p2.is_before(copy), "a copy before its arrival")
            _require(copy.barrier.array == self.p2.barrier.array, "copies to empty")
            phase = copy.statement.phase
            if phase is None or phase.number is None:
                raise UndecidedError("a copy of unknown size")
            total += phase.number
        _require(self.c1.is_before(self.c3), "an arrival before the wait for its phase")
        expected = [place.statement.phase for place in (self.p2, self.c3)]
        numbers = [None if phase is None else phase.number for phase in expected]
        _require(numbers == [total, 0], "copies of other bytes than expected")
        _require(self.threads(self.p1).sum() == 1, "several producers")
        self.check_arrival(self.c1, is_convergence)

    def check_progress(self) -> None:
        """Condition 3."""
        bounds = [[l.uppers for l in place.loops] for place in (self.p1, self.c1)]
        _require(bounds[0] == bounds[1], "producer and consumers of other trip counts")
        both = self.threads(self.p1) & self.threads(self.c1)
        _require(not both.any(), "a producer that consumes")
        tops = [place.path[0] for place in (self.p1, self.c1)]
        around = self.kernel.body[min(tops) : max(tops) + 1]
        for node in walk(around):
            is_met = isinstance(node, Barrier) and node.lanes != ALL_LANES
            _require(not is_met, "a barrier of the block beside a ring")
            _require(not isinstance(node, Wait), "a wait beside a ring")

    def check_trips(self) -> None:
        """Condition 4."""
        for place, shift in ((self.p1, 1), (self.c1, 0)):
            trips = _trips(self.kernel, place.loops)
            rank = trips.numbers // self.stages
            phase = place.statement.phase
            odd = trips.holds(None if phase is None else phase.odd)
            is_odd = (rank + shift) % 2 == 1
            _require(np.array_equal(odd, is_odd), "a wait for another phase")
        for place in (*self.producing, self.c1, self.c3):
            self.check_stage(place, place.barrier)

    def check_stage(self, place: Place, access: Access) -> None:
        """The first index of an access is k mod S."""
        trips = _trips(self.kernel, place.loops)
        found = trips.index(access.indices[0])
        is_stage = np.array_equal(found, trips.numbers % self.stages)
        _require(is_stage, "an access to another stage")

    def check_copies(self) -> frozenset[str]:
        """Condition 6; the arrays that the copies write."""
        kernel, boxes = self.kernel, dict[str, list[Integers]]()
        written = {use.access.array for use in kernel.uses if use.access.writes}
        for place in self.copies:
            for access in place.statement.accesses[1:]:
                if not access.writes:
                    _require(access.array not in written, "a copy from what is written")
                    continue
                _require(kernel.is_of_block(access.array), "a ring of other blocks")
                self.check_stage(place, access)
                boxes.setdefault(access.array, []).append(_box(kernel, access))
        for each in boxes.values():
            cells = np.concatenate(each)
            _require(len(np.unique(cells)) == len(cells), "copies that overlap")
        return frozenset(boxes)

    def check_read(self, place: Place, access: Access) -> None:
        """Condition 7."""
        of = place.statement
        is_special = of.tag or of.grouped or of.joined or of.bulk or of.phase
        is_read = not (access.writes or access.atomic or is_special)
        _require(is_read, "a ring that is written")
        is_here = place.path[:-1] == self.c1.path[:-1]
        _require(is_here and self.c1.is_before(place), "a read before its wait")
        _require(place.is_before(self.c3), "a read that no arrival follows")
        self.check_stage(place, access)
        self.check_arrival(place, completes_reads)

    def check_arrival(self, place: Place, meets: Meets) -> None:
        """Each thread at a place arrives behind it, or a lane that it meets before.

        ``meets``: whether a barrier of warps counts, by its distance from the place.
        """
        threads, arriving = self.threads(place), self.threads(self.c3)
        if (threads <= arriving).all():
            return
        at = place.path[-1]
        until = self.c3.path[len(place.path) - 1]
        between = enumerate(place.body[at + 1 : until], 1)
        is_met = any(_is_of_warps(n) and meets(n, distance) for distance, n in between)
        _require(is_met, "no barrier of the warp before an arrival")
        _require(_warps(threads) <= _warps(arriving), "a warp that does not arrive")


def _uses_one_barrier(place: Place) -> bool:
    """Whether the first access alone is to an mbarrier, which has one known index."""
    first, *others = place.statement.accesses
    of = place.statement
    is_special = of.tag or of.grouped or of.joined or of.bulk
    is_known = first.must and not (first.span or first.where or None in first.indices)
    is_update = bool(first.atomic) == (place.turn is not Turn.INIT)
    is_alone = place.turn is Turn.COPY or not others
    is_once = all(access.array != first.array for access in others)
    is_plain = is_known and is_update and first.writes and not is_special
    return is_plain and is_alone and is_once


def _orders_block(node: Node) -> bool:
    if not isinstance(node, Barrier) or node.lanes is not None or node.of_grid:
        return False
    return "shared" in node.orders and not node.alone


def _is_of_warps(node: Node) -> TypeGuard[Barrier]:
    if not isinstance(node, Barrier) or node.lanes != ALL_LANES:
        return False
    return not (node.of_grid or node.alone)


def is_convergence(_: Barrier, __: int) -> bool:
    """Whether the lanes of a warp meet there: always."""
    return True


def completes_reads(barrier: Barrier, distance: int) -> bool:
    """Whether reads are over behind a barrier, by its distance from the reads."""
    return "shared" in barrier.orders or (distance == 1 and not barrier.orders)


def _warps(threads: Mask) -> set[int]:
    return set((np.flatnonzero(threads) // WARP).tolist())


def _box(kernel: KernelAccesses, access: Access) -> Integers:
    """The numbers of the cells of a stage that a copy writes, by local iterators."""
    ranges = spans(access)
    grids = np.meshgrid(*(values for _, values in ranges), indexing="ij")
    values = {name: grid for (name, _), grid in zip(ranges, grids, strict=True)}
    extents = kernel.arrays[access.array].shape[1:]
    cells = np.zeros(grids[0].shape if grids else (), np.int64)
    for text, extent in zip(access.indices[1:], extents, strict=True):
        if text is None or not isinstance(extent, int):
            raise UndecidedError("unknown cells of a copy")
        index = formula(text)
        _require(index.variables <= values.keys(), text)
        found = np.asarray(index.value(values))
        is_inside = bool((found >= 0).all() and (found < extent).all())
        _require(is_inside, "a copy out of a stage")
        cells = cells * extent + found
    return cells.reshape(-1)


def _trips(kernel: KernelAccesses, loops: Sequence[Loop]) -> _Trips:
    """Enumerate loops from 0 in steps of 1, whose trip counts do not depend on threads.

    Only that of the outermost one may depend on blocks.
    """
    for loop in loops:
        is_plain = loop.lowers == ("0",) and loop.step == 1 and not loop.opaque
        _require(is_plain and len(loop.uppers) == 1, f"loop {loop.name}")
    extents = [_most(kernel, loop.uppers[0]) for loop in loops[:1]]
    for loop in loops[1:]:
        _require(loop.uppers[0].isdecimal(), f"loop {loop.name}")
        extents.append(int(loop.uppers[0]))
    if prod(extents) > MOST_POINTS:
        raise UndecidedError("too many trips")
    numbers = np.arange(prod(extents))
    grid = np.indices(extents, np.int64).reshape(len(extents), prod(extents))
    values = {loop.name: row for loop, row in zip(loops, grid, strict=True)}
    return _Trips(values, numbers)


def _most(kernel: KernelAccesses, text: str) -> int:
    """The greatest value of a trip count over all blocks."""
    bound = formula(text)
    if not bound.variables <= kernel.blocks.keys():
        raise UndecidedError(text)
    values, _ = kernel.all_blocks(sorted(bound.variables))
    most = int(np.max(bound.value(values)))
    check_bounds(0, most)
    return max(most, 0)
