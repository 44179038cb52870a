"""Release/acquire chains through memory, as vector clocks of other blocks.

A releasing operation, or an atomic behind a fence, leaves at its place in memory the
clock of its thread; a thread that reads there and acquires, or fences later, gets that
clock. Clocks acquired from other blocks reach the whole block after a barrier.

Clocks are immutable and shared.  In a grid barrier, each block publishes its own stamps
together with all that it has read of the others, and then all blocks acquire the same
clock.  `joined` returns one of its operands where that knows all that the other knows,
so the stamps of a block are stored once, and all blocks refer to one joint clock.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np

from gpucodegen.ptx.execution.vector_clocks import (
    BLOCK,
    CODE,
    SEVERAL,
    STAMP,
    STAMPS,
    WARP_CODE,
    VectorClocks,
)
from gpucodegen.ptx.types import WARP, Array, Mask
from gpucodegen.records import dataclass


@dataclass(frozen=True, slots=True, eq=False)
class Stamps:
    """The last known stamp of each thread and engine of a block.

    ``least`` and ``most`` are of its threads, ``engines`` of its engines.
    """

    values: Array
    least: int
    most: int
    engines: tuple[int, int]

    @staticmethod
    def of(values: Array, threads: int) -> Stamps:
        """Columns between the threads and the next whole warp stand for no thread."""
        own, engines = values[:threads], values[-(-threads // WARP) * WARP :]
        extremes = int(engines.min()), int(engines.max())
        return Stamps(values, int(own.min()), int(own.max()), extremes)

    def covers(self, other: Stamps) -> bool:
        """Whether it is certain that these stamps are not before the others."""
        return self.least >= other.most and self.engines[0] >= other.engines[1]


Known = dict[int, Stamps]
"""For some blocks, by their number in marks, the last known stamps; not changed.

What is meant for threads of the same block only stands under the negative number.
"""
Published = dict[tuple[str, int], Known]
"""Clocks released at places of memory, by space and offset."""
NOTHING: Known = {}


class Releases:
    """Clocks that lanes of a batch have released, and acquired from other blocks."""

    def __init__(self, clocks: VectorClocks, published: Published) -> None:
        self.clocks, self.published = clocks, published
        for place in [p for p in published if p[0] == "shared"]:
            del published[place]  # of the blocks before
        self.fenced: dict[int, tuple[Known, bool]] = {}
        """What a lane knew at its last fence, and whether other blocks may know it."""
        self.pending: defaultdict[int, list[Known]] = defaultdict(list)
        """Parts of what a lane has read of, and will know at its next fence."""
        self.foreign: dict[int, Known] = {}
        """By row: what all lanes of a block have acquired from other blocks."""
        self.ahead: defaultdict[int, dict[int, Known]] = defaultdict(dict)
        """By row and lane: what a lane knows that its block may not know yet."""
        self._joins: dict[tuple[int, int], tuple[Known, Known, Known]] = {}

    def acquired(self, lane: int) -> Known:
        """What a lane has acquired from other blocks."""
        row = int(self.clocks.row[lane])
        ahead = self.ahead.get(row)
        known = ahead.get(lane) if ahead else None
        return self.foreign.get(row, NOTHING) if known is None else known

    def joined(self, first: Known, second: Known) -> Known:
        """All that two clocks know; one of them where it knows all."""
        if first is second or not second:
            return first
        if not first:
            return second
        key = id(first), id(second)
        if key not in self._joins:
            self._joins[key] = first, second, self._merged(first, second)
        return self._joins[key][2]

    def _merged(self, first: Known, second: Known) -> Known:
        result, is_first = dict(first), True
        is_second = first.keys() <= second.keys()
        for block, stamps in second.items():
            before = first.get(block)
            if before is stamps:
                continue
            new = stamps if before is None else self._later(before, stamps)
            if new is not before:
                result[block], is_first = new, False
            is_second = is_second and new is stamps
        return first if is_first else second if is_second else result

    def _later(self, first: Stamps, second: Stamps) -> Stamps:
        if first.covers(second):
            return first
        if second.covers(first):
            return second
        return self._stamps(np.maximum(first.values, second.values))

    def _stamps(self, values: Array) -> Stamps:
        return Stamps.of(values, self.clocks.threads)

    def _all_known(self, lane: int) -> Known:
        """The clock of a lane, its own past included."""
        clocks = self.clocks
        values = np.maximum(clocks.seen[0, lane], clocks.floor[clocks.row[lane]])
        values[clocks.thread[lane]] = clocks.now
        return {**self.acquired(lane), clocks.block_of(lane): self._stamps(values)}

    def _acquire(self, lane: int, known: Known) -> None:
        own, before = self.clocks.block_of(lane), self.acquired(lane)
        if known is before:
            return
        for block in (own, -own):
            if block in known and known[block] is not before.get(block):
                values = known[block].values
                self.clocks.acquire(np.array([lane]), np.stack([values, values * 0]))
        if any(block < 0 for block in known):
            known = {block: stamps for block, stamps in known.items() if block > 0}
        after = self.joined(before, known)
        if after is not before:
            self.ahead[int(self.clocks.row[lane])][lane] = after

    def fence(self, wide: bool, mask: Mask) -> None:
        """A fence of some lanes; ``wide`` fences include other blocks."""
        lanes = range(len(self.clocks.row)) if mask is None else np.flatnonzero(mask)
        for lane in map(int, lanes):
            for known in self.pending.pop(lane, ()):
                self._acquire(lane, known)
            self.fenced[lane] = self._all_known(lane), wide
        self._tick()

    def operate(
        self,
        space: str,
        order: str,
        reads: bool,
        writes: bool,
        lanes: Iterable[int],
        offsets: Iterable[int],
    ) -> None:
        """Strong accesses of lanes, one after the other, at places of memory."""
        for lane, offset in zip(lanes, offsets, strict=True):
            place = space, offset
            there = self.published.get(place)
            if reads and there:
                if order in ("acquire", "acq_rel"):
                    self._acquire(lane, there)
                else:
                    self._read(lane, there)
            if not writes:
                continue
            known = NOTHING
            if order in ("release", "acq_rel"):
                known = self._all_known(lane)
            elif lane in self.fenced:
                known, wide = self.fenced[lane]
                own = self.clocks.block_of(lane)
                known = known if wide else {-own: known[own]}
            if reads and there:  # what is read, changed and written goes on being there
                known = self.joined(known, there)
            if known:
                self.published[place] = known
            else:
                self.published.pop(place, None)
        self._tick()

    def _read(self, lane: int, known: Known) -> None:
        """Records a clock that a lane has read and may acquire by a fence."""
        parts = self.pending[lane]
        if any(part is known for part in parts):
            return
        parts.append(known)
        if len(parts) > MOST_PARTS:
            joint = NOTHING
            for part in parts:
                joint = self.joined(joint, part)
            parts[:] = [joint]

    def _tick(self) -> None:
        self._joins.clear()
        self.clocks.tick()

    def meet(self, row: int) -> None:
        """All lanes of a block share the clocks acquired from other blocks."""
        ahead = self.ahead.pop(row, None)
        if ahead:
            joint = self.foreign.get(row, NOTHING)
            for known in {id(k): k for k in ahead.values()}.values():
                joint = self.joined(joint, known)
            self.foreign[row] = joint

    def share(self, lanes: Array) -> None:
        """Lanes of a block that synchronise share what they have acquired."""
        row = int(self.clocks.row[lanes[0]])
        if not self.ahead.get(row):
            return
        everyone = [int(lane) for lane in lanes]
        joint = self.foreign.get(row, NOTHING)
        for known in {id(k): k for k in map(self.acquired, everyone)}.values():
            joint = self.joined(joint, known)
        self.ahead[row].update(dict.fromkeys(everyone, joint))

    def know(self, lanes: Array, marks: Array) -> Array:
        """Whether lanes know of accesses in other blocks, a mark for each lane."""
        found = np.zeros(len(lanes), bool)
        blocks, code = marks >> BLOCK, marks & CODE
        stamp = marks >> STAMP & STAMPS
        crowd = (code == SEVERAL) | (code >= WARP_CODE)
        asking, of = self._asking(lanes)
        clocks = [self.acquired(lane) for lane in asking]
        sources = np.array([id(known) for known in clocks])[of]
        for known in {id(known): known for known in clocks}.values():
            own = np.flatnonzero(sources == id(known))
            asked, at = np.unique(blocks[own], return_inverse=True)
            each = [known.get(block) for block in asked.tolist()]
            every = np.array([-1 if one is None else one.least for one in each])[at]
            known_stamps = every
            if not crowd[own].all():
                never = np.full(self.clocks.columns, -1)
                table = np.stack([never if one is None else one.values for one in each])
                single = table[at, np.where(crowd[own], 0, code[own] - 1)]
                known_stamps = np.where(crowd[own], every, single)
            found[own] = known_stamps >= stamp[own]
        return found

    def _asking(self, lanes: Array) -> tuple[list[int], Array]:
        """One lane for each group that knows the same, and the group of each lane."""
        rows = self.clocks.row[lanes]
        group = rows * self.clocks.threads
        for row in [row for row, ahead in self.ahead.items() if ahead]:
            group = np.where(rows == row, lanes, group)
        _, first, of = np.unique(group, return_index=True, return_inverse=True)
        return lanes[first].tolist(), of


MOST_PARTS = 8
"""Clocks that a lane has read, after which they are joined."""
