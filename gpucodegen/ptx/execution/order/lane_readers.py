"""Reads of shared memory where lanes order each other: one word for each warp and cell.

A word holds a stamp and the lanes that read then.  A lane that reads knows of earlier
reads that are ordered before its own, and a write that knows of the lane knows of
these: so they need not stay known.  Reads that no lane which comes later knows of are
rare, and stand beside the words.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpucodegen.ptx.execution.order.clocks import CODE, STAMP, STAMPS, Clocks
from gpucodegen.ptx.execution.order.readers import Touch
from gpucodegen.ptx.types import WARP, Array

LANES = (1 << WARP) - 1
"""The bits of a word that name lanes; the others are a stamp."""


class WarpReaders:
    """For each warp and cell: the last stamp of a read, and the lanes that read then.

    ``unknown``: words of earlier stamps, by row and cell.  Blocks of a cluster have
    warps of their own here; each has one row more, which stands for engines.
    """

    def __init__(self, cells: int, clocks: Clocks) -> None:
        self.clocks, self.rows = clocks, clocks.warps + 1
        self.words = np.zeros((clocks.together * self.rows, cells), np.int64)
        self.unknown: dict[tuple[int, int], list[int]] = {}

    def _homes(self, touch: Touch) -> Array:
        """The row of the batch of each lane's block."""
        row = self.clocks.row if touch.lanes is None else self.clocks.row[touch.lanes]
        return row.reshape(-1, *[1] * (touch.mine.ndim - 1))

    def races(self, touch: Touch, clocks: Clocks) -> tuple[Array, Array]:
        """Where a read of the past is not ordered before this access, and its mark."""
        del clocks
        shape = touch.cells.shape
        found, marks = np.zeros(shape, bool), np.zeros(shape, np.int64)
        for row, there in self._words(touch.cells):
            for races, others in self._unordered(row, there, touch):
                marks = np.where(races & ~found, others, marks)
                found |= races
        return found, marks

    def _words(self, cells: Array) -> Iterator[tuple[int, Array]]:
        """Words of some cells, with the rows where they stand."""
        for row, words in enumerate(self.words):
            there = words[cells]
            if there.any():
                yield row, there
        for (row, cell), words in self.unknown.items():
            at = cells == cell
            if at.any():
                yield from ((row, np.where(at, word, 0)) for word in words)

    def _unordered(
        self, row: int, there: Array, touch: Touch
    ) -> Iterator[tuple[Array, Array]]:
        """For lanes that words name: where a read is not ordered, and its mark."""
        clocks, home = self.clocks, self._homes(touch)
        ranks = home % clocks.together
        rank, warp = divmod(row, self.rows)
        same = ranks == rank
        stamp = there >> WARP
        lane = np.where(same, touch.mine & CODE, 0) - 1 - warp * WARP
        mine = np.where((lane >= 0) & (lane < WARP), 1 << (lane & 31), 0)
        bits = there & LANES & ~mine
        least = np.where(same, touch.low >> STAMP & STAMPS, 0)
        block = clocks.prefix(home - ranks + rank)
        for bit in range(WARP):
            near = (bits >> bit & 1 != 0) & (stamp >= least)
            if near.any():
                others = block | (stamp << STAMP) | (warp * WARP + bit + 1)
                yield clocks.unordered(near, others, touch.lanes), others

    def note(self, touch: Touch, clocks: Clocks) -> None:
        """Note reads of lanes."""
        del clocks
        column = (touch.mine & CODE) - 1 + self.column(self._homes(touch))
        code = np.broadcast_to(column, touch.cells.shape)
        now = int(touch.mine.flat[0]) >> STAMP & STAMPS
        self._set_aside(touch, code, now)
        self.add(touch.cells, code, now)

    def _set_aside(self, touch: Touch, columns: Array, now: int) -> None:
        """Take reads of other stamps out of the words of cells that lanes read now.

        What any of these lanes knows of goes; the rest stays beside.
        """
        cells = touch.cells
        at = columns // WARP, cells
        words = self.words[at]
        stale = (words & LANES != 0) & (words >> WARP != now)
        if not stale.any():
            return
        missed = np.zeros_like(words)
        for row in np.unique(at[0][stale]):
            there = np.where(stale & (at[0] == row), words, 0)
            for races, others in self._unordered(int(row), there, touch):
                bits = np.int64(1) << ((others & CODE) - 1) % WARP
                missed |= np.where(races, bits, 0)
        width = self.words.shape[1]
        places, which = np.unique((at[0] * width + cells)[stale], return_inverse=True)
        left = np.full(len(places), LANES, np.int64)
        np.bitwise_and.at(left, which.reshape(-1), missed[stale])
        for place, bits in zip(places[left != 0], left[left != 0], strict=True):
            key = divmod(int(place), width)
            word = int(self.words[key]) & ~LANES | int(bits)
            self.unknown.setdefault(key, []).append(word)
        self.words.reshape(-1)[places] = 0

    def column(self, home: Array) -> Array:
        """The first column of the block in a row of the batch."""
        return home % self.clocks.together * self.rows * WARP

    def add(self, cells: Array, columns: Array, stamp: int) -> None:
        """Note reads at a stamp by threads, or engines, with these columns."""
        self._renew(cells, columns)
        flat, width = self.words.reshape(-1), self.words.shape[1]
        at = (columns // WARP * width + cells).reshape(-1)
        flat[at] = (flat[at] & LANES) | (stamp << WARP)
        np.bitwise_or.at(flat, at, np.int64(1) << (columns % WARP).reshape(-1))

    def _renew(self, cells: Array, columns: Array) -> None:
        """Drop earlier reads beside the words by those who read again."""
        for (row, cell), words in [*self.unknown.items()]:
            again = (cells == cell) & (columns // WARP == row)
            bits = sum({1 << int(column) % WARP for column in columns[again]})
            self._keep((row, cell), [word & ~bits for word in words])

    def _keep(self, key: tuple[int, int], words: list[int]) -> None:
        self.unknown[key] = [word for word in words if word & LANES]
        if not self.unknown[key]:
            del self.unknown[key]

    def forget(self, cells: Array) -> None:
        """A write that is ordered behind all of them makes them past."""
        self.words[:, cells] = 0
        for key in [key for key in self.unknown if (cells == key[1]).any()]:
            del self.unknown[key]
