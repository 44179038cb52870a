"""What each thread knows of the others' past: vector clocks, made only where needed.

All accesses between two synchronising instructions of a batch carry one stamp.  A
thread knows another's access if a chain of releases and acquires leads from there to
it.  A barrier of a whole block makes all its threads know all that was before: for
kernels without any other order, one number for each block says it all.

Where the *async proxy* works, bulk copies and wgmma, a chain must lead through a proxy
fence as well; the second plane of the clocks has only such chains.  An engine that
copies, and each warpgroup's products, count as threads with columns of their own.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from gpucodegen.ptx.types import WARP, Array, Mask

BLOCK, STAMP = 40, 11
"""Where the parts of a mark begin: block, stamp, and code of the thread."""
CODE = (1 << STAMP) - 1
BLOCKS = (1 << 63 - BLOCK) - 1
NEIGHBOURS = BLOCKS - 1
"""In place of a block: several blocks of one cluster."""
STAMPS = (1 << BLOCK - STAMP) - 1
WARP_CODE = 1100
"""Plus a warp's number: the code of several threads of one warp."""
SEVERAL = CODE
"""The code of several threads of a block."""
_ALWAYS = np.iinfo(np.int32).max


class FromElsewhere(Protocol):
    """What lanes have acquired from other blocks."""

    def share(self, lanes: Array) -> None:
        """Lanes meet."""
        ...

    def know(self, lanes: Array, marks: Array) -> Array:
        """Whether lanes know of accesses."""
        ...


class Clocks:
    """The clocks of the lanes of one batch.

    ``fine``: the kernel has other orders than the block's barrier.  ``marks`` holds
    each lane's mark of an access now, ``low`` the least mark that the block's barrier
    does not order before it.
    """

    def __init__(
        self, block: Array, row: Array, threads: int, fine: bool, together: int = 1
    ) -> None:
        self.row, self.threads, self.fine = row, threads, fine
        self.together = together
        """Blocks of a cluster: they touch each other's shared memory."""
        self.foreign = np.zeros(len(row), np.int64)
        """The stamp up to which a lane knows what other blocks of its cluster did."""
        lanes = len(row)
        self.thread = np.arange(lanes) - row * threads
        self.warps = -(-threads // WARP)
        self.columns = (self.warps + 1) * WARP
        self.engine = self.columns - 1
        self.now = 1
        self.floor = np.zeros(int(row[-1]) + 1, np.int64)
        self._base = (block % BLOCKS + 1) << BLOCK
        self._mine = self._base | (self.thread + 1)
        self.releases: FromElsewhere | None = None
        self.seen = np.zeros((2, lanes if fine else 0, self.columns), np.int32)
        self.seen[:, :, threads : self.warps * WARP] = _ALWAYS
        self._restamp()

    def _restamp(self) -> None:
        self.marks = self._mine + (self.now << STAMP)
        self.low = self._base + ((self.floor[self.row] + 1) << STAMP)

    def block_of(self, lane: int) -> int:
        """The block of a lane as marks name it."""
        return int(self._base[lane] >> BLOCK)

    def tick(self) -> None:
        """From now on accesses carry the next stamp."""
        self.now += 1
        if self.now >= STAMPS:
            raise OverflowError("more synchronising instructions than stamps")
        self._restamp()

    def prefix(self, rows: Array) -> Array:
        """The block's part of the marks of blocks, by their rows in the batch."""
        return self._base[rows * self.threads]

    def of(self, row: int, column: int) -> int:
        """The mark of an engine's access now."""
        return int(self._base[row * self.threads]) + (self.now << STAMP) + column + 1

    def meet(self, rows: Array) -> None:
        """All threads of some blocks meet."""
        if self.fine:
            for row in np.flatnonzero(rows):
                own = slice(row * self.threads, (row + 1) * self.threads)
                self.seen[1, own] = self.seen[1, own].max(0)
                if self.releases is not None:
                    self.releases.share(np.arange(own.start, own.stop))
        self.floor[rows] = self.now
        self.tick()

    def meet_cluster(self, lanes: Array, rows: Array) -> None:
        """Lanes of clusters meet, all those of some blocks."""
        self.foreign[lanes] = self.now
        self.meet(np.isin(np.arange(len(self.floor)), rows))

    def released(self, lanes: Array) -> Array:
        """What lanes know together, their own past included: a row for each plane."""
        known = self.seen[:, lanes].max(1)
        known[0, self.thread[lanes]] = self.now
        return known

    def acquire(self, lanes: Array, known: Array) -> None:
        """Let lanes know what others have released."""
        self.seen[:, lanes] = np.maximum(self.seen[:, lanes], known[:, None])

    def fence(self, mask: Mask) -> None:
        """A proxy fence: what these lanes know is ordered for the async proxy."""
        lanes = np.arange(len(self.row)) if mask is None else np.flatnonzero(mask)
        known = np.maximum(self.seen[0, lanes], self.floor[self.row[lanes], None])
        known[np.arange(len(lanes)), self.thread[lanes]] = self.now
        self.seen[1, lanes] = np.maximum(self.seen[1, lanes], known)
        self.tick()

    def unordered(
        self, candidates: Array, others: Array, lanes: Array | None, proxy: bool = False
    ) -> Array:
        """Of accesses that may race those that no chain orders.

        ``candidates`` has a row for each lane, and so may ``others``, the marks of
        earlier accesses.
        """
        if not self.fine or not candidates.any():
            return candidates
        at = np.nonzero(candidates)
        lane = at[0] if lanes is None else lanes[at[0]]
        marks = np.broadcast_to(others, candidates.shape)[at]
        still = candidates.copy()
        still[at] = ~self._knows(lane, marks, proxy)
        return still

    def _knows(self, lane: Array, marks: Array, proxy: bool) -> Array:
        """Whether lanes know of accesses."""
        code, stamp = (marks & CODE) - 1, marks >> STAMP & STAMPS
        same = marks >> BLOCK == self._base[lane] >> BLOCK
        seen = self.seen[int(proxy)]
        known = seen[lane, np.minimum(code, self.engine)]
        if proxy:
            past = self.seen[0][lane, np.minimum(code, self.engine)]
            past = np.maximum(past, self.floor[self.row[lane]])
            known = np.where(code >= self.warps * WARP, past, known)
        crowd = np.flatnonzero(code >= WARP_CODE - 1)
        if len(crowd):
            known = known.copy()
            warps = (
                seen[lane[crowd]].reshape(len(crowd), -1, WARP)[:, : self.warps].min(2)
            )
            warp = code[crowd] + 1 - WARP_CODE
            one = warp < self.warps
            rows = np.arange(len(crowd))
            known[crowd] = np.where(
                one, warps[rows, np.where(one, warp, 0)], warps.min(1)
            )
        known = same & (known >= stamp)
        if self.together > 1:
            near = self._in_cluster(lane, marks >> BLOCK)
            known |= near & (self.foreign[lane] >= stamp)
        if self.releases is not None:
            far = np.flatnonzero(~same & ~known)
            known[far] = self.releases.know(lane[far], marks[far])
        return known

    def _in_cluster(self, lane: Array, blocks: Array) -> Array:
        """Whether blocks of marks are others of the lanes' clusters."""
        rows = np.arange(len(self.floor))
        names = self.prefix(rows) >> BLOCK
        order = np.argsort(names)
        at = np.minimum(np.searchsorted(names[order], blocks), len(rows) - 1)
        row = order[at]
        mates = row // self.together == self.row[lane] // self.together
        there = (names[row] == blocks) & mates & (row != self.row[lane])
        return there | (blocks == NEIGHBOURS)
