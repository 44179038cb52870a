"""Clusters: blocks that see each other's shared memory, and their barrier.

Blocks of a cluster run side by side.  The shared memory of another block has addresses
of its own, with the block's rank above bit 24.
"""

from __future__ import annotations

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.lanes import BatchLanes
from gpucodegen.ptx.translation.sites import RANK, Site
from gpucodegen.ptx.types import Array, Mask, Value


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
        """Addresses of the same places in the shared memory of blocks with a rank."""
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
        """The rank of the block in whose shared memory each address lies."""
        high = address >> address.dtype.type(RANK) & address.dtype.type(0xFF)
        found: Array = np.where(high == 0, self.rank, high - 1)
        return found.astype("i4")

    def rows(self, site: Site, lanes: Array | None, address: Array) -> Array:
        """The block of the batch in whose shared memory each lane's address lies."""
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
        """Blocks of which all threads have ended."""
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
        """Which lanes may go on now, and from which instruction."""
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
        """Fault if lanes still wait when nothing runs any more."""
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
    """The numbers of a grid's blocks, those of one cluster behind each other.

    >>> cluster_order((4, 2, 1), (2, 2, 1)).tolist()
    [0, 1, 4, 5, 2, 3, 6, 7]
    """
    numbers = np.arange(grid[0] * grid[1] * grid[2]).reshape(grid[::-1])
    (x, y, z), (i, j, k) = grid, cluster
    parts = numbers.reshape(z // k, k, y // j, j, x // i, i)
    return parts.transpose(0, 2, 4, 1, 3, 5).reshape(-1)
