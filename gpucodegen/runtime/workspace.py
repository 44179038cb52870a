"""Workspaces of host programs: memory that a function allocates, uses and gives back.

Freed buffers are kept for the next call, so a call neither maps pages nor touches them
for the first time, and describes each buffer once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from threading import Lock

import numpy as np

from gpucodegen.runtime.buffers import CPU, Buffer, row_major
from gpucodegen.runtime.engines import Shape, storage

ALIGNMENT = 64
KEPT_BYTES = 1 << 30
"""Free buffers beyond this total are given back to the system."""


@dataclass(slots=True)
class Pool:
    """Buffers in main memory, aligned to a cache line.

    >>> pool = Pool()
    >>> buffer = pool.take((2, 3), "f32")
    >>> pool.give(buffer)
    >>> pool.take((2, 3), "f32") is buffer, buffer.pointer % ALIGNMENT
    (True, 0)
    """

    free: dict[tuple[Shape, str], list[Buffer]] = field(
        default_factory=dict[tuple[Shape, str], list[Buffer]]
    )
    kept: int = 0
    lock: Lock = field(default_factory=Lock)

    def take(self, shape: Shape, dtype: str) -> Buffer:
        """Uninitialised memory: a kept buffer of the shape, or a new one."""
        with self.lock:
            buffers = self.free.get((shape, dtype))
            if buffers:
                buffer = buffers.pop()
                self.kept -= buffer.array.nbytes
                return buffer
        return _buffer(shape, dtype)

    def give(self, buffer: Buffer) -> None:
        """Keep a buffer for the next call."""
        with self.lock:
            if self.kept + buffer.array.nbytes <= KEPT_BYTES:
                self.kept += buffer.array.nbytes
                key = (buffer.shape, buffer.dtype)
                self.free.setdefault(key, []).append(buffer)


def _buffer(shape: Shape, dtype: str) -> Buffer:
    kind = storage(dtype)
    size = math.prod(shape) * kind.itemsize
    raw = np.empty(size + ALIGNMENT, np.uint8)
    start = -int(raw.__array_interface__["data"][0]) % ALIGNMENT
    block = raw[start : start + size]
    pointer = int(block.__array_interface__["data"][0])
    array = block.view(kind).reshape(shape)
    strides = row_major(shape)
    return Buffer(array, dtype, shape, strides, pointer, CPU, pooled=True)
