"""Vector clocks and read shadow memory: the happens-before order of emulated threads.

`VectorClocks`: all accesses between two synchronising instructions of a batch carry one
stamp.  A thread knows another's access if a chain of releases and acquires leads from
there to it.  A barrier of a whole block makes all its threads know every earlier
access; for kernels without any other order, one number per block suffices. For the
*async proxy* (bulk copies and wgmma) a chain must lead through a proxy fence as well;
the second plane of the clocks has only such chains.  A copy engine, and each
warpgroup's products, count as threads with columns of their own.

`LastReaders` keeps one word per cell: the last access, or a mark that several threads
were there. `WarpReaders`, for shared memory in kernels with finer order than the
block's barrier, keeps one word per warp and cell: a stamp and the lanes that read then.
A reading lane knows of earlier reads that are ordered before its own, and a write that
knows of the lane knows of these, so they are dropped. Reads that no later lane knows of
are rare, and are kept beside the words.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple, Protocol

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
    """Clocks that lanes have acquired from other blocks."""

    def meet(self, row: int) -> None:
        """The lanes of a block synchronise: each knows what any has acquired."""
        ...

    def share(self, lanes: Array) -> None:
        """Lanes of a block synchronise: each knows what any of them has acquired."""
        ...

    def know(self, lanes: Array, marks: Array) -> Array:
        """Whether lanes know of accesses."""
        ...


class VectorClocks:
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
        self.proxied = False
        """Whether the second plane of the clocks has stamps."""
        self._restamp()

    def _restamp(self) -> None:
        self.marks = self._mine + (self.now << STAMP)
        self.low = self._base + ((self.floor[self.row] + 1) << STAMP)

    def block_of(self, lane: int) -> int:
        """The block number of a lane in marks."""
        return int(self._base[lane] >> BLOCK)

    def tick(self) -> None:
        """Advances the stamp of accesses."""
        self.now += 1
        if self.now >= STAMPS:
            raise OverflowError("more synchronising instructions than stamps")
        self._restamp()

    def prefix(self, rows: Array) -> Array:
        """The block bits of marks, by rows of the batch."""
        return self._base[rows * self.threads]

    def of(self, row: int, column: int) -> int:
        """The mark of an engine's access now."""
        return int(self._base[row * self.threads]) + (self.now << STAMP) + column + 1

    def meet(self, rows: Array) -> None:
        """All threads of some blocks synchronise."""
        for row in np.flatnonzero(rows).tolist() if self.fine else ():
            if self.proxied:
                own = slice(row * self.threads, (row + 1) * self.threads)
                self.seen[1, own] = self.seen[1, own].max(0)
            if self.releases is not None:
                self.releases.meet(row)
        self.floor[rows] = self.now
        self.tick()

    def meet_cluster(self, lanes: Array, rows: Array) -> None:
        """Lanes of clusters synchronise, all lanes of these blocks."""
        self.foreign[lanes] = self.now
        self.meet(np.isin(np.arange(len(self.floor)), rows))

    def released(self, lanes: Array) -> Array:
        """The clocks that lanes release together, their own past included.

        The result has a row for each plane.
        """
        known = self.seen[:, lanes].max(1)
        known[0, self.thread[lanes]] = self.now
        return known

    def acquire(self, lanes: Array, known: Array) -> None:
        """Merges released clocks into those of lanes."""
        if not self.proxied:
            outside = slice(self.threads, self.warps * WARP)
            stamps = known[1].copy()
            stamps[outside] = 0
            self.proxied = bool(stamps.any())
        planes = slice(None) if self.proxied else slice(1)
        before = self.seen[planes, lanes]
        self.seen[planes, lanes] = np.maximum(before, known[planes, None])

    def fence(self, mask: Mask) -> None:
        """A proxy fence: the past of these lanes is ordered for the async proxy."""
        lanes = np.arange(len(self.row)) if mask is None else np.flatnonzero(mask)
        known = np.maximum(self.seen[0, lanes], self.floor[self.row[lanes], None])
        known[np.arange(len(lanes)), self.thread[lanes]] = self.now
        self.seen[1, lanes] = np.maximum(self.seen[1, lanes], known)
        self.proxied = True
        self.tick()

    def unordered(
        self, candidates: Array, others: Array, lanes: Array | None, proxy: bool = False
    ) -> Array:
        """The candidates for a race that no chain orders.

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
        """Whether the blocks of marks are other blocks of the lanes' clusters."""
        rows = np.arange(len(self.floor))
        names = self.prefix(rows) >> BLOCK
        order = np.argsort(names)
        at = np.minimum(np.searchsorted(names[order], blocks), len(rows) - 1)
        row = order[at]
        mates = row // self.together == self.row[lane] // self.together
        there = (names[row] == blocks) & mates & (row != self.row[lane])
        return there | (blocks == NEIGHBOURS)


SEVERAL_BLOCKS = (BLOCKS << BLOCK) | SEVERAL


class Touch(NamedTuple):
    """An access: its cells, a row for each lane, and the lanes (None: all)."""

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
    """The last access to each cell, or a mark that several threads were there.

    ``fine`` instances distinguish threads of one warp from those of several.
    """

    def __init__(
        self, words: Array, *, shared: bool, fine: bool, clustered: bool = False
    ) -> None:
        self.words, self.shared, self.fine = words, shared, fine
        self.clustered = clustered

    def accessed(self, first: int, end: int) -> Array:
        """Which cells of a range were accessed; looks at no other cells."""
        return self.words[first:end] != 0

    def races(self, touch: Touch, clocks: VectorClocks) -> tuple[Array, Array]:
        """Where an earlier access is not ordered before this one, and its mark."""
        others = self.words[touch.cells]
        near = touch.candidates(others, self.shared and clocks.together == 1)
        return clocks.unordered(near, others, touch.lanes), others

    def note(self, touch: Touch, clocks: VectorClocks) -> None:
        """Records accesses of lanes, in place of those ordered before them."""
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
        """Of several words for a cell, keeps the one that stands for most threads."""
        self.words[cells] = words
        if self.fine:
            most = words & CODE == SEVERAL
            self.words[cells[most]] = words[most]
        if not self.shared:
            blocks = words == SEVERAL_BLOCKS
            self.words[cells[blocks]] = SEVERAL_BLOCKS

    def _several(self, others: Array, mine: Array) -> Array:
        """The words for several threads: of one warp, of one block, or of several."""
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
        """Clears cells after a write that is ordered behind all their accesses."""
        self.words[cells] = 0


class BlockReaders:
    """The last access to each cell by each block, for blocks that order each other.

    ``parts`` has the words of each block of the launch; all run in one batch.
    """

    def __init__(self, parts: Sequence[LastReaders]) -> None:
        self.parts = parts

    def accessed(self, first: int, end: int) -> Array:
        return np.logical_or.reduce([part.accessed(first, end) for part in self.parts])

    def races(self, touch: Touch, clocks: VectorClocks) -> tuple[Array, Array]:
        """Where an earlier access is not ordered before this one, and its mark."""
        shape = touch.cells.shape
        found, marks = np.zeros(shape, bool), np.zeros(shape, np.int64)
        for part in self.parts:
            races, others = part.races(touch, clocks)
            marks = np.where(races & ~found, others, marks)
            found |= races
        return found, marks

    def note(self, touch: Touch, clocks: VectorClocks) -> None:
        """Records accesses of lanes."""
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
        """Clears cells after a write that is ordered behind all their accesses."""
        for part in self.parts:
            part.forget(cells)


def _warp(code: Array) -> Array:
    """The warp of a thread's code, or of a code for several threads of one warp."""
    return np.where(code >= WARP_CODE, code - WARP_CODE, (code - 1) // WARP)


LANES = (1 << WARP) - 1
"""The bits of a word that name lanes; the others are a stamp."""


class WarpReaders:
    """For each warp and cell: the last stamp of a read, and the lanes that read then.

    ``unknown``: words of earlier stamps, by row and cell.  Blocks of a cluster have
    warps of their own here; each has one more row, which stands for engines.
    """

    def __init__(self, cells: int, clocks: VectorClocks) -> None:
        self.clocks, self.rows = clocks, clocks.warps + 1
        self.words = np.zeros((clocks.together * self.rows, cells), np.int64)
        self.unknown: dict[tuple[int, int], list[int]] = {}

    def accessed(self, first: int, end: int) -> Array:
        return np.logical_or.reduce(self.words[:, first:end] != 0)

    def _homes(self, touch: Touch) -> Array:
        """The row of the batch of each lane's block."""
        row = self.clocks.row if touch.lanes is None else self.clocks.row[touch.lanes]
        return row.reshape(-1, *[1] * (touch.mine.ndim - 1))

    def races(self, touch: Touch, clocks: VectorClocks) -> tuple[Array, Array]:
        """Where an earlier read is not ordered before this access, and its mark."""
        del clocks
        shape = touch.cells.shape
        found, marks = np.zeros(shape, bool), np.zeros(shape, np.int64)
        for row, there in self._words(touch.cells):
            for races, others in self._unordered(row, there, touch):
                marks = np.where(races & ~found, others, marks)
                found |= races
        return found, marks

    def _words(self, cells: Array) -> Iterator[tuple[int, Array]]:
        """The words of some cells, with their rows."""
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
        """For lanes named by words: where a read is not ordered, and its mark."""
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

    def note(self, touch: Touch, clocks: VectorClocks) -> None:
        """Records reads of lanes."""
        del clocks
        column = (touch.mine & CODE) - 1 + self.column(self._homes(touch))
        code = np.broadcast_to(column, touch.cells.shape)
        now = int(touch.mine.flat[0]) >> STAMP & STAMPS
        self._set_aside(touch, code, now)
        self.add(touch.cells, code, now)

    def _set_aside(self, touch: Touch, columns: Array, now: int) -> None:
        """Moves reads of other stamps out of the words of cells that lanes read now.

        Reads that any of these lanes knows of are dropped; the rest is kept beside.
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
        """Records reads at a stamp by threads or engines with these columns."""
        self._renew(cells, columns)
        flat, width = self.words.reshape(-1), self.words.shape[1]
        at = (columns // WARP * width + cells).reshape(-1)
        flat[at] = (flat[at] & LANES) | (stamp << WARP)
        np.bitwise_or.at(flat, at, np.int64(1) << (columns % WARP).reshape(-1))

    def _renew(self, cells: Array, columns: Array) -> None:
        """Drops earlier reads, kept beside the words, of lanes that read again."""
        for (row, cell), words in [*self.unknown.items()]:
            again = (cells == cell) & (columns // WARP == row)
            bits = sum({1 << int(column) % WARP for column in columns[again]})
            self._keep((row, cell), [word & ~bits for word in words])

    def _keep(self, key: tuple[int, int], words: list[int]) -> None:
        self.unknown[key] = [word for word in words if word & LANES]
        if not self.unknown[key]:
            del self.unknown[key]

    def forget(self, cells: Array) -> None:
        """Clears cells after a write that is ordered behind all their reads."""
        self.words[:, cells] = 0
        for key in [key for key in self.unknown if (cells == key[1]).any()]:
            del self.unknown[key]
