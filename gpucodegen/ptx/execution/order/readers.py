"""Accesses to a cell that a later access must know of: one word for each cell.

A word holds the last of them, or says that several threads were there.  Kernels whose
order is finer than the block's barrier have `lane_readers` in shared memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from gpucodegen.ptx.execution.order.clocks import (
    BLOCK,
    BLOCKS,
    CODE,
    NEIGHBOURS,
    SEVERAL,
    STAMP,
    STAMPS,
    WARP_CODE,
    Clocks,
)
from gpucodegen.ptx.types import WARP, Array

SEVERAL_BLOCKS = (BLOCKS << BLOCK) | SEVERAL


class Touch(NamedTuple):
    """An access under way: cells, a row for each lane, and the lanes (None: all)."""

    cells: Array
    lanes: Array | None
    mine: Array
    low: Array
    """The lanes' marks, and the least that the block's barrier does not order."""

    def candidates(self, others: Array, shared: bool) -> Array:
        """Where an earlier mark is of another thread, with no barrier in between."""
        if shared:
            near = others >= self.low
            return near & ((others ^ self.mine) & CODE != 0) if near.any() else near
        if not others.any():
            return np.zeros(self.cells.shape, bool)
        difference = others ^ self.mine
        foreign = (difference >> BLOCK != 0) & (others != 0)
        return foreign | ((others >= self.low) & (difference & CODE != 0))


class LastReaders:
    """The last access to each cell, or the word that several threads were there.

    ``fine`` ones tell threads of one warp from those of several.
    """

    def __init__(
        self, words: Array, *, shared: bool, fine: bool, clustered: bool = False
    ) -> None:
        self.words, self.shared, self.fine = words, shared, fine
        self.clustered = clustered

    def races(self, touch: Touch, clocks: Clocks) -> tuple[Array, Array]:
        """Where an access of the past is not ordered before this one, and its mark."""
        others = self.words[touch.cells]
        near = touch.candidates(others, self.shared and clocks.together == 1)
        return clocks.unordered(near, others, touch.lanes), others

    def note(self, touch: Touch, clocks: Clocks) -> None:
        """Note accesses of lanes; what is ordered before them need not stay known."""
        cells, mine = touch.cells, touch.mine
        others = self.words[cells]
        crowd = touch.candidates(others, self.shared and not self.clustered)
        crowd = clocks.unordered(crowd, others, touch.lanes)
        new = mine
        if crowd.any():
            new = np.where(crowd, self._several(others, mine), mine)
        self.words[cells] = new
        after = self.words[cells]
        lost = after != new
        if lost.any():  # another lane of this very access is at the cell as well
            new = np.broadcast_to(new, cells.shape)[lost]
            self._put(cells[lost], self._several(after[lost], new))

    def _put(self, cells: Array, words: Array) -> None:
        """Of several words for a cell the one that stands for most threads stays."""
        self.words[cells] = words
        if self.fine:
            most = words & CODE == SEVERAL
            self.words[cells[most]] = words[most]
        if not self.shared:
            blocks = words == SEVERAL_BLOCKS
            self.words[cells[blocks]] = SEVERAL_BLOCKS

    def _several(self, others: Array, mine: Array) -> Array:
        """The words of several threads: of one warp, of one block, or of several."""
        new = mine | SEVERAL
        if self.fine:
            warps = [_warp(words & CODE) for words in (others, mine)]
            one = WARP_CODE + warps[1]
            new = np.where(warps[0] == warps[1], mine & ~CODE | one, new)
        foreign = (others ^ mine) >> BLOCK != 0
        if not self.shared:
            return np.where(foreign, SEVERAL_BLOCKS, new)
        if not foreign.any():
            return new
        when = mine & (STAMPS << STAMP)
        return np.where(foreign, (NEIGHBOURS << BLOCK) | when | SEVERAL, new)

    def forget(self, cells: Array) -> None:
        """A write that is ordered behind all of them makes them past."""
        self.words[cells] = 0


class BlockReaders:
    """The last access to each cell by each block, for blocks that order each other.

    ``parts`` has the words of each block of the launch; all of them run in one batch.
    """

    def __init__(self, parts: Sequence[LastReaders]) -> None:
        self.parts = parts

    @property
    def words(self) -> Array:
        """Whether any block accessed a cell."""
        return np.bitwise_or.reduce([part.words for part in self.parts])

    def races(self, touch: Touch, clocks: Clocks) -> tuple[Array, Array]:
        """Where an access of the past is not ordered before this one, and its mark."""
        shape = touch.cells.shape
        found, marks = np.zeros(shape, bool), np.zeros(shape, np.int64)
        for part in self.parts:
            races, others = part.races(touch, clocks)
            marks = np.where(races & ~found, others, marks)
            found |= races
        return found, marks

    def note(self, touch: Touch, clocks: Clocks) -> None:
        """Note accesses of lanes."""
        rows = clocks.row if touch.lanes is None else clocks.row[touch.lanes]
        lanes = np.arange(len(rows)) if touch.lanes is None else touch.lanes
        order = np.argsort(rows, kind="stable")
        ends = np.searchsorted(rows[order], np.arange(len(self.parts) + 1)).tolist()
        for part, (start, stop) in zip(self.parts, pairwise(ends), strict=True):
            own = order[start:stop]
            if stop > start:
                mine, low = touch.mine[own], touch.low[own]
                part.note(Touch(touch.cells[own], lanes[own], mine, low), clocks)

    def forget(self, cells: Array) -> None:
        """A write that is ordered behind all of them makes them past."""
        for part in self.parts:
            part.forget(cells)


def _warp(code: Array) -> Array:
    """The warp of a thread's code, or of several threads' that are of one warp."""
    return np.where(code >= WARP_CODE, code - WARP_CODE, (code - 1) // WARP)
