"""Who touched each cell of memory last: races, unwritten cells, copies in flight.

A mark is one word: the block, the barrier interval of that block and the thread, each
counted from one.  Two accesses of different threads of a block race if they lie in one
interval and one of them writes; accesses of different blocks race in any case.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.types import Array

_BLOCK, _INTERVAL = 40, 20
_SEVERAL = (1 << _INTERVAL) - 1
"""In place of the thread: several threads of the block read the cell."""
_BLOCKS = (1 << 22) - 1
_SEVERAL_BLOCKS = (_BLOCKS << _BLOCK) | _SEVERAL
IN_FLIGHT = -1
"""The mark of a cell that a copy has not reached yet."""
BY_ENGINE = 1 << 62
"""The mark of a cell that a bulk copy wrote."""


def marks_of(block: Array, interval: Array, thread: Array) -> Array:
    """The marks of lanes."""
    count = block % (_BLOCKS - 1) + 1
    return (count << _BLOCK) | (interval % _SEVERAL << _INTERVAL) | (thread + 1)


class Clash(NamedTuple):
    """What is wrong with an access, and by which of its lanes."""

    kind: str
    message: str
    at: int


class Marks:
    """The marks of one space; ``shared`` cells belong to one block each."""

    def __init__(
        self, writers: Array, readers: Array, shift: int, shared: bool
    ) -> None:
        self.writers, self.readers = writers, readers
        self.shift, self.shared = shift, shared

    def cells(self, offsets: Array, width: int, marks: Array) -> tuple[Array, Array]:
        """The cells of an access, a row for each lane, and the marks beside them."""
        first, count = offsets >> self.shift, width >> self.shift
        if count > 1:
            return first[:, None] + np.arange(count), marks[:, None]
        return first, marks

    def read(self, offsets: Array, width: int, marks: Array) -> Clash | None:
        """Note a read by lanes, or tell what is wrong with it."""
        cells, mine = self.cells(offsets, width, marks)
        writers = self.writers[cells]
        if self.shared and writers.min() <= 0:
            return _unready(writers, "read")
        races = self._races(writers, mine)
        if races.any():
            return self._race(races, writers, mine, "read of a location written by")
        readers = self.readers[cells]
        crowd = self._races(readers, mine)
        new = np.where(crowd, mine | _SEVERAL, mine)
        if not self.shared:
            foreign = crowd & ((readers ^ mine) >> _BLOCK != 0)
            new = np.where(foreign, _SEVERAL_BLOCKS, new)
        self.readers[cells] = new
        lost = self.readers[cells] != new
        if lost.any():  # another lane of this very access reads the cell as well
            self._note_several(cells[lost], new[lost])
        return None

    def _note_several(self, cells: Array, new: Array) -> None:
        foreign = (self.readers[cells] ^ new) >> _BLOCK != 0
        self.readers[cells] = new | _SEVERAL
        if not self.shared and foreign.any():
            self.readers[cells[foreign]] = _SEVERAL_BLOCKS

    def write(self, offsets: Array, width: int, marks: Array) -> Clash | None:
        """Note a write by lanes, or tell what is wrong with it."""
        cells, mine = self.cells(offsets, width, marks)
        writers = self.writers[cells]
        if self.shared and writers.min() < 0:
            return _unready(np.minimum(writers, 0) * 2 + 1, "write")
        before = (
            (writers, "write to a location written by"),
            (self.readers[cells], "write to a location read by"),
        )
        for others, what in before:
            races = self._races(others, mine)
            if races.any():
                return self._race(races, others, mine, what)
        mine = np.broadcast_to(mine, cells.shape)
        self.writers[cells] = mine
        after = self.writers[cells]
        lost = after != mine
        if lost.any():
            return self._race(lost, after, mine, "write to a location written by")
        return None

    def start_copy(self, offsets: Array, width: int, marks: Array) -> None:
        """Cells whose contents are on their way."""
        self.writers[self.cells(offsets, width, marks)[0]] = IN_FLIGHT

    def land(self, offsets: Array, width: int, marks: Array) -> None:
        """Cells that a copy has reached; they count as written by its thread."""
        cells, mine = self.cells(offsets, width, marks)
        self.writers[cells] = np.broadcast_to(mine, cells.shape)

    def unready(self, offsets: Array) -> Clash | None:
        """What is wrong with reading bytes in behalf of several threads."""
        writers = self.writers[offsets >> self.shift]
        return _unready(writers, "read") if writers.min() <= 0 else None

    def start_bulk(self, start: int, size: int) -> None:
        """A stretch of memory whose contents are on their way."""
        self.writers[start >> self.shift : (start + size) >> self.shift] = IN_FLIGHT

    def land_bulk(self, start: int, size: int) -> None:
        """A stretch that has arrived; its barrier orders it for everybody."""
        self.writers[start >> self.shift : (start + size) >> self.shift] = BY_ENGINE

    def _races(self, others: Array, mine: Array) -> Array:
        """Where an earlier mark is of another thread and no barrier lies between."""
        difference = others ^ mine
        near = (difference - 1).view("u8") < _SEVERAL
        if self.shared:
            return near
        return (near | (difference >> _BLOCK != 0)) & (others != 0)

    def _race(self, races: Array, others: Array, mine: Array, what: str) -> Clash:
        at = np.unravel_index(int(np.argmax(races)), races.shape)
        mark = int(others[at])
        block, thread = (mark >> _BLOCK) - 1, (mark & _SEVERAL) - 1
        own = (int(np.broadcast_to(mine, races.shape)[at]) >> _BLOCK) - 1
        several = mark & _SEVERAL == _SEVERAL
        whose = "several threads" if several else f"thread {thread}"
        space = "shared" if self.shared else "global"
        if block == own:
            text = f"{space} race, {what} {whose} in the same barrier interval"
        elif mark == _SEVERAL_BLOCKS:
            text = f"{space} race between blocks, {what} several blocks"
        else:
            text = f"{space} race between blocks, {what} {whose} of block {block}"
        return Clash(faults.RACE, text, int(at[0]))


def _unready(writers: Array, what: str) -> Clash:
    """The first cell never written (0), or that a copy has not reached (-1)."""
    at = np.unravel_index(int(np.argmax(writers <= 0)), writers.shape)
    if writers[at] < 0:
        text = f"{what} of the destination of a copy that was not waited for"
        return Clash(faults.IN_FLIGHT, text, int(at[0]))
    text = "read of shared memory that was never written"
    return Clash(faults.UNINITIALISED, text, int(at[0]))
