"""Shadow memory: data races, reads of unwritten cells, and copies in flight.

A mark is one word: the block, a stamp that counts the synchronising instructions, and
the thread, each counted from one.  Two accesses by different threads race if one of
them writes and nothing orders them; atomics do not race with each other. `Releases`
follows release/acquire chains through atomics and flags: a releasing operation, or an
atomic behind a fence, leaves at its place in memory the clock of its thread; a thread
that reads there and acquires, or fences later, gets that clock. Clocks acquired from
other blocks reach the whole block after a barrier.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.vector_clocks import (
    BLOCK,
    CODE,
    NEIGHBOURS,
    SEVERAL,
    SEVERAL_BLOCKS,
    STAMP,
    STAMPS,
    WARP_CODE,
    BlockReaders,
    LastReaders,
    Touch,
    VectorClocks,
    WarpReaders,
)
from gpucodegen.ptx.types import Array, Mask

Known = dict[int, Array]
"""For some blocks, by their number in marks, the last known stamp of each thread.

What is meant for threads of the same block only stands under the negative number.
"""
Published = dict[tuple[str, int], Known]
"""Clocks released at places of memory, by space and offset."""


def learn(known: Known, more: Known) -> None:
    """Merges clocks."""
    for block, stamps in more.items():
        before = known.get(block)
        if before is not stamps:
            known[block] = stamps if before is None else np.maximum(before, stamps)


class Releases:
    """Clocks that lanes of a batch have released, and acquired from other blocks."""

    def __init__(self, clocks: VectorClocks, published: Published) -> None:
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
        """The clock of a lane, its own past included."""
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
        """A fence of some lanes; ``wide`` fences include other blocks."""
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
        """Strong accesses of lanes, one after the other, at places of memory."""
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
        """Lanes that synchronise share the clocks acquired from other blocks."""
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


IN_FLIGHT = -1
"""The mark of a cell that a copy has not reached yet."""


class Clash(NamedTuple):
    """The error of an access, and the lanes with it."""

    kind: str
    message: str
    at: int


class ShadowMemory:
    """The marks of one space; ``shared`` cells belong to one block each.

    ``atomics`` has a word for each cell if the kernel has atomics.
    """

    def __init__(
        self,
        writers: Array,
        readers: LastReaders | WarpReaders | BlockReaders,
        atomics: LastReaders | None,
        shift: int,
        shared: bool,
    ) -> None:
        self.writers, self.readers, self.atomics = writers, readers, atomics
        self.shift, self.shared = shift, shared
        self.published: Published = {}
        self.stores = 0
        """Bytes of bulk stores to here that have not landed."""

    def touched(self, first: int, end: int) -> tuple[Array, Array]:
        """Which of some cells were read, and which were written or updated."""
        read, written = self.readers.accessed(first, end), self.writers[first:end] != 0
        if self.atomics is not None:
            written |= self.atomics.accessed(first, end)
        return read, written

    def touch(
        self, clocks: VectorClocks, offsets: Array, width: int, lanes: Array | None
    ) -> Touch:
        """The cells of an access, a row for each lane, and their marks."""
        first, count = offsets >> self.shift, width >> self.shift
        mine, low = clocks.marks, clocks.low
        if lanes is not None:
            mine, low = mine[lanes], low[lanes]
        if count > 1:
            first = first[:, None] + np.arange(count)
            mine, low = mine[:, None], low[:, None]
        return Touch(first, lanes, mine, low)

    def read(
        self, clocks: VectorClocks, touch: Touch, strong: bool = False
    ) -> Clash | None:
        """Records a read by lanes, or returns its error.

        ``strong`` reads and writes do not race with atomics.
        """
        writers = self.writers[touch.cells]
        if self.shared and writers.min() <= 0:
            return _unready(writers, "read")
        if self.stores and writers.min() < 0:
            return _under_way(writers, "read")
        clash = self._against_writers(clocks, touch, writers, "read of")
        if clash is None and self.atomics is not None and not strong:
            clash = self._against(clocks, touch, self.atomics, "read of", "changed")
        if clash is None and not strong:
            self.readers.note(touch, clocks)
        return clash

    def write(
        self, clocks: VectorClocks, touch: Touch, strong: bool = False
    ) -> Clash | None:
        """Records a write by lanes, or returns its error."""
        writers = self.writers[touch.cells]
        if (self.shared or self.stores) and writers.min() < 0:
            return _under_way(writers, "write")
        clash = self._against_writers(clocks, touch, writers, "write to")
        if clash is None:
            clash = self._against(clocks, touch, self.readers, "write to", "read")
        if clash is not None:
            return clash
        if strong and self.atomics is not None:
            self.atomics.note(touch, clocks)
            self._initialise(touch)
            return None
        if self.atomics is not None:
            clash = self._against(clocks, touch, self.atomics, "write to", "changed")
            if clash is not None:
                return clash
        if clocks.fine:
            self.readers.forget(touch.cells)
        mine = np.broadcast_to(touch.mine, touch.cells.shape)
        self.writers[touch.cells] = mine
        after = self.writers[touch.cells]
        lost = after != mine
        if lost.any():
            return self._race(lost, after, touch, "write to a location written by")
        return None

    def atomic(self, clocks: VectorClocks, touch: Touch) -> Clash | None:
        """Records an atomic update by lanes, or returns its error."""
        writers = self.writers[touch.cells]
        if self.shared and writers.min() <= 0:
            return _unready(writers, "atomic update")
        return self.write(clocks, touch, strong=True)

    def _initialise(self, touch: Touch) -> None:
        """Counts a strong write to an unwritten cell as its first write."""
        writers = self.writers[touch.cells]
        if self.shared and not writers.all():
            past = np.broadcast_to(touch.mine >> BLOCK << BLOCK, touch.cells.shape)
            self.writers[touch.cells[writers == 0]] = past[writers == 0]

    def start_copy(self, touch: Touch) -> None:
        """Marks cells whose contents are in flight."""
        self.writers[touch.cells] = IN_FLIGHT

    def land(self, touch: Touch) -> None:
        """Marks cells of a landed copy as written by its thread."""
        self.writers[touch.cells] = np.broadcast_to(touch.mine, touch.cells.shape)

    def read_by_engine(
        self, clocks: VectorClocks, offsets: Array, lane: int
    ) -> Clash | None:
        """The error of a read by the async proxy on behalf of a lane."""
        cells = np.unique(offsets >> self.shift)
        writers = self.writers[cells]
        if writers.min(initial=1) <= 0:
            return _unready(writers, "read")
        touch = self._bulk(clocks, cells, lane)
        return self._against_writers(clocks, touch, writers, "read of", proxy=True)

    def note_engine(self, offsets: Array, row: int, column: int, stamp: int) -> None:
        """Records bytes that the engine of a block has read."""
        cells = np.unique(offsets >> self.shift)
        if isinstance(self.readers, WarpReaders):
            first = self.readers.column(np.full(len(cells), row))
            self.readers.add(cells, first + column, stamp)

    def start_bulk(
        self, clocks: VectorClocks, start: int, size: int, lane: int
    ) -> Clash | None:
        """Checks and marks the target of a bulk copy that a lane starts."""
        cells = np.arange(start >> self.shift, (start + size) >> self.shift)
        writers = self.writers[cells]
        if writers.min() < 0:
            return _under_way(writers, "write")
        touch = self._bulk(clocks, cells, lane)
        clash = self._against_writers(clocks, touch, writers, "copy to", proxy=True)
        if clash is None:
            clash = self._against(clocks, touch, self.readers, "copy to", "read")
        if clash is None:
            self.readers.forget(cells)
            self.writers[cells] = IN_FLIGHT
        return clash

    def land_bulk(self, start: int, size: int, mark: int) -> None:
        """Marks a landed range with the mark of its engine."""
        self.writers[start >> self.shift : (start + size) >> self.shift] = mark

    def start_store(self, places: Array) -> None:
        """Marks bytes to which a bulk store is in flight."""
        self.stores += len(places)
        self.writers[places >> self.shift] = IN_FLIGHT

    def land_store(self, places: Array, mark: int) -> None:
        """Marks bytes of a landed bulk store with the mark of the waiting thread."""
        self.stores -= len(places)
        self.writers[places >> self.shift] = mark

    def _bulk(self, clocks: VectorClocks, cells: Array, lane: int) -> Touch:
        lanes = np.full(len(cells), lane)
        return Touch(cells, lanes, clocks.marks[lanes], clocks.low[lanes])

    def _against_writers(
        self,
        clocks: VectorClocks,
        touch: Touch,
        writers: Array,
        what: str,
        proxy: bool = False,
    ) -> Clash | None:
        near = touch.candidates(writers, self.shared and clocks.together == 1)
        if near.any():
            races = clocks.unordered(near, writers, touch.lanes)
            if races.any():
                text = f"{what} a location written by"
                return self._race(races, writers, touch, text)
        if proxy:  # no barrier takes the place of a proxy fence
            races = clocks.unordered(writers > 0, writers, touch.lanes, proxy=True)
            if races.any():
                text = "no fence.proxy.async orders it behind the write by"
                clash = self._race(races, writers, touch, text)
                return clash._replace(message=f"{what} shared memory: {clash.message}")
        return None

    def _against(
        self,
        clocks: VectorClocks,
        touch: Touch,
        earlier: LastReaders | WarpReaders | BlockReaders,
        what: str,
        how: str,
    ) -> Clash | None:
        races, others = earlier.races(touch, clocks)
        if not races.any():
            return None
        how = "atomically changed" if how == "changed" else how
        return self._race(races, others, touch, f"{what} a location {how} by")

    def _race(self, races: Array, others: Array, touch: Touch, what: str) -> Clash:
        at = np.unravel_index(int(np.argmax(races)), races.shape)
        mark = int(np.broadcast_to(others, races.shape)[at])
        block, code = (mark >> BLOCK) - 1, mark & CODE
        own = (int(np.broadcast_to(touch.mine, races.shape)[at]) >> BLOCK) - 1
        whose = f"thread {code - 1}"
        if code == SEVERAL:
            whose = "several threads"
        elif code >= WARP_CODE:
            whose = f"several threads of warp {code - WARP_CODE}"
        space = "shared" if self.shared else "global"
        if block == own:
            text = f"{space} race, {what} {whose}, and no barrier is in between"
        elif mark == SEVERAL_BLOCKS or mark >> BLOCK == NEIGHBOURS:
            text = f"{space} race between blocks, {what} several blocks"
        else:
            text = f"{space} race between blocks, {what} {whose} of block {block}"
        return Clash(faults.RACE, text, int(at[0]))


def _under_way(writers: Array, what: str) -> Clash:
    """The first cell with a copy in flight; other cells are not checked."""
    return _unready(np.minimum(writers, 0) * 2 + 1, what)


def _unready(writers: Array, what: str) -> Clash:
    """The first cell that is unwritten (0), or has a copy in flight (-1)."""
    at = np.unravel_index(int(np.argmax(writers <= 0)), writers.shape)
    if writers[at] < 0:
        text = f"{what} of the destination of a copy that was not waited for"
        return Clash(faults.IN_FLIGHT, text, int(at[0]))
    text = f"{what} of shared memory that was never written"
    return Clash(faults.UNINITIALISED, text, int(at[0]))
