"""``mbarrier``: barriers in shared memory, and the bulk copies that they count.

Lanes that poll a barrier go last.  When no others are left and nothing moves, one bulk
copy lands; when none is left either, the kernel hangs, which is a `Fault`.  Copies land
as late as that, so that a missing wait shows.  Data that ordinary stores bring and an
mbarrier orders still look like a race to the checks, which know whole barriers only.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.accesses import Accesses
from gpucodegen.ptx.execution.asynchronous.warpgroups import Warpgroups
from gpucodegen.ptx.execution.groups import LaneGroups
from gpucodegen.ptx.memory import BASE
from gpucodegen.ptx.tensor_maps import TensorMap
from gpucodegen.ptx.translation.sites import Site
from gpucodegen.ptx.types import Array, Mask, Value

_PATIENCE = 8
"""Turns of all polling groups in which nothing moves."""
_UNREADY = 0xFF


@dataclass(slots=True)
class Phase:
    """One barrier: arrivals it expects, arrivals and bytes it misses, its phase."""

    expected: int
    missing: int
    bytes: int = 0
    number: int = 0

    def settle(self) -> None:
        """Enter the next phase if nothing is missing."""
        if self.missing == 0 and self.bytes == 0:
            self.missing, self.number = self.expected, self.number + 1


@dataclass(frozen=True, slots=True)
class BulkCopy:
    """A copy on its way: whither and whence each byte goes, and its barrier.

    Sources count from the start of the arena; -1 stands for a zero.
    """

    target: int
    size: int
    places: Array
    sources: Array
    barrier: int


class MBarriers:
    """The barriers and bulk copies of one batch."""

    def __init__(self, accesses: Accesses, warpgroups: Warpgroups) -> None:
        self.accesses, self.batch = accesses, accesses.batch
        self.warpgroups = warpgroups
        self.phases: dict[int, Phase] = {}
        self.copies: list[BulkCopy] = []
        self.stalled = np.zeros(self.batch.lanes, bool)
        self.polling = False
        self.progress = 0
        self._seen = self._idle = 0
        self._turns: Counter[int] = Counter()

    def _lanes(self, site: Site, address: Value, mask: Mask) -> tuple[Array, Array]:
        """The lanes that take part and the place of the barrier that each names."""
        _, lanes, offsets = self.accesses.resolve(site, address, mask)
        return (np.arange(self.batch.lanes) if lanes is None else lanes), offsets

    def _phase(self, site: Site, lane: int, place: int) -> Phase:
        phase = self.phases.get(place)
        if phase is None:
            text = "an mbarrier that was not initialised"
            self.batch.fault(faults.MBARRIER, text, site.index, lane)
        return phase

    def init(self, site: Site, address: Value, count: Value, mask: Mask) -> None:
        """Make barriers that expect so many arrivals."""
        lanes, places = self._lanes(site, address, mask)
        counts = np.broadcast_to(count, self.batch.lanes)[lanes]
        for place, expected in zip(places.tolist(), counts.tolist(), strict=True):
            self.phases[place] = Phase(expected, expected)
        self.progress += 1

    def arrive(
        self, site: Site, address: Value, count: Value, size: Value, mask: Mask
    ) -> None:
        """So many arrivals of each lane, and bytes that are still to come."""
        lanes, places = self._lanes(site, address, mask)
        counts, sizes = (
            np.broadcast_to(v, self.batch.lanes)[lanes].tolist() for v in (count, size)
        )
        rows = zip(lanes.tolist(), places.tolist(), counts, sizes, strict=True)
        for lane, place, arrivals, nbytes in rows:
            phase = self._phase(site, lane, place)
            phase.bytes += nbytes
            phase.missing -= arrivals
            if phase.missing < 0:
                text = "more arrivals at an mbarrier than it expects"
                self.batch.fault(faults.MBARRIER, text, site.index, lane)
            phase.settle()
        self.progress += 1

    def wait(self, site: Site, address: Value, parity: Value, mask: Mask) -> Array:
        """Whether the phase of a parity is over; lanes for which it is not poll."""
        lanes, places = self._lanes(site, address, mask)
        parities = np.broadcast_to(parity, self.batch.lanes)[lanes] & 1
        different, row = np.unique(places, return_inverse=True)
        now = [
            self._phase(site, int(lanes[np.argmax(places == place)]), int(place)).number
            for place in different
        ]
        done = np.zeros(self.batch.lanes, bool)
        done[lanes] = (np.array(now)[row] & 1) != parities
        self.stalled[lanes] = ~done[lanes]
        self.polling = bool(self.stalled.any())
        return done

    def copy(
        self,
        target: Site,
        to: Value,
        source: Site,
        of: Value,
        size: Value,
        barrier: Site,
        at: Value,
        mask: Mask,
    ) -> None:
        """Start a bulk copy of each lane, whose bytes a barrier counts."""
        lanes, targets = self._lanes(target, to, mask)
        _, places = self._lanes(barrier, at, mask)
        every = self.batch.lanes
        sources = np.broadcast_to(of, every)[lanes] + (source.offset - BASE)
        sizes = np.broadcast_to(size, every)[lanes].tolist()
        rows = zip(
            lanes.tolist(), targets.tolist(), sources.tolist(), sizes, places.tolist(),
            strict=True,
        )  # fmt: skip
        for lane, begin, origin, nbytes, place in rows:
            self._check_source(target, lane, origin, nbytes)
            each = np.arange(int(nbytes))
            copy = BulkCopy(begin, nbytes, each, origin + each, place)
            self._start(target, lane, copy)

    def tensor_copy(
        self,
        target: Site,
        to: Value,
        descriptor: Value,
        corner: tuple[Value, ...],
        barrier: Site,
        at: Value,
        mask: Mask,
    ) -> None:
        """Start copies of boxes of tensors, whose bytes a barrier counts."""
        lanes, targets = self._lanes(target, to, mask)
        _, places = self._lanes(barrier, at, mask)
        every = self.batch.lanes
        maps = np.broadcast_to(descriptor, every)[lanes].tolist()
        corners = np.stack([np.broadcast_to(c, every)[lanes] for c in corner], -1)
        rows = zip(
            lanes.tolist(), targets.tolist(), maps, corners.tolist(), places.tolist(),
            strict=True,
        )  # fmt: skip
        for lane, begin, address, place_in_tensor, place in rows:
            tensor = self.batch.launch.memory.descriptors.get(address)
            if not isinstance(tensor, TensorMap) or len(tensor.box) != len(corner):
                text = f"no tensor map of {len(corner)} dimensions at {address:#x}"
                self.batch.fault(faults.OUT_OF_BOUNDS, text, target.index, lane)
            own = begin - int(self.accesses.shared_start[lane])
            if own % tensor.alignment:
                text = f"misaligned tensor copy to {own:#x}, not {tensor.alignment}"
                self.batch.fault(faults.MISALIGNED, text, target.index, lane)
            sources = tensor.bytes_at(tuple(place_in_tensor))
            copy = BulkCopy(begin, tensor.nbytes, tensor.places(own), sources, place)
            self._start(target, lane, copy)

    def _check_source(self, site: Site, lane: int, source: int, size: int) -> None:
        memory = self.batch.launch.memory
        if source & 15 or size & 15:
            text = f"misaligned bulk copy of {size} bytes"
            self.batch.fault(faults.MISALIGNED, text, site.index, lane)
        if memory.outside(np.array([source]), size) is not None:
            where = memory.nearest(source + BASE)
            text = f"bulk copy of {size} bytes out of bounds ({where})"
            self.batch.fault(faults.OUT_OF_BOUNDS, text, site.index, lane)

    def _start(self, site: Site, lane: int, copy: BulkCopy) -> None:
        """Put a copy on its way; its destination is poisoned until it lands."""
        accesses, stop = self.accesses, copy.target + copy.size
        self._phase(site, lane, copy.barrier)
        if stop > accesses.shared_end + int(accesses.shared_start[lane]):
            text = f"bulk copy of {copy.size} bytes beyond shared memory"
            self.batch.fault(faults.OUT_OF_BOUNDS, text, site.index, lane)
        lock = self.warpgroups.locked(copy.target, stop)
        if lock is not None:
            line = self.batch.launch.entry.instructions[lock.site].line
            text = f"bulk copy over an operand of line {line}, which is still read"
            self.batch.fault(faults.IN_FLIGHT, text, site.index, lane)
        accesses.shared[copy.target : stop] = _UNREADY
        marks = accesses.marks.get("shared")
        if marks is not None:
            marks.start_bulk(copy.target, copy.size)
        self.copies.append(copy)

    def _land(self) -> None:
        """Let the oldest bulk copy arrive."""
        copy, memory = self.copies.pop(0), self.batch.launch.memory
        data = np.where(copy.sources < 0, np.uint8(0), memory.data[copy.sources])
        self.accesses.shared[copy.target + copy.places] = data
        marks = self.accesses.marks.get("shared")
        if marks is not None:
            marks.land_bulk(copy.target, copy.size)
        phase = self.phases[copy.barrier]
        phase.bytes -= copy.size
        phase.settle()
        self.progress += 1

    def next(self, groups: LaneGroups) -> int:
        """The block that runs next while some lanes poll."""
        free = groups.running(self.stalled)
        if free:
            return min(free)
        number = min(groups.at, key=lambda block: (self._turns[block], block))
        self._turns[number] += 1
        self._idle = self._idle + 1 if self._seen == self.progress else 0
        self._seen = self.progress
        if self._idle > _PATIENCE * (len(groups.at) + 1):
            self._idle = 0
            if not self.copies:
                self._hang(number)
            self._land()
        return number

    def _hang(self, number: int) -> None:
        text = "deadlock: nothing is left that could end the phase waited for"
        index = self.batch.launch.program.ranges[number][0]
        lane = int(np.argmax(self.stalled))
        self.batch.fault(faults.DEADLOCK, text, index, lane)
