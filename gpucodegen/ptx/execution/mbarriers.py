"""Emulation of ``mbarrier`` and of the bulk copies that complete on one.

Lanes that poll a barrier run last.  When no other lanes are left, the bulk copies of
one phase land; when there are none, the kernel hangs, which is a `Fault`. Copies land
that late so that a missing wait is found.  An arrival releases what its thread has
done, and the wait that sees its phase complete acquires it.
"""

from __future__ import annotations

from collections import Counter

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.accesses import Accesses
from gpucodegen.ptx.execution.barriers import Barriers
from gpucodegen.ptx.execution.cost import READS
from gpucodegen.ptx.execution.lanes import LaneGroups
from gpucodegen.ptx.execution.matrices import Warpgroups
from gpucodegen.ptx.execution.shadow_memory import ShadowMemory
from gpucodegen.ptx.execution.vector_clocks import CODE
from gpucodegen.ptx.memory import BASE, TensorMap
from gpucodegen.ptx.translation.operands import SHARED_START, Site
from gpucodegen.ptx.types import Array, Mask, Value
from gpucodegen.records import dataclass

_ASKING, _PATIENCE = 2, 8
"""Turns of all polling groups in which nothing moves, before copies land, or none can.
"""
_UNREADY = 0xFF
NOTHING: Array = np.zeros(0, np.int64)
"""The bytes of a copy whose data nothing depends on."""
Place = tuple[Site, Value]
"""An operand of an instruction, and its address in each lane."""
_COUNT = 24
"""The bit of a state from which on it holds the number of its phase."""


@dataclass(slots=True)
class Phase:
    """The state of one barrier: expected and pending arrivals, pending bytes, phase."""

    expected: int
    missing: int
    bytes: int = 0
    number: int = 0
    made: int = 0
    """The mark of the thread that initialised it."""
    coming: Array | None = None
    """Clocks released by arrivals in this phase; ``known``: in earlier phases."""
    known: Array | None = None
    foreign: tuple[int, int] = (0, 0)
    """The stamp of the last arrival from another block: in this phase, and before."""

    def learn(self, known: Array) -> None:
        """Adds the clocks that an arrival releases."""
        before = known if self.coming is None else self.coming
        self.coming = np.maximum(before, known)

    def settle(self) -> None:
        """Enters the next phase if no arrival or byte is pending."""
        if self.missing == 0 and self.bytes == 0:
            self.missing, self.number = self.expected, self.number + 1
            self.known = self.coming
            self.foreign = self.foreign[0], self.foreign[0]

    def __str__(self) -> str:
        if self.missing and not self.bytes:
            return f"{self.missing} of {self.expected} arrivals are missing"
        more = "missing" if self.bytes > 0 else "more than expected"
        return f"{self.missing} arrivals are missing and {abs(self.bytes)} bytes {more}"


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """A copy in flight: source and target of each byte, and its barrier.

    Sources count from the start of the arena; -1 stands for a zero.
    """

    target: int
    size: int
    places: Array
    sources: Array
    before: Array
    """The contents of the sources at the start."""
    barrier: int
    lane: int
    site: int
    """Number of the instruction."""
    of_shared: bool = False
    """Whether sources count from the start of shared memory."""


class MBarriers:
    """The barriers and bulk copies of one batch."""

    def __init__(
        self, accesses: Accesses, warpgroups: Warpgroups, barriers: Barriers
    ) -> None:
        self.accesses, self.batch = accesses, accesses.batch
        self.warpgroups, self.barriers = warpgroups, barriers
        self.phases: dict[int, Phase] = {}
        self.copies: list[BulkCopy] = []
        self.clocks = self.batch.clocks
        self._moves_data = self.batch.launch.program.moves_data
        self.stalled = np.zeros(self.batch.lanes, bool)
        self.polled = np.zeros(self.batch.lanes, np.int64)
        """The instruction at which a lane polls, the barrier's place, the parity."""
        self.place = np.zeros(self.batch.lanes, np.int64)
        self.parity = np.zeros(self.batch.lanes, np.int64)
        self.polling = False
        self.progress = 0
        self._seen = self._idle = 0
        self._turns: Counter[int] = Counter()

    def _lanes(self, site: Site, address: Value, mask: Mask) -> tuple[Array, Array]:
        """The active lanes and the place of the barrier that each names."""
        _, lanes, offsets = self.accesses.resolve(site, address, mask)
        return (np.arange(self.batch.lanes) if lanes is None else lanes), offsets

    def _ends(
        self, target: Place, barrier: Place, mask: Mask
    ) -> tuple[Array, Array, Array]:
        """Active lanes, and their addresses of a copy's target and its barrier."""
        return *self._lanes(*target, mask), self._lanes(*barrier, mask)[1]

    def _phase(self, site: Site, lanes: Array, place: int) -> Phase:
        """The barrier at a place, as far as these lanes know of its initialisation."""
        phase, clocks = self.phases.get(place), self.clocks
        if phase is None:
            text = "an mbarrier that was not initialised"
            self.batch.fault(faults.MBARRIER, text, site.index, int(lanes[0]))
        near = phase.made >= clocks.low[lanes]
        near &= (phase.made ^ clocks.marks[lanes]) & CODE != 0
        if clocks.fine:
            unknown = clocks.unordered(near, np.array(phase.made), lanes)
            if unknown.any():
                text = "nothing orders this behind the initialisation of the mbarrier"
                lane = int(lanes[np.argmax(unknown)])
                self.batch.fault(faults.RACE, text, site.index, lane)
        return phase

    def init(self, site: Site, address: Value, count: Value, mask: Mask) -> None:
        """Initialises barriers with an expected arrival count."""
        lanes, places = self._lanes(site, address, mask)
        counts = np.broadcast_to(count, self.batch.lanes)[lanes]
        rows = zip(lanes.tolist(), places.tolist(), counts.tolist(), strict=True)
        for lane, place, expected in rows:
            made = int(self.clocks.marks[lane])
            self.phases[place] = Phase(expected, expected, made=made)
        self.progress += 1

    def arrive(
        self,
        site: Site,
        address: Value,
        count: Value,
        size: Value,
        releases: bool,
        mask: Mask,
        drops: bool = False,
    ) -> Array:
        """Arrives ``count`` times per lane, and expects ``size`` more bytes.

        The result encodes the phase number and its pending arrivals. ``drops``: later
        phases expect no arrivals of these lanes.
        """
        lanes, places = self._lanes(site, address, mask)
        counts, sizes = (
            np.broadcast_to(v, self.batch.lanes)[lanes].tolist() for v in (count, size)
        )
        releases = releases and self.clocks.fine
        told: set[int] = set()
        for place in np.unique(places) if releases else ():
            own = places == place
            phase = self._phase(site, lanes[own], int(place))
            if phase.missing >= np.dot(own, counts):  # all arrive in one phase
                self._release(phase, lanes[own], int(place))
                told.add(int(place))
        states = np.zeros(self.batch.lanes, np.int64)
        rows = zip(lanes.tolist(), places.tolist(), counts, sizes, strict=True)
        for lane, place, arrivals, nbytes in rows:
            alone = np.array([lane])
            phase = self._phase(site, alone, place)
            if releases and place not in told:
                self._release(phase, alone, place)
            states[lane] = phase.number << _COUNT | phase.missing
            phase.expected -= arrivals if drops else 0
            phase.bytes += nbytes
            phase.missing -= arrivals
            if phase.missing < 0:
                text = "more arrivals at an mbarrier than it expects"
                self.batch.fault(faults.MBARRIER, text, site.index, lane)
            phase.settle()
        self.progress += 1
        self.clocks.tick()
        return states

    def _release(self, phase: Phase, lanes: Array, place: int) -> None:
        """Publishes the clocks of lanes; for lanes of other blocks, only the stamp."""
        near = lanes[self.batch.row[lanes] == place // self.accesses.block_bytes]
        if len(near):
            phase.learn(self.clocks.released(near))
        stamps = [phase.foreign[0], int(self.clocks.foreign[lanes].max())]
        if len(near) < len(lanes):
            stamps.append(self.clocks.now)
        phase.foreign = max(stamps), phase.foreign[1]

    def wait(
        self,
        site: Site,
        address: Value,
        parity: Value,
        acquires: bool,
        mask: Mask,
        by_state: bool = False,
    ) -> Array:
        """Whether the phase with this parity is complete; other lanes poll.

        ``by_state``: the operand is the state returned by an arrival, not a parity.
        """
        lanes, places = self._lanes(site, address, mask)
        given = np.broadcast_to(parity, self.batch.lanes)[lanes].astype("i8")
        parities = (given >> _COUNT if by_state else given) & 1
        done = np.zeros(self.batch.lanes, bool)
        for place in np.unique(places):
            here = places == place
            phase = self._phase(site, lanes[here], int(place))
            through = lanes[here & (phase.number & 1 != parities)]
            done[through] = True
            if acquires and self.clocks.fine and phase.known is not None:
                self.clocks.acquire(through, phase.known)
            if acquires:
                seen = self.clocks.foreign[through]
                self.clocks.foreign[through] = np.maximum(seen, phase.foreign[1])
        self.stalled[lanes] = ~done[lanes]
        self.polled[lanes], self.place[lanes] = site.index, places
        self.parity[lanes] = parities
        self.polling = bool(self.stalled.any())
        return done

    def copy(
        self,
        target: Place,
        source: Place,
        size: Value,
        barrier: Place,
        ranks: Value | None,
        mask: Mask,
    ) -> None:
        """Starts a bulk copy of each lane that completes on a barrier.

        ``ranks`` has a bit for each block of the cluster that gets the copy.
        """
        lanes, targets, places = self._ends(target, barrier, mask)
        (into, _), (out_of, of) = target, source
        every, near = self.batch.lanes, out_of.space == "shared"
        if near:
            _, sources = self._lanes(*source, mask)
        else:
            sources = np.broadcast_to(of, every)[lanes] + (out_of.offset - BASE)
        sizes = np.broadcast_to(size, every)[lanes].tolist()
        rows = zip(
            lanes.tolist(), targets.tolist(), sources.tolist(), sizes, places.tolist(),
            strict=True,
        )  # fmt: skip
        for lane, begin, origin, nbytes, place in rows:
            each = np.arange(int(nbytes)) if self._moves_data else NOTHING
            if near:
                self.check_shared_source(out_of, lane, origin, int(nbytes))
            else:
                self._check_source(into, lane, origin, nbytes)
                start, mine = np.array([origin]), np.array([lane])
                self.accesses.check("read", "global", out_of, mine, start, nbytes)
                self.accesses.stretched("global", out_of, lane, origin, nbytes)
            self.accesses.stretched("shared", into, lane, begin, nbytes)
            for to_place, at_place in self._aims(lane, begin, place, ranks):
                copy = each, origin + each
                piece = to_place, int(nbytes)
                self._start(into, lane, *piece, *copy, at_place, near)

    def _aims(
        self, lane: int, target: int, barrier: int, ranks: Value | None
    ) -> list[tuple[int, int]]:
        """The places of a copy and its barrier in each block that gets it."""
        if ranks is None:
            return [(target, barrier)]
        size, clusters = self.accesses.block_bytes, self.accesses.clusters
        bits = int(np.broadcast_to(ranks, self.batch.lanes)[lane]) & 0xFFFF
        first = int(self.batch.row[lane] - clusters.rank[lane]) - target // size
        ways = [(first + r) * size for r in range(clusters.size) if bits >> r & 1]
        return [(target + way, barrier + way) for way in ways]

    def check_shared_source(
        self, site: Site, lane: int, start: int, size: int, used: Array | None = None
    ) -> None:
        """Raises a fault if the async proxy must not read these bytes of shared memory.

        ``used``: the bytes that are copied, if not all are.
        """
        accesses = self.accesses
        if size & 15 or start + size > accesses.end_of(start):
            text = f"bulk copy of {size} bytes from shared memory, or beyond it"
            self.batch.fault(faults.OUT_OF_BOUNDS, text, site.index, lane)
        marks = accesses.marks.get("shared")
        if marks is not None:
            offsets = np.arange(size) if used is None else used
            clash = marks.read_by_engine(self.clocks, start + offsets, lane)
            if clash is not None:
                self.batch.fault(clash.kind, clash.message, site.index, lane)

    def tensor_copy(
        self,
        target: Place,
        descriptor: Value,
        corner: tuple[Value, ...],
        barrier: Place,
        ranks: Value | None,
        mask: Mask,
    ) -> None:
        """Starts copies of tensor boxes that complete on a barrier."""
        lanes, targets, places = self._ends(target, barrier, mask)
        into, every = target[0], self.batch.lanes
        maps = np.broadcast_to(descriptor, every)[lanes].tolist()
        corners = np.stack([np.broadcast_to(c, every)[lanes] for c in corner], -1)
        rows = zip(
            lanes.tolist(), targets.tolist(), maps, corners.tolist(), places.tolist(),
            strict=True,
        )  # fmt: skip
        for lane, begin, address, place_in_tensor, place in rows:
            tensor, own = self.tensor(into, lane, address, len(corner), begin)
            self.accesses.boxed(READS, tensor)
            copy = NOTHING, NOTHING
            if self._moves_data:
                copy = tensor.places(own), tensor.bytes_at(tuple(place_in_tensor))
            for to_place, at_place in self._aims(lane, begin, place, ranks):
                self._start(into, lane, to_place, tensor.nbytes, *copy, at_place)

    def tensor(
        self, site: Site, lane: int, address: int, rank: int, place: int
    ) -> tuple[TensorMap, int]:
        """The tensor map at an address, and the shared address of its box."""
        tensor = self.batch.launch.memory.descriptors.get(address)
        if not isinstance(tensor, TensorMap) or len(tensor.box) != rank:
            text = f"no tensor map of {rank} dimensions at {address:#x}"
            self.batch.fault(faults.OUT_OF_BOUNDS, text, site.index, lane)
        own = place % self.accesses.block_bytes + SHARED_START
        if own % tensor.alignment:
            text = f"misaligned tensor copy to {own:#x}, not {tensor.alignment}"
            self.batch.fault(faults.MISALIGNED, text, site.index, lane)
        return tensor, own

    def _check_source(self, site: Site, lane: int, source: int, size: int) -> None:
        memory = self.batch.launch.memory
        if source & 15 or size & 15:
            text = f"misaligned bulk copy of {size} bytes"
            self.batch.fault(faults.MISALIGNED, text, site.index, lane)
        if memory.outside(np.array([source]), size) is not None:
            where = memory.nearest(source + BASE)
            text = f"bulk copy of {size} bytes out of bounds ({where})"
            self.batch.fault(faults.OUT_OF_BOUNDS, text, site.index, lane)

    def _start(
        self,
        site: Site,
        lane: int,
        target: int,
        size: int,
        places: Array,
        sources: Array,
        barrier: int,
        of_shared: bool = False,
    ) -> None:
        """Queues a copy; its destination is poisoned until it lands."""
        accesses, stop = self.accesses, target + size
        self._phase(site, np.array([lane]), barrier)
        if stop > accesses.end_of(target):
            text = f"bulk copy of {size} bytes beyond shared memory"
            self.batch.fault(faults.OUT_OF_BOUNDS, text, site.index, lane)
        lock = self.warpgroups.locked(target, stop)
        if lock is not None:
            line = self.batch.launch.entry.instructions[lock.site].line
            text = f"bulk copy over an operand of line {line}, which is still read"
            self.batch.fault(faults.IN_FLIGHT, text, site.index, lane)
        marks = accesses.marks.get("shared")
        if marks is not None:
            clash = marks.start_bulk(self.clocks, target, size, lane)
            if clash is not None:
                self.batch.fault(clash.kind, clash.message, site.index, lane)
        accesses.shared[target : target + len(sources)] = _UNREADY
        before = self._data(sources, of_shared)
        way = target, size, places, sources, before, barrier, lane, site.index
        self.copies.append(BulkCopy(*way, of_shared))

    def _data(self, sources: Array, of_shared: bool) -> Array:
        """The present bytes of the sources of a copy."""
        if of_shared:
            return self.accesses.shared[sources]
        memory = self.batch.launch.memory.data
        return np.where(sources < 0, np.uint8(0), memory[sources])

    def _land(self) -> None:
        """Lands the copies that complete one phase in each block, the oldest first.

        Copies that some lane waits for land first, so a copy without a wait is still in
        flight when others have landed.
        """
        asked = set(self.place[self.stalled].tolist())
        awaited = [c for c in self.copies if c.barrier in asked] or self.copies[:1]
        size = self.accesses.block_bytes
        first = {c.barrier // size: c.barrier for c in reversed(awaited)}
        now = {place: self.phases[place].number for place in first.values()}
        kept: list[BulkCopy] = []
        for copy in self.copies:
            phase = self.phases[copy.barrier]
            if now.get(copy.barrier) == phase.number:
                self._arrive(copy, phase)
            else:
                kept.append(copy)
        self.copies = kept

    def _arrive(self, copy: BulkCopy, phase: Phase) -> None:
        """Lands one bulk copy."""
        data = self._data(copy.sources, copy.of_shared)
        self.accesses.shared[copy.target + copy.places] = data
        marks = self.accesses.marks.get("shared")
        if marks is not None:
            if (data != copy.before).any():
                text = "the source of a copy was overwritten before it arrived"
                self.batch.fault(faults.IN_FLIGHT, text, copy.site, copy.lane)
            self._tell_arrival(marks, copy, phase)
        phase.bytes -= copy.size
        phase.settle()
        self.progress += 1

    def _tell_arrival(self, marks: ShadowMemory, copy: BulkCopy, phase: Phase) -> None:
        """Lets later waits for the barrier acquire the landed bytes."""
        clocks = self.clocks
        clocks.tick()
        row = copy.target // self.accesses.block_bytes
        mark = clocks.of(row, clocks.engine)
        marks.land_bulk(copy.target, copy.size, mark)
        known = np.zeros((2, clocks.columns), np.int32)
        known[:, clocks.engine] = clocks.now
        phase.learn(known)
        clocks.tick()

    def check_end(self) -> None:
        """Raises a fault if the kernel ends before its copies have landed."""
        if self.copies and self.accesses.marks:
            copy = self.copies[0]
            text = "the kernel ends with a copy that nobody has waited for"
            self.batch.fault(faults.IN_FLIGHT, text, copy.site, copy.lane)

    def next(self, groups: LaneGroups) -> int:
        """The block that runs next while some lanes poll."""
        free = groups.running(self.stalled)
        if free:
            return min(free, key=groups.ranks.__getitem__)
        if self._seen != self.progress:  # all may have become free: ask each again
            self._turns.clear()
            self._idle = 0
        awake = self._awake(groups)
        if not awake and self.copies and not self.accesses.marks:
            self._land()
            awake = self._awake(groups)

        def turn(block: int) -> tuple[int, int]:
            return self._turns[block] + (block not in awake), groups.ranks[block]

        number = min(groups.at, key=turn)
        self._turns[number] += 1
        self._idle += 1
        self._seen = self.progress
        patience = _ASKING if self.copies else _PATIENCE
        if self._idle > patience * (len(groups.at) + 1):
            self._idle = 0
            if not self.copies:
                self._hang()
            self._land()
        return number

    def _awake(self, groups: LaneGroups) -> set[int]:
        """Blocks with lanes that do not poll, or whose awaited phase is complete."""
        waiting = self.stalled.copy()
        for place in np.unique(self.place[waiting]).tolist():
            passed = self.parity != self.phases[place].number & 1
            waiting &= ~(passed & (self.place == place))
        at = groups.at.items()
        return {b for b, mask in at if not waiting[... if mask is None else mask].all()}

    def _hang(self) -> None:
        """Raises the fault of a deadlock, with the place where each thread waits."""
        batch, lane = self.batch, int(np.argmax(self.stalled))
        row, index = int(batch.row[lane]), int(self.polled[lane])
        own = self.stalled & (batch.row == row)
        places = [
            batch.whereabouts(int(site), own & (self.polled == site))
            for site in np.unique(self.polled[own])
        ]
        places += self.barriers.places(row)
        why = self.phases[int(self.place[lane])]
        text = f"deadlock: {why}; {'; '.join(places)}"
        batch.fault(faults.DEADLOCK, text, index, lane)
