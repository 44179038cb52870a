"""The lanes of a batch: where each stands, and whose fault it is."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.launch import Launch
from gpucodegen.ptx.translation.special import place
from gpucodegen.ptx.types import Array


class BatchLanes:
    """Threads of some blocks of a launch; ``lanes`` is how many.

    ``marks`` tell who touches memory now: block, interval between barriers and thread.
    """

    marks: Array

    def __init__(self, launch: Launch, first: int, blocks: int) -> None:
        self.launch, self.first, self.blocks = launch, first, blocks
        self.threads = launch.threads
        self.lanes = blocks * self.threads
        every = np.arange(self.lanes)
        self.thread, self.row = every % self.threads, every // self.threads
        self.block = first + self.row
        self.extents, self.grid = launch.block, launch.grid

    def fault(self, kind: str, message: str, index: int, lane: int) -> NoReturn:
        """Tell where and in whose hands a kernel failed."""
        x = self.launch.entry.instructions[index]
        raise faults.Fault(
            kind,
            message,
            self.launch.entry.name,
            x.line,
            x.location,
            _place(int(self.block[lane]), self.grid),
            _place(int(self.thread[lane]), self.extents),
            x.text,
        )


def _place(number: int, extents: tuple[int, int, int]) -> tuple[int, int, int]:
    x, y, z = (int(place(number, extents, axis)) for axis in range(3))
    return x, y, z
