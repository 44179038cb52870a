"""Workspaces of host programs: memory that a function allocates, uses and gives back.

Freed blocks are kept for the next call, so a call neither maps pages nor touches them
for the first time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from threading import Lock
from typing import Any

import numpy as np

ALIGNMENT = 64
KEPT_BYTES = 1 << 30
"""Free blocks beyond this total are given back to the system."""


@dataclass(slots=True)
class Pool:
    """Blocks of main memory, aligned to a cache line."""

    free: dict[int, list[np.ndarray]] = field(default_factory=dict)
    kept: int = 0
    lock: Lock = field(default_factory=Lock)

    def take(self, size: int) -> np.ndarray:
        """``size`` bytes, uninitialised."""
        with self.lock:
            blocks = self.free.get(size)
            if blocks:
                self.kept -= size
                return blocks.pop()
        raw = np.empty(size + ALIGNMENT, np.uint8)
        start = -raw.__array_interface__["data"][0] % ALIGNMENT
        return raw[start : start + size]

    def give(self, block: np.ndarray) -> None:
        """Keep a block for the next call."""
        with self.lock:
            if self.kept + block.nbytes <= KEPT_BYTES:
                self.kept += block.nbytes
                self.free.setdefault(block.nbytes, []).append(block)

    def array(
        self, shape: tuple[int, ...], dtype: Any
    ) -> tuple[np.ndarray, np.ndarray]:
        """(an array, the block under it)."""
        wanted = np.dtype(dtype)
        count = 1
        for extent in shape:
            count *= extent
        block = self.take(count * wanted.itemsize)
        return block.view(wanted).reshape(shape), block
