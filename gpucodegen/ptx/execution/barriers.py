"""Barriers of a block, numbered barriers with thread counts, and cluster barriers.

Blocks of a cluster run side by side.  The shared memory of another block of the cluster
has addresses of its own, with the block's rank above bit 24.
"""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.lanes import BatchLanes
from gpucodegen.ptx.translation.operands import RANK, Site
from gpucodegen.ptx.types import Array, Mask, Value
from gpucodegen.records import dataclass


class Clusters:
    """The clusters of one batch; ``size`` is the number of blocks of each."""

    def __init__(self, batch: BatchLanes) -> None:
        self.batch = batch
        self.size = batch.launch.cluster_blocks
        self.rank = batch.row % self.size
        self.arrivals = np.zeros(batch.lanes, np.int64)
        """How often each lane has arrived at its cluster's barrier."""
        self.passed = np.zeros(batch.lanes, np.int64)
        self.waiting = np.full(batch.lanes, -1)
        """The instruction at which a lane waits."""

    def mapped(self, index: int, address: Value, rank: Value, mask: Mask) -> Value:
        """``mapa``: the same addresses in the shared memory of blocks with a rank."""
        beyond = rank >= self.size
        beyond = beyond if mask is None else beyond & mask
        if beyond.any():
            lane = int(np.argmax(np.broadcast_to(beyond, self.batch.lanes)))
            text = f"a block's rank in a cluster of {self.size}"
            self.batch.fault(faults.OUT_OF_BOUNDS, text, index, lane)
        kind = address.dtype.type
        low = kind((1 << RANK) - 1)
        window = (address >> kind(31) >> kind(1)) << kind(31) << kind(1)
        return window | address & low | (rank.astype(kind) + kind(1)) << kind(RANK)

    def ranks(self, address: Value) -> Value:
        """The rank of the block whose shared memory an address is in."""
        high = address >> address.dtype.type(RANK) & address.dtype.type(0xFF)
        found: Array = np.where(high == 0, self.rank, high - 1)
        return found.astype("i4")

    def rows(self, site: Site, lanes: Array | None, address: Array) -> Array:
        """The block of the batch whose shared memory an address is in."""
        high = address >> RANK
        own = self.batch.row if lanes is None else self.batch.row[lanes]
        rank = self.rank if lanes is None else self.rank[lanes]
        wanted = np.where(high == 0, rank, high - 1)
        row = own - rank + wanted
        wrong = (wanted >= self.size) | ((site.space == "shared") & (wanted != rank))
        gone = ~wrong & self._ended()[np.where(wrong, own, row)]
        if (wrong | gone).any():
            at = int(np.argmax(wrong | gone))
            lane = at if lanes is None else int(lanes[at])
            text = f"access to shared memory of the block with rank {int(wanted[at])}"
            reason = "which has ended" if gone[at] else "not through shared::cluster"
            self.batch.fault(
                faults.OUT_OF_BOUNDS, f"{text}, {reason}", site.index, lane
            )
        return row

    def _ended(self) -> Array:
        """Blocks whose threads have all ended."""
        ended: Array = np.all(self.batch.exited.reshape(self.batch.blocks, -1), 1)
        return ended

    def arrive(self, index: int, mask: Mask) -> None:
        """``barrier.cluster.arrive``: lanes do not wait yet."""
        live = self._live(mask)
        twice = live & (self.arrivals > self.passed)
        if twice.any():
            text = "barrier.cluster.arrive again, with no wait in between"
            lane = int(np.argmax(twice))
            self.batch.fault(faults.DIVERGENT_BARRIER, text, index, lane)
        self.arrivals[live] += 1

    def wait(self, index: int, mask: Mask) -> None:
        """``barrier.cluster.wait``: lanes wait until all have arrived."""
        live = self._live(mask)
        early = live & (self.arrivals == self.passed)
        if early.any():
            text = "barrier.cluster.wait by a thread that has not arrived"
            lane = int(np.argmax(early))
            self.batch.fault(faults.DIVERGENT_BARRIER, text, index, lane)
        self.waiting[live] = index

    def opened(self) -> list[tuple[int, Mask]]:
        """The lanes that may go on, and their instruction."""
        if not (self.waiting >= 0).any():
            return []
        batch = self.batch
        never = np.iinfo(np.int64).max
        counts = np.where(batch.exited, never, self.arrivals)
        done = counts.reshape(-1, self.size * batch.threads).min(1)
        over = np.repeat(done, self.size * batch.threads)
        free = (self.waiting >= 0) & (self.arrivals <= over)
        if not free.any():
            return []
        self.passed[free] += 1
        batch.clocks.meet_cluster(free, np.unique(batch.row[free]))
        found: list[tuple[int, Mask]] = []
        for site in np.unique(self.waiting[free]):
            lanes = free & (self.waiting == site)
            found.append((int(site), None if lanes.all() else lanes))
        self.waiting[free] = -1
        return found

    def check_end(self) -> None:
        """Raises a fault if lanes still wait when no lane can run."""
        waiting = self.waiting >= 0
        if not waiting.any():
            return
        lane = int(np.argmax(waiting))
        places = [
            self.batch.whereabouts(int(site), self.waiting == site)
            for site in np.unique(self.waiting[waiting])
        ]
        missing = (self.arrivals < self.arrivals[lane]) & ~self.batch.exited
        mates = self.batch.row // self.size == self.batch.row[lane] // self.size
        count = np.count_nonzero(missing & mates)
        text = f"barrier.cluster: {count} threads never arrive ({'; '.join(places)})"
        index = int(self.waiting[lane])
        self.batch.fault(faults.DIVERGENT_BARRIER, text, index, lane)

    def _live(self, mask: Mask) -> Array:
        return np.ones(self.batch.lanes, bool) if mask is None else mask


def cluster_order(grid: tuple[int, int, int], cluster: tuple[int, int, int]) -> Array:
    """The numbers of a grid's blocks, cluster by cluster.

    >>> cluster_order((4, 2, 1), (2, 2, 1)).tolist()
    [0, 1, 4, 5, 2, 3, 6, 7]
    """
    numbers = np.arange(grid[0] * grid[1] * grid[2]).reshape(grid[::-1])
    (x, y, z), (i, j, k) = grid, cluster
    parts = numbers.reshape(z // k, k, y // j, j, x // i, i)
    return parts.transpose(0, 2, 4, 1, 3, 5).reshape(-1)


_NUMBERS = 16


@dataclass(slots=True)
class Gathering:
    """A barrier of one block at which some threads have arrived, but not all."""

    expected: int
    arrived: int
    known: Array | None
    """Clocks released by the arrived lanes, for those who wait."""


class Barriers:
    """Lanes wait until the expected number of threads has arrived."""

    def __init__(self, batch: BatchLanes) -> None:
        self.batch, self.clocks = batch, batch.clocks
        self.blocks, self.threads = batch.blocks, batch.threads
        self.waiting = np.full(batch.lanes, -1)
        """The instruction at which a lane waits."""
        self.number = np.zeros(batch.lanes, np.int8)
        self.gatherings: dict[tuple[int, int], Gathering] = {}
        self._named: tuple[Value, Value | None] = (np.uint32(0), None)
        self._vote: Value | None = None
        self.votes = np.zeros(batch.lanes, bool)
        """What lanes that wait have voted; of those that go on: how many did, and for
        how many of them it held."""
        self.ballots = np.zeros((2, batch.lanes), np.int32)

    def name(
        self, number: Value, count: Value | None = None, vote: Value | None = None
    ) -> None:
        """Sets the barrier at which lanes arrive next, and its thread count."""
        self._named, self._vote = (number, count), vote

    def arrive(self, index: int, mask: Mask) -> list[tuple[int, Mask]]:
        """Lanes arrive at an instruction; returns the released lanes by instruction."""
        instruction = self.batch.launch.entry.instructions[index]
        waits = "arrive" not in instruction.modifiers
        (number, count), self._named = self._named, (np.uint32(0), None)
        vote, self._vote = self._vote, None
        plain = count is None and waits and number.ndim == 0 and vote is None
        if plain and mask is None and not self.gatherings:
            self.clocks.meet(np.ones(self.blocks, bool))
            return [(index, None)]
        every = self.batch.lanes
        live = np.ones(every, bool) if mask is None else mask
        if waits:
            self.waiting[live] = index
        if vote is not None:
            self.votes[live] = np.broadcast_to(vote, every)[live]
        self.number[live] = np.broadcast_to(number, every)[live]
        free = np.zeros(every, bool)
        for row in np.unique(self.batch.row[live]):
            own = np.flatnonzero(live & (self.batch.row == row))
            for which in np.unique(self.number[own]):
                lanes = own[self.number[own] == which]
                counts = None if count is None else np.broadcast_to(count, every)[lanes]
                self._gather(index, int(row), int(which), lanes, counts, free)
        self.clocks.tick()
        opened = [] if waits else [(index, mask)]
        for site in np.unique(self.waiting[free]):
            lanes = free & (self.waiting == site)
            opened.append((int(site), None if lanes.all() else lanes))
        self.waiting[free] = -1
        return opened

    def _gather(
        self,
        index: int,
        row: int,
        number: int,
        lanes: Array,
        counts: Array | None,
        free: Array,
    ) -> None:
        """Counts arrivals of a block's lanes; adds the released lanes to ``free``."""
        expected = self.threads if counts is None else int(counts[0])
        if number >= _NUMBERS or (expected % 32 and counts is not None):
            text = f"barrier {number} of {expected} threads: at most 16, whole warps"
            self._fault(text, index, int(lanes[0]))
        held = self.gatherings.setdefault((row, number), Gathering(expected, 0, None))
        held.arrived += len(lanes)
        short = counts is not None and (counts != expected).any()
        if short or held.expected != expected or held.arrived > expected:
            text = (
                f"divergent barrier {number}: {held.arrived} threads have arrived,"
                f" which expect {held.expected} and {expected}"
            )
            self._fault(text, index, int(lanes[0]))
        if self.clocks.fine:
            known = self.clocks.released(lanes)
            held.known = known if held.known is None else np.maximum(known, held.known)
        if held.arrived == expected:
            del self.gatherings[row, number]
            self._open(row, number, held, free)

    def _open(self, row: int, number: int, held: Gathering, free: Array) -> None:
        own = (self.batch.row == row) & (self.number == number)
        lanes = np.flatnonzero(own & (self.waiting >= 0))
        self._same_place(lanes, held.expected == self.threads)
        free[lanes] = True
        self.ballots[:, lanes] = [[len(lanes)], [np.count_nonzero(self.votes[lanes])]]
        if len(lanes) == self.threads:
            self.clocks.meet(np.arange(self.blocks) == row)
        elif held.known is not None:
            self.clocks.acquire(lanes, held.known)

    def _same_place(self, lanes: Array, whole: bool) -> None:
        """Checks that a warp, or a block at a whole barrier, waits at one place."""
        places = self.waiting[lanes]
        home = np.zeros_like(lanes) if whole else self.batch.warp[lanes]
        _, first, group = np.unique(home, return_index=True, return_inverse=True)
        mixed = places != places[first][group]
        if mixed.any():
            at = int(np.argmax(mixed))
            other = int(places[first][group][at])
            here = int(places[at])
            line = self.batch.launch.entry.instructions[other].line
            text = f"divergent barrier: other threads wait at line {line}"
            self._fault(text, here, int(lanes[at]))

    def _fault(self, text: str, index: int, lane: int) -> NoReturn:
        self.batch.fault(faults.DIVERGENT_BARRIER, text, index, lane)

    def check_end(self) -> None:
        """Raises a fault if lanes still wait when no lane can run."""
        waiting = self.waiting >= 0
        if not waiting.any():
            return
        lane = int(np.argmax(waiting))
        row = int(self.batch.row[lane])
        held = self.gatherings[row, int(self.number[lane])]
        missing = held.expected - held.arrived
        text = f"divergent barrier: {missing} threads never arrive"
        places = self.places(row)
        if len(places) > 1:
            text += f" ({'; '.join(places)})"
        self._fault(text, int(self.waiting[lane]), lane)

    def places(self, row: int) -> list[str]:
        """The places where threads of a block wait, in words."""
        found: list[str] = []
        own = self.batch.row == row
        for index in np.unique(self.waiting[own]):
            if index >= 0:
                lanes = own & (self.waiting == index)
                found.append(self.batch.whereabouts(int(index), lanes))
        return found
