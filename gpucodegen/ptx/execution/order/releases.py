"""What threads publish through atomics and flags, within a block and between blocks.

A releasing operation, or an atomic behind a fence, leaves at its place in memory what
its thread knows; whoever reads there and acquires, or reads and fences later, knows it
too.  What a thread has acquired from other blocks its block knows after a barrier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from gpucodegen.ptx.execution.order.clocks import (
    BLOCK,
    CODE,
    SEVERAL,
    STAMP,
    STAMPS,
    WARP_CODE,
    Clocks,
)
from gpucodegen.ptx.types import Array, Mask

Known = dict[int, Array]
"""For some blocks, as marks name them, the last stamp known of each thread.

What is meant for threads of the same block only stands under the negative number.
"""
Published = dict[tuple[str, int], Known]
"""What was left at places of memory, by space and offset."""


def learn(known: Known, more: Known) -> None:
    """Add to what is known."""
    for block, stamps in more.items():
        before = known.get(block)
        if before is not stamps:
            known[block] = stamps if before is None else np.maximum(before, stamps)


class Releases:
    """What the lanes of a batch have published, and acquired from other blocks."""

    def __init__(self, clocks: Clocks, published: Published) -> None:
        self.clocks, self.published = clocks, published
        for place in [p for p in published if p[0] == "shared"]:
            del published[place]  # of the blocks before
        self.fenced: dict[int, tuple[Known, bool]] = {}
        """What a lane knew at its last fence, and whether other blocks may know it."""
        self.pending: defaultdict[int, Known] = defaultdict(dict)
        """What a lane has read of, and will know at its next fence."""
        self.foreign: dict[int, Known] = {}
        """What a lane has acquired from other blocks; lanes that met share it."""

    def _all_known(self, lane: int) -> Known:
        """What a lane knows now, its own past included."""
        clocks = self.clocks
        stamps = np.maximum(clocks.seen[0, lane], clocks.floor[clocks.row[lane]])
        stamps[clocks.thread[lane]] = clocks.now
        return {**self.foreign.get(lane, {}), clocks.block_of(lane): stamps}

    def _acquire(self, lane: int, known: Known) -> None:
        own = self.clocks.block_of(lane)
        foreign = dict(self.foreign.get(lane, {}))
        for block, stamps in known.items():
            if abs(block) == own:
                self.clocks.acquire(np.array([lane]), np.stack([stamps, stamps * 0]))
            elif block > 0:
                learn(foreign, {block: stamps})
        self.foreign[lane] = foreign

    def fence(self, wide: bool, mask: Mask) -> None:
        """A fence of some lanes; ``wide`` ones concern other blocks as well."""
        lanes = range(len(self.clocks.row)) if mask is None else np.flatnonzero(mask)
        for lane in map(int, lanes):
            self._acquire(lane, self.pending.pop(lane, {}))
            self.fenced[lane] = self._all_known(lane), wide
        self.clocks.tick()

    def operate(
        self,
        space: str,
        order: str,
        reads: bool,
        writes: bool,
        lanes: Iterable[int],
        offsets: Iterable[int],
    ) -> None:
        """A strong access of lanes, one after the other, at places of memory."""
        for lane, offset in zip(lanes, offsets, strict=True):
            place = space, offset
            there = self.published.get(place)
            if reads and there:
                if order in ("acquire", "acq_rel"):
                    self._acquire(lane, there)
                else:
                    learn(self.pending[lane], there)
            if not writes:
                continue
            known: Known = {}
            if order in ("release", "acq_rel"):
                known = self._all_known(lane)
            elif lane in self.fenced:
                known, wide = self.fenced[lane]
                own = self.clocks.block_of(lane)
                known = known if wide else {-own: known[own]}
            if reads and there:  # what is read, changed and written goes on being there
                known = dict(known)
                learn(known, there)
            if known:
                self.published[place] = known
            else:
                self.published.pop(place, None)
        self.clocks.tick()

    def share(self, lanes: Array) -> None:
        """Lanes that meet know what each has acquired from other blocks."""
        if not self.foreign:
            return
        everyone = [int(lane) for lane in lanes]
        known = {id(k): k for k in map(self.foreign.get, everyone) if k}
        if len(known) < 2 and all(lane in self.foreign for lane in everyone):
            return
        joint: Known = {}
        for stamps in known.values():
            learn(joint, stamps)
        if joint:
            self.foreign.update(dict.fromkeys(everyone, joint))

    def know(self, lanes: Array, marks: Array) -> Array:
        """Whether lanes know of accesses in other blocks, a mark for each lane."""
        found = np.zeros(len(lanes), bool)
        blocks, code = marks >> BLOCK, marks & CODE
        stamp, most = marks >> STAMP & STAMPS, self.clocks.threads
        crowd = (code == SEVERAL) | (code >= WARP_CODE)
        asking, of = np.unique(lanes, return_inverse=True)
        sources = np.array([id(self.foreign.get(lane)) for lane in asking.tolist()])[of]
        never = np.full(self.clocks.columns, -1)
        for source in np.unique(sources):
            own = np.flatnonzero(sources == source)
            known = self.foreign.get(int(lanes[own[0]]), {})
            asked, at = np.unique(blocks[own], return_inverse=True)
            stamps = np.stack([known.get(block, never) for block in asked.tolist()])
            single = stamps[at, np.where(crowd[own], 0, code[own] - 1)]
            every = stamps[:, :most].min(1)[at]
            found[own] = np.where(crowd[own], every, single) >= stamp[own]
        return found
