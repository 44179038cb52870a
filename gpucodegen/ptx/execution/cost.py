"""Cost of warp accesses: sectors of global memory, wavefronts of shared memory.

The functions take byte offsets, a row of 32 for each warp, -1 for inactive lanes.
`Footprint` counts the sectors that each block touches once: the cost of a block's
accesses beyond a cache that keeps all of them.

>>> alone = np.arange(32)[None] * 4
>>> int(sectors(alone)), int(wavefronts(alone, 4)), int(wavefronts(alone * 32, 4))
(4, 1, 32)
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable
from typing import Any

import numpy as np

from gpucodegen.ptx.memory import Memory, reserved
from gpucodegen.ptx.types import Array, align

SECTOR_SHIFT = 5
"""A sector of 32 bytes as a power of two."""
WAVEFRONT = 128
"""Bytes that the banks of shared memory give at once."""
_BANKS = 32
_PHASES = {8: 2, 16: 4}
"""Shared-memory accesses of a warp by bytes per lane: parts that are served in turn."""


def _distinct(rows: Array) -> Array:
    """How many different offsets each row has."""
    ordered = np.sort(rows, 1)
    fresh = (ordered[:, 1:] != ordered[:, :-1]) & (ordered[:, 1:] >= 0)
    return fresh.sum(1) + (ordered[:, 0] >= 0)


def sectors(rows: Array) -> int:
    """Sectors of 32 bytes that the warps touch."""
    return int(_distinct(np.where(rows >= 0, rows >> SECTOR_SHIFT, -1)).sum())


def least_sectors(rows: Array, width: int) -> int:
    """Sectors if the requested bytes of each warp were contiguous.

    >>> same = np.zeros((8, 32), np.int64)
    >>> least_sectors(same, 4), least_sectors(same + 4 * np.arange(32), 4)
    (8, 32)
    """
    return int((-(-_distinct(rows) * width // (1 << SECTOR_SHIFT))).sum())


def distinct_bytes(rows: Array, width: int) -> int:
    """Requested bytes of the warps, each counted once."""
    return int(_distinct(rows).sum()) * width


def wavefronts(rows: Array, width: int) -> int:
    """Wavefronts: the most different words that one bank must serve.

    Accesses of 8 and 16 bytes go in 2 and 4 phases; two phases merge if lanes ``t`` and
    ``t ^ 1``, or ``t`` and ``t ^ 2``, share their addresses.  That rule is
    undocumented: the community has measured it, and ``unmerged_wavefronts`` omits it.
    """
    phases, words = _PHASES.get(width, 1), max(1, width // 4)
    if phases == 1:
        return _turns(rows, 1, words)
    lanes = np.arange(32)
    merged = np.zeros(len(rows), bool)
    for partner in (1, 2):
        merged |= (rows == rows[:, lanes ^ partner]).all(1)
    return _turns(rows[merged], phases // 2, words) + _turns(
        rows[~merged], phases, words
    )


def unmerged_wavefronts(rows: Array, width: int) -> int:
    """Wavefronts if no phases merge.

    >>> pairs = np.arange(32)[None] // 2 * 16
    >>> int(wavefronts(pairs, 16)), int(unmerged_wavefronts(pairs, 16))
    (2, 4)
    """
    return _turns(rows, _PHASES.get(width, 1), max(1, width // 4))


def _turns(rows: Array, phases: int, words: int) -> int:
    if not len(rows):
        return 0
    parts = rows.reshape(len(rows) * phases, -1, 1)
    touched = np.where(parts < 0, -1, (parts >> 2) + np.arange(words))
    ordered = np.sort(touched.reshape(len(parts), -1), 1)
    fresh = np.ones_like(ordered, bool)
    fresh[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
    fresh &= ordered >= 0
    banks = np.arange(len(parts))[:, None] * _BANKS + (ordered & (_BANKS - 1))
    counts = np.bincount(banks[fresh], minlength=len(parts) * _BANKS)
    return int(counts.reshape(-1, _BANKS).max(1).sum())


def least_wavefronts(rows: Array, width: int) -> int:
    """Wavefronts if the requested bytes were spread evenly over all banks."""
    return int(np.maximum(1, -(-_distinct(rows) * width // (4 * _BANKS))).sum())


READS, WRITES = "reads", "writes"


class Footprint:
    """Sectors of one batch: a row of flags for each block, and direction.

    Only chunks of flags with an access are looked at, so that the cost does not grow
    with the memory.  A direction may be any key under which sectors are counted.
    """

    def __init__(self, memory: Memory, blocks: int) -> None:
        self.memory, self.blocks = memory, blocks
        self._columns = align(memory.top >> SECTOR_SHIFT, 8) + 8
        self._flags: dict[Hashable, tuple[Flags, Flags]] = {}
        """Of sectors, and of chunks of them, by direction."""

    def touch(
        self, direction: Hashable, rows: Array, offsets: Array, width: int
    ) -> None:
        """Records accesses: blocks of the batch, byte offsets, sizes in bytes."""
        if direction not in self._flags:
            size = align(self.blocks * self._columns, CHUNK)
            self._flags[direction] = _flags(size), _flags(size // CHUNK)
        flags, chunks = self._flags[direction]
        start = rows * self._columns
        ends = (0, width - 1) if width > 1 << SECTOR_SHIFT else (0,)
        for end in ends:
            places = start + ((offsets + end) >> SECTOR_SHIFT)
            flags[places] = 1
            chunks[places // CHUNK] = 1

    def count(self) -> Counter[tuple[Hashable, int]]:
        """Sectors by direction and by the allocation's first address, over blocks."""
        found: Counter[tuple[Hashable, int]] = Counter()
        for direction, (flags, chunks) in self._flags.items():
            sectors = np.sort(_places(flags, np.flatnonzero(chunks)) % self._columns)
            for start, end in self.memory.allocations():
                low, high = start >> SECTOR_SHIFT, -(-end >> SECTOR_SHIFT) + 1
                first, last = np.searchsorted(sectors, (low, high))
                if first < last:
                    found[direction, start] += int(last - first)
        return found


Flags = np.ndarray[Any, np.dtype[np.uint8]]
CHUNK = 1 << 12
"""Sectors that are looked at together."""


def _flags(size: int) -> Flags:
    return np.frombuffer(reserved(size), np.uint8)


def _places(flags: Flags, chunks: Array) -> Array:
    """Positions of the flags that are set in some chunks."""
    table = flags.reshape(-1, CHUNK)
    parts = np.array_split(chunks, len(chunks) // CHUNK + 1)
    found = [np.flatnonzero(table[some]) for some in parts]
    each = zip(parts, found, strict=True)
    return np.concatenate([some[at // CHUNK] * CHUNK + at % CHUNK for some, at in each])
