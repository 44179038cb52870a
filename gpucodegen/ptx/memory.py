"""Global memory of an emulated device, and tensor maps.

All allocations lie in one arena with gaps between them, and go round in a range twice
as large as the memory in use, so that a stray or stale address hits no neighbour.
`TensorMap` is the descriptor that ``cuTensorMapEncodeTiled`` writes on sm_90.
"""

from __future__ import annotations

import mmap
import platform
import sys
from bisect import bisect_left, bisect_right
from math import prod
from typing import Any

import numpy as np

from gpucodegen.ptx.faults import OutOfMemory
from gpucodegen.ptx.types import POISON, Array, align
from gpucodegen.records import dataclass

BASE = 0x7F0000000000
"""Address of the arena; everything below it is shared, local or nothing."""
ALIGNMENT = 256
GAP = 4096
_PAGE = mmap.PAGESIZE
_ROUND = 1 << 26
"""Where allocations turn back to the first hole, if no more is in use."""
_LARGE = 1 << 20
_IS_COMMON = platform.machine() in ("x86_64", "aarch64")
_NORESERVE = 0x4000 if sys.platform == "linux" and _IS_COMMON else 0
"""MAP_NORESERVE, which Python names from 3.13 on: no limit on what is not touched."""
UNITS = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""Access units by width; NumPy has no plain type of 16 bytes."""


def reserved(nbytes: int) -> mmap.mmap:
    """Zero bytes whose pages are committed only when touched.

    Windows has no such flags and commits all of them.
    """
    flags = 0
    for name in ("MAP_PRIVATE", "MAP_ANONYMOUS"):
        flags |= getattr(mmap, name, 0)
    flags |= getattr(mmap, "MAP_NORESERVE", _NORESERVE)
    options = {"flags": flags} if flags else {}
    return mmap.mmap(-1, max(nbytes, 1), **options)


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

    def __init__(self, limit: int = 1 << 32, *, poisoned: bool = True) -> None:
        self.limit = limit
        self.poisoned = poisoned
        self._pages = reserved(align(limit, ALIGNMENT))
        self.data = np.frombuffer(self._pages, np.uint8)
        self.units = views(self.data)
        self.descriptors: dict[int, Any] = {}
        """What a driver has encoded into memory, by its address: tensor maps."""
        self.used = 0
        """Bytes in allocations."""
        self._bases: list[int] = []
        self._ends: list[int] = []
        self._next = 0

    @property
    def top(self) -> int:
        """The end of the last word of the last allocation, from the arena's start."""
        return align(self._ends[-1], 4) if self._ends else 0

    def spans(self) -> list[tuple[int, int]]:
        """First bytes and ends of all allocations, from the start of the arena."""
        return list(zip(self._bases, self._ends, strict=True))

    def allocate(self, nbytes: int) -> int:
        """The address of new memory, a multiple of 256; raises `OutOfMemory`."""
        if nbytes < 0:
            raise ValueError(f"an allocation of {nbytes} bytes")
        base = self._hole(nbytes)
        if base is None:
            raise OutOfMemory(nbytes, self.limit)
        at = bisect_right(self._bases, base)
        self._bases.insert(at, base)
        self._ends.insert(at, base + nbytes)
        self.used += nbytes
        if self.poisoned:
            self.data[base : base + nbytes] = POISON
        after = base + nbytes
        self._next = after if after < max(_ROUND, 2 * self.used) else 0
        return BASE + base

    def _hole(self, nbytes: int) -> int | None:
        """The first gap after the last allocation, else the first of all."""
        for least in (self._next, 0):
            at = bisect_right(self._bases, least)
            while at <= len(self._bases):
                below = max(least, self._ends[at - 1] if at else 0)
                base = align(below + GAP, ALIGNMENT)
                last = at == len(self._bases)
                above = self.limit if last else self._bases[at] - GAP
                if base + nbytes <= above:
                    return base
                at += 1
        return None

    def free(self, address: int) -> None:
        """Frees an allocation; `ValueError` if no allocation starts there.

        The pages of large ones return to the operating system, where it allows that.
        """
        at = bisect_left(self._bases, address - BASE)
        if at == len(self._bases) or self._bases[at] != address - BASE:
            raise ValueError(f"no allocation starts at {address:#x}")
        base, end = self._bases.pop(at), self._ends.pop(at)
        self.descriptors.pop(address, None)
        self.used -= end - base
        if end - base >= _LARGE and hasattr(self._pages, "madvise"):
            start = align(base, _PAGE)
            self._pages.madvise(mmap.MADV_DONTNEED, start, end // _PAGE * _PAGE - start)

    def bytes(self, address: int, nbytes: int) -> Array:
        """A writable view of device memory; `ValueError` outside an allocation."""
        start = address - BASE
        at = bisect_right(self._bases, start) - 1
        if nbytes < 0 or at < 0 or start + nbytes > self._ends[at]:
            raise ValueError(f"{nbytes} bytes at {address:#x} are not allocated")
        return self.data[start : start + nbytes]

    def allocation(self, address: int) -> tuple[int, int]:
        """The start and end of the allocation at an address."""
        at = bisect_right(self._bases, address - BASE) - 1
        return BASE + self._bases[at], BASE + self._ends[at]

    def allocations(self) -> list[tuple[int, int]]:
        """First bytes and ends of all allocations, from the start of the arena."""
        return list(zip(self._bases, self._ends, strict=True))

    def outside(self, starts: Array, width: int) -> Array | None:
        """The accesses that leave the allocation they start in; None: none does.

        The last word of an allocation belongs to it, as on a device: atomics on narrow
        elements access whole words.
        """
        if not self._bases:
            return np.ones(len(starts), bool)
        low, high = int(starts.min()), int(starts.max())
        at = bisect_right(self._bases, low) - 1
        if at >= 0:
            end = self._ends[at]
            if high + width <= end or (high < end and high + width <= align(end, 4)):
                return None
        places = np.searchsorted(self._bases, starts, "right") - 1
        ends = np.array(self._ends)[places]
        inside = (starts < ends) & (starts + width <= -(-ends // 4) * 4)
        inside &= places >= 0
        return None if inside.all() else ~inside

    def nearest(self, address: int) -> str:
        """The allocations near a stray address, in words."""
        if not self._bases:
            return "nothing is allocated"
        start = address - BASE
        known = zip(self._bases, self._ends, strict=True)
        _, base, end = min(
            (min(abs(start - b), abs(start - e)), b, e) for b, e in known
        )
        return f"byte {start - base} of the nearest allocation of {end - base} bytes"


_BYTES = 128
"""Size and least alignment of an encoded map, and of a copy's destination."""


@dataclass(frozen=True, slots=True)
class TensorMap:
    """A tensor in global memory, and the box that one copy brings.

    Extents and the box count elements of ``size`` bytes, the innermost dimension first;
    ``strides`` are in bytes, of all dimensions but the innermost.  ``swizzle`` is 0 or
    the span in bytes within which pieces of 16 bytes are permuted: 32, 64 or 128.
    Copies read zeros outside the tensor.

    >>> TensorMap(0, 4, (60, 8), (240,), (32, 8), 128).nbytes
    1024
    """

    address: int
    size: int
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    box: tuple[int, ...]
    swizzle: int = 0

    def __post_init__(self) -> None:
        row = self.box[0] * self.size
        wrong = (
            row % 16
            or (self.swizzle and row > self.swizzle)
            or self.swizzle not in (0, 32, 64, 128)
            or max(self.box) > 256
            or any(stride % 16 for stride in self.strides)
            or not len(self.extents) == len(self.box) == len(self.strides) + 1
        )
        if wrong:
            raise ValueError(f"no driver encodes {self}")

    @property
    def nbytes(self) -> int:
        return int(np.prod(self.box)) * self.size

    @property
    def span(self) -> int:
        """Bytes of the tensor, of which strides may share some or leave some out."""
        rows = zip(self.extents[1:], self.strides, strict=True)
        last = sum((extent - 1) * stride for extent, stride in rows)
        return min(prod(self.extents) * self.size, self.extents[0] * self.size + last)

    @property
    def alignment(self) -> int:
        """The required alignment of a box in shared memory."""
        return max(_BYTES, 8 * self.swizzle)

    def encode(self, memory: Memory) -> int:
        """Writes the map to device memory; kernels take its address."""
        address = memory.allocate(_BYTES)
        memory.descriptors[address] = self
        return address

    def bytes_at(self, corner: tuple[int, ...]) -> Array:
        """The arena offset of each byte of the box at a corner; -1: outside."""
        index = np.indices(self.box[::-1])[::-1]
        start = np.full(self.box[::-1], self.address - BASE)
        inside = np.ones(self.box[::-1], bool)
        strides = (self.size, *self.strides)
        for i, first, extent, stride in zip(
            index, corner, self.extents, strides, strict=True
        ):
            inside &= (i + first >= 0) & (i + first < extent)
            start = start + (i + first) * stride
        first = np.where(inside, start, -1).reshape(-1, 1)
        each = np.where(first < 0, -1, first + np.arange(self.size))
        return each.reshape(-1)

    def places(self, address: int) -> Array:
        """The shared address of each byte, for a box at an address."""
        at = address + np.arange(self.nbytes)
        return swizzled(at, self.swizzle) - address if self.swizzle else at - address


def swizzled(addresses: Array, span: int) -> Array:
    """Swizzled addresses: bits of the 16-byte piece are XORed with those of the row.

    >>> swizzled(np.array([0, 128, 256]), 128).tolist()
    [0, 144, 288]
    """
    return addresses ^ ((addresses >> 3) & (span - 16))
