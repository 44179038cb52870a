"""The barrier of all threads of a block."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gpucodegen.ptx.types import Array, Mask


@dataclass(frozen=True, slots=True)
class Divergence:
    """Why a barrier can never open: for a lane that waits at an instruction.

    Either other lanes wait at another instruction, or some never come.
    """

    index: int
    lane: int
    other: int | None = None
    missing: int = 0


class Barriers:
    """Lanes that wait; a block goes on when all its threads have arrived."""

    def __init__(self, blocks: int, threads: int) -> None:
        self.blocks, self.threads = blocks, threads
        self.waiting = np.full(blocks * threads, -1)
        self.anybody = False
        self.interval = np.ones(blocks, np.int64)

    def arrive(self, index: int, mask: Mask) -> list[tuple[int, Mask]] | Divergence:
        """Let lanes arrive at an instruction; which lanes go on from which one."""
        if mask is None and not self.anybody:
            self.interval += 1
            return [(index, None)]
        self.waiting[... if mask is None else mask] = index
        self.anybody = True
        rows = self.waiting.reshape(self.blocks, self.threads)
        ready = (rows >= 0).all(1)
        if not ready.any():
            return []
        mixed = ready & (rows.min(1) != rows.max(1))
        if mixed.any():
            return self._mixed(index, int(np.argmax(mixed)))
        free = np.repeat(ready, self.threads)
        opened: list[tuple[int, Mask]] = []
        for site in np.unique(self.waiting[free]):
            lanes = free & (self.waiting == site)
            opened.append((int(site), None if lanes.all() else lanes))
        self.waiting[free] = -1
        self.anybody = bool((self.waiting >= 0).any())
        self.interval[ready] += 1
        return opened

    def _mixed(self, index: int, block: int) -> Divergence:
        row = self.waiting[block * self.threads : (block + 1) * self.threads]
        here = row == index
        other = int(row[~here][0])
        lane = block * self.threads + int(np.argmax(here))
        return Divergence(index, lane, other=other)

    def left(self, block_of: Array) -> Divergence | None:
        """What still waits when nothing runs any more."""
        if not self.anybody:
            return None
        lane = int(np.argmax(self.waiting >= 0))
        mates = block_of == block_of[lane]
        missing = np.flatnonzero(mates & (self.waiting < 0))
        return Divergence(int(self.waiting[lane]), lane, missing=len(missing))
