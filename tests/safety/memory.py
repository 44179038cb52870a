"""Arrays between pages that nobody may touch, with canaries in every gap.

Comes in: shape, strides in elements and element type.  Goes out: a `Guarded` array; an
access beyond its pages ends the process, and a write into a gap is found afterwards.
"""

from __future__ import annotations

import ctypes
import mmap
from dataclasses import dataclass
from operator import mul

import numpy as np

PAGE = mmap.PAGESIZE
CANARY = 0xA5
NO_ACCESS = 0


@dataclass(slots=True)
class Guarded:
    """An array, the bytes of its pages, and which of these belong to it."""

    array: np.ndarray
    pages: np.ndarray
    own: np.ndarray

    def is_intact(self) -> bool:
        """Whether all canaries live."""
        return bool((self.pages[~self.own] == CANARY).all())


def guarded(
    shape: tuple[int, ...],
    strides: tuple[int, ...],
    dtype: np.dtype,
    *,
    at_end: bool,
) -> Guarded:
    """An array that begins, or ends, right at a page without access.

    ``strides`` count elements and may be negative.

    >>> found = guarded((2, 3), (4, 1), np.dtype(np.float32), at_end=True)
    >>> found.array.shape, found.is_intact()
    ((2, 3), True)
    """
    steps = [(n - 1) * s for n, s in zip(shape, strides, strict=True)]
    is_empty = 0 in shape
    low = 0 if is_empty else sum(min(step, 0) for step in steps)
    high = 0 if is_empty else sum(max(step, 0) for step in steps) + 1
    size = (high - low) * dtype.itemsize
    room = max(-(-size // PAGE), 1) * PAGE
    pages = _between_walls(room)
    first = (room - size if at_end else 0) - low * dtype.itemsize
    array = np.ndarray(
        shape,
        dtype,
        buffer=pages.data,
        offset=min(first, room),
        strides=tuple(s * dtype.itemsize for s in strides),
    )
    own = np.zeros(room, bool)
    for index in np.ndindex(*shape):
        at = first + dtype.itemsize * sum(map(mul, index, strides))
        own[at : at + dtype.itemsize] = True
    return Guarded(array, pages, own)


def _between_walls(room: int) -> np.ndarray:
    """Bytes of whole pages, with a page that faults on either side."""
    area = mmap.mmap(-1, room + 2 * PAGE)
    memory = np.frombuffer(area, np.uint8)
    protect = ctypes.CDLL(None, use_errno=True).mprotect
    for wall in (0, PAGE + room):
        where = ctypes.c_void_p(memory.ctypes.data + wall)
        if protect(where, ctypes.c_size_t(PAGE), NO_ACCESS):
            raise OSError(ctypes.get_errno(), "mprotect")
    pages = memory[PAGE : PAGE + room]
    pages[:] = CANARY
    return pages
