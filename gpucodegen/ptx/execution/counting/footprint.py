"""Sectors of global memory that each block touches, counted once.

They are what a block's accesses cost beyond a cache that keeps all of them.
"""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from gpucodegen.ptx.execution.counting.cost import SECTOR_SHIFT
from gpucodegen.ptx.memory import Memory, reserved
from gpucodegen.ptx.types import Array, align

READS, WRITES = "reads", "writes"


class Footprint:
    """Sectors of one batch: a row of flags for each block, and direction."""

    def __init__(self, memory: Memory, blocks: int) -> None:
        self.memory, self.blocks = memory, blocks
        self._columns = align(memory.top >> SECTOR_SHIFT, 8) + 8
        self._flags: dict[str, np.ndarray[Any, np.dtype[np.uint8]]] = {}

    def touch(self, direction: str, rows: Array, offsets: Array, width: int) -> None:
        """Note accesses: blocks of the batch, offsets of their first bytes, bytes."""
        if direction not in self._flags:
            pages = reserved(self.blocks * self._columns)
            self._flags[direction] = np.frombuffer(pages, np.uint8)
        flags = self._flags[direction]
        start = rows * self._columns
        flags[start + (offsets >> SECTOR_SHIFT)] = 1
        if width > 1 << SECTOR_SHIFT:
            flags[start + ((offsets + width - 1) >> SECTOR_SHIFT)] = 1

    def count(self) -> Counter[tuple[str, int]]:
        """Sectors by direction and by the allocation's first address, over blocks."""
        found: Counter[tuple[str, int]] = Counter()
        for direction, flags in self._flags.items():
            table = flags.reshape(self.blocks, self._columns)
            for start, end in self.memory.allocations():
                low, high = start >> SECTOR_SHIFT, -(-end >> SECTOR_SHIFT) + 1
                touched = int(np.count_nonzero(table[:, low:high]))
                if touched:
                    found[direction, start] += touched
        return found
