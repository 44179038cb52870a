"""The lanes of a batch: where each stands, and whose fault it is."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from gpucodegen.ptx import faults
from gpucodegen.ptx.execution.launch import Launch
from gpucodegen.ptx.execution.order.clocks import Clocks
from gpucodegen.ptx.translation.special import place
from gpucodegen.ptx.types import Array


class BatchLanes:
    """Threads of some blocks of a launch; ``lanes`` is how many.

    ``clocks`` tell who touches memory now, and what orders it; ``exited`` who has left.
    """

    def __init__(self, launch: Launch, numbers: Array) -> None:
        self.launch, self.blocks = launch, len(numbers)
        self.threads = launch.threads
        self.lanes = self.blocks * self.threads
        every = np.arange(self.lanes)
        self.thread, self.row = every % self.threads, every // self.threads
        self.block = numbers[self.row]
        self.warp = self.row * -(-self.threads // 32) + self.thread // 32
        self.extents, self.grid = launch.block, launch.grid
        self.cluster, self.ticks = launch.cluster, 0
        fine = launch.check and launch.program.is_fine
        together = launch.cluster_blocks
        self.clocks = Clocks(self.block, self.row, self.threads, fine, together)
        self.exited = np.zeros(self.lanes, bool)

    def whereabouts(self, index: int, lanes: Array) -> str:
        """Which threads wait at an instruction, in words."""
        x = self.launch.entry.instructions[index]
        threads = self.thread[lanes]
        source = f", {x.location}" if x.location else ""
        return (
            f"{len(threads)} threads from {int(threads[0])} on wait at"
            f" line {x.line}{source}: {x.text}"
        )

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
