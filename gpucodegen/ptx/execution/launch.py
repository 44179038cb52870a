"""One launch of a kernel: its sizes, its arguments and the memory it works on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gpucodegen.ptx.memory import Memory
from gpucodegen.ptx.parsing.entries import Entry
from gpucodegen.ptx.translation.program import EntryProgram

Extents = tuple[int, int, int]
STEPS = 10**7
"""Steps that thread blocks may take; one takes some microseconds."""


@dataclass(frozen=True, slots=True)
class Launch:
    """What all batches of a launch have in common; sizes are in bytes."""

    entry: Entry
    program: EntryProgram
    grid: Extents
    block: Extents
    parameters: bytes
    memory: Memory
    dynamic: int
    symbols: Mapping[str, Any]
    check: bool
    measure: bool
    output: Callable[[str], object]
    """What takes the text that kernels print."""
    cluster: Extents = (1, 1, 1)
    patience: int = -1
    """Visits to basic blocks after which measured thread blocks end; -1: none."""
    steps: int = STEPS
    """Visits to basic blocks in which thread blocks side by side must end; 0: any."""
    trace: bool = False
    """Whether marks tell who touched global memory also where nothing can race."""

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.block[0] * self.block[1] * self.block[2]

    @property
    def cluster_blocks(self) -> int:
        """Blocks of a cluster."""
        return self.cluster[0] * self.cluster[1] * self.cluster[2]

    @property
    def blocks(self) -> int:
        """Blocks of the grid."""
        return self.grid[0] * self.grid[1] * self.grid[2]

    @property
    def shared_bytes(self) -> int:
        """Shared memory of a block, static and dynamic."""
        return self.entry.shared_bytes + self.dynamic
