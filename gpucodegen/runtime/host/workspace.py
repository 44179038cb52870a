"""Workspaces of host programs: memory that a function allocates, uses and gives back.

Freed buffers are kept for the next call, and so are results that callers have dropped:
a call neither maps pages nor touches them for the first time, and describes each buffer
once.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass, field
from functools import lru_cache
from sys import getrefcount
from threading import Lock

import numpy as np

from gpucodegen import errors
from gpucodegen.runtime.devices.strides import row_major
from gpucodegen.runtime.host.buffers import CPU, Buffer
from gpucodegen.runtime.host.engines import Maker, Shape, storage

ALIGNMENT = 64
KEPT_BYTES = 1 << 30
"""Free buffers beyond this total are given back to the system."""


LENT_BYTES = 1 << 28
"""Results of calls that are remembered, to be taken again when callers drop them."""
LENT_ALIKE = 8
"""Remembered results of one shape: each call looks through them."""

Key = tuple[Shape, str]


def _buffers() -> defaultdict[Key, list[Buffer]]:
    return defaultdict(list)


@dataclass(slots=True)
class Pool:
    """Buffers in main memory, aligned to a cache line.

    >>> pool = Pool()
    >>> buffer = pool.take((2, 3), "f32")
    >>> pool.give(buffer)
    >>> pool.take((2, 3), "f32") is buffer, buffer.pointer % ALIGNMENT
    (True, 0)

    A result belongs to the caller until neither it nor a view of it is in use.

    >>> result = pool.lend(buffer)
    >>> pool.take((2, 3), "f32") is buffer
    False
    >>> del result
    >>> pool.take((2, 3), "f32") is buffer
    True
    """

    free: defaultdict[Key, list[Buffer]] = field(default_factory=_buffers)
    kept: int = 0
    lent: defaultdict[Key, list[Buffer]] = field(default_factory=_buffers)
    remembered: int = 0
    lock: Lock = field(default_factory=Lock)

    def take(self, shape: Shape, dtype: str) -> Buffer:
        """Uninitialised memory: a kept buffer of the shape, or a new one."""
        key = shape, dtype
        with self.lock:
            buffers = self.free[key]
            if buffers:
                buffer = buffers.pop()
                self.kept -= buffer.array.nbytes
                return buffer
            buffers = self.lent[key]
            for position, buffer in enumerate(buffers):
                if _holders(buffer) == NOBODY:
                    del buffers[position]
                    self.remembered -= buffer.array.nbytes
                    return buffer
        return _buffer(shape, dtype)

    def give(self, buffer: Buffer) -> None:
        """Keep a buffer for the next call."""
        with self.lock:
            if self.kept + buffer.array.nbytes <= KEPT_BYTES:
                self.kept += buffer.array.nbytes
                self.free[buffer.shape, buffer.dtype].append(buffer)

    def lend(self, buffer: Buffer) -> np.ndarray:
        """The buffer as a result: an array of the caller's."""
        array = buffer.array
        with self.lock:
            if self.remembered + array.nbytes > LENT_BYTES:
                self.lent.clear()
                self.remembered = 0
            lent = self.lent[buffer.shape, buffer.dtype]
            if buffer not in lent:
                if len(lent) == LENT_ALIKE:
                    self.remembered -= lent.pop(0).array.nbytes
                lent.append(buffer)
                self.remembered += array.nbytes
        return array.view()

    def maker(self, shape: Shape, dtype: str) -> Maker:
        """What gives uninitialised memory as a result, and its address.

        >>> make = Pool().maker((2, 3), "f32")
        >>> address, array = make()
        >>> del array
        >>> make()[0] == address
        True
        """
        key = shape, dtype

        def make() -> tuple[int, np.ndarray]:
            with self.lock:
                for buffer in self.lent[key]:
                    if getrefcount(buffer.array.base) == NOBODY:
                        return buffer.pointer, buffer.array.view()
            buffer = self.take(shape, dtype)
            return buffer.pointer, self.lend(buffer)

        return make


def _buffer(shape: Shape, dtype: str) -> Buffer:
    kind, strides, size = _layout(shape, dtype)
    try:
        raw = np.empty(size + ALIGNMENT, np.uint8)
    except (MemoryError, ValueError) as problem:
        raise errors.OutOfMemory(size=size) from problem
    address = int(raw.__array_interface__["data"][0])
    start = -address % ALIGNMENT
    array = np.ndarray(shape, kind, raw, start)
    return Buffer(array, dtype, shape, strides, address + start, CPU, pooled=True)


@lru_cache(256)
def _layout(shape: Shape, dtype: str) -> tuple[np.dtype, Shape, int]:
    """(type of an element, strides in elements, size in bytes)."""
    kind = storage(dtype)
    return kind, row_major(shape), math.prod(shape) * kind.itemsize


def _holders(buffer: Buffer) -> int:
    """How many objects hold the memory; views hold it, not each other."""
    return getrefcount(buffer.array.base)


NOBODY = _holders(_buffer((1,), "i8"))
"""The number of holders of memory that only its buffer holds."""
