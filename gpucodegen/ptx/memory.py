"""The global memory of an emulated device: allocations in one arena, apart from others.

Between allocations lie gaps that belong to nobody, and freed places are used again only
when the rest is used up, so that a stray or stale address meets no neighbour.
"""

from __future__ import annotations

import mmap
from typing import Any

import numpy as np

from gpucodegen.ptx.faults import OutOfMemory
from gpucodegen.ptx.types import Array, align

BASE = 0x7F0000000000
"""Address of the arena; everything below it is shared, local or nothing."""
ALIGNMENT = 256
GAP = 4096
POISON = 0xCB
"""Contents of memory that nobody wrote."""
UNITS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""What is moved at once, by its width; NumPy has no plain type of 16 bytes."""


def reserved(nbytes: int) -> Array:
    """Zero bytes that take up memory only where they are touched."""
    flags = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS
    flags |= getattr(mmap, "MAP_NORESERVE", 0)
    return np.frombuffer(mmap.mmap(-1, max(nbytes, 1), flags=flags), np.uint8)


def views(data: Array) -> dict[int, Array]:
    """The same bytes in units of each width."""
    return {width: data.view(unit) for width, unit in UNITS.items()}


class Memory:
    """Memory of ``limit`` bytes, gaps included.

    >>> memory = Memory(limit=1 << 20)
    >>> address = memory.allocate(12)
    >>> memory.bytes(address, 12).view(np.float32)[:] = 1.5, 2.5, 3.5
    >>> memory.bytes(address + 4, 4).view(np.float32)
    array([2.5], dtype=float32)
    >>> memory.free(address)
    """

    def __init__(self, limit: int = 1 << 32) -> None:
        self.limit = limit
        self.data = reserved(align(limit, ALIGNMENT))
        self.units = views(self.data)
        self.bases = np.zeros(0, np.int64)
        self.ends = np.zeros(0, np.int64)
        self.descriptors: dict[int, Any] = {}
        """What a driver has encoded into memory, by its address: tensor maps."""
        self._next = GAP

    @property
    def top(self) -> int:
        """Where the last allocation ends, from the start of the arena."""
        return int(self.ends.max(initial=0))

    @property
    def used(self) -> int:
        """Bytes in allocations."""
        return int((self.ends - self.bases).sum())

    def allocate(self, nbytes: int) -> int:
        """The address of new memory, a multiple of 256; raises `OutOfMemory`."""
        if nbytes < 0:
            raise ValueError(f"an allocation of {nbytes} bytes")
        base = self._hole(nbytes)
        if base is None:
            raise OutOfMemory(nbytes, self.limit)
        at = int(np.searchsorted(self.bases, base))
        self.bases = np.insert(self.bases, at, base)
        self.ends = np.insert(self.ends, at, base + nbytes)
        self.data[base : base + nbytes] = POISON
        self._next = align(base + nbytes + GAP, ALIGNMENT)
        return BASE + base

    def _hole(self, nbytes: int) -> int | None:
        """The first place after the last allocation, or else the first of all."""
        starts = np.append(align(GAP, ALIGNMENT), self.ends + GAP)
        starts = -(-starts // ALIGNMENT) * ALIGNMENT
        stops = np.append(self.bases - GAP, self.limit)
        for least in (self._next, 0):
            first = np.maximum(starts, least)
            fits = first + nbytes <= stops
            if fits.any():
                return int(first[np.argmax(fits)])
        return None

    def free(self, address: int) -> None:
        """Give an allocation back; a `ValueError` if no allocation starts there."""
        at = int(np.searchsorted(self.bases, address - BASE))
        if at == len(self.bases) or self.bases[at] != address - BASE:
            raise ValueError(f"no allocation starts at {address:#x}")
        self.bases = np.delete(self.bases, at)
        self.ends = np.delete(self.ends, at)

    def bytes(self, address: int, nbytes: int) -> Array:
        """A writable view of device memory; `ValueError` outside an allocation."""
        start = address - BASE
        at = int(np.searchsorted(self.bases, start, "right")) - 1
        if nbytes < 0 or at < 0 or start + nbytes > self.ends[at]:
            raise ValueError(f"{nbytes} bytes at {address:#x} are not allocated")
        return self.data[start : start + nbytes]

    def outside(self, starts: Array, width: int) -> Array | None:
        """Which accesses leave the allocation they start in; None: none does.

        The last word of an allocation belongs to it, as it does on a device: atomics
        on narrow elements go by words.
        """
        if not len(self.bases):
            return np.ones(len(starts), bool)
        low, high = int(starts.min()), int(starts.max())
        at = int(np.searchsorted(self.bases, low, "right")) - 1
        if at >= 0:
            end = int(self.ends[at])
            if high + width <= end or (high < end and high + width <= align(end, 4)):
                return None
        at = np.searchsorted(self.bases, starts, "right") - 1
        ends = self.ends[at]
        inside = (at >= 0) & (starts < ends) & (starts + width <= -(-ends // 4) * 4)
        return None if inside.all() else ~inside

    def nearest(self, address: int) -> str:
        """What a stray address is close to, in words."""
        if not len(self.bases):
            return "nothing is allocated"
        start = address - BASE
        gaps = np.minimum(abs(start - self.bases), abs(start - self.ends))
        at = int(np.argmin(gaps))
        base, end = int(self.bases[at]), int(self.ends[at])
        return f"byte {start - base} of the nearest allocation of {end - base} bytes"
