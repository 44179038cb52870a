"""Which kernel a contraction becomes on a GPU: the candidate of least estimated cycles.

One step of the reduction takes a multiprocessor, for each block that it runs,

    max(threads rows columns / fma, threads 4 (rows + columns) / shared_rate)

cycles, where a thread multiplies ``rows`` by ``columns`` elements that it has read from
shared memory: multiply-adds, and reads of which no two threads share one.  The busiest
one runs ceil(blocks / processors) blocks.  Their steps take no less than the latency of
a fetch from global memory, which ``depth`` steps share.

This is an estimate from published facts; nothing in it was measured by this project.
"""

from __future__ import annotations

from gpucodegen.tiling.machine.gpu.candidates import CANDIDATES, SMALLEST, Candidate
from gpucodegen.tiling.machine.gpu.devices import DEVICES, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import LATENCY_L2

WORD = 4
"""Bytes of an f32, which every factor is in shared memory."""
DEFAULT = DEVICES["H100"]
"""What kernels are planned for."""


def plan_contraction(
    rows: int, columns: int, batch: int = 1, *, device: GpuDevice = DEFAULT
) -> Candidate:
    """The kernel of ``batch`` results of ``rows x columns``.

    No tile is larger than the result.  Of equal costs, the smaller tile wins: its
    blocks are more, and wait for memory at different times.

    >>> [plan_contraction(n, n).tile_rows for n in (20, 256, 1024, 4096)]
    [16, 32, 64, 128]
    >>> plan_contraction(256, 256, batch=64).tile_rows
    128
    """
    larger = (
        c for c in CANDIDATES if c.tile_rows <= rows and c.tile_columns <= columns
    )

    def cycles(candidate: Candidate) -> float:
        down, across = (
            -(-rows // candidate.tile_rows),
            -(-columns // candidate.tile_columns),
        )
        blocks = -(-down * across * batch // device.processors)
        return max(
            blocks * step_cycles(candidate, device), LATENCY_L2 / candidate.depth
        )

    return min(larger, key=cycles, default=SMALLEST)


def step_cycles(candidate: Candidate, device: GpuDevice) -> float:
    """Estimated cycles of one step of the reduction of a block.

    >>> [step_cycles(candidate, DEFAULT) for candidate in CANDIDATES]
    [8.0, 24.0, 64.0, 128.0]
    """
    rows, columns = candidate.thread_rows, candidate.thread_columns
    unit = device.multiprocessor
    products = candidate.threads * rows * columns / unit.fma
    return max(products, candidate.threads * WORD * (rows + columns) / unit.shared_rate)
