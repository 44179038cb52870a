"""Shadow memory: data races, reads of unwritten cells, and copies in flight.

A mark is one word: the block, a stamp that counts the synchronising instructions, and
the thread, each counted from one.  Two accesses by different threads race if one of
them writes and nothing orders them; atomics do not race with each other.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.release_clocks import Published
from gpucodegen.ptx.execution.vector_clocks import (
    BLOCK,
    CODE,
    NEIGHBOURS,
    SEVERAL,
    SEVERAL_BLOCKS,
    WARP_CODE,
    BlockReaders,
    LastReaders,
    Touch,
    VectorClocks,
    WarpReaders,
)
from gpucodegen.ptx.types import Array

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
