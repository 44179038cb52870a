"""Tiles of the attention kernel (`passes.contraction.attention.kernel`).

Registers of a thread, of 255: the sums of the result take ``rows / 64 * columns / 2``,
those of a tile of scores ``rows / 64 * keys / 2``, and queries, where they stay in
registers, ``rows / 64 * depth / 4``.  Measured by ptxas (CUDA 12.9, sm_80) for 64
columns: 254 with queries in registers, and for 128 columns, 32 keys and queries in
shared memory 252, both with 128 rows and without spills.
"""

from __future__ import annotations

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import WARP, GpuDevice

PIECE = 8
"""Elements of one asynchronous copy of 16 bytes."""
WIDEST = 256
"""The most columns of Q and of V."""
_IN_REGISTERS, _BOTH_TILES = 64, 128
"""The most columns for queries in registers, and for two tiles of rows a warp."""


@dataclass(frozen=True, slots=True)
class AttentionPlan:
    """Rows and keys of a tile, and the columns of Q and K, and of V, with padding."""

    rows: int
    keys: int
    depth: int
    columns: int
    warps: int = 4

    @property
    def threads(self) -> int:
        return self.warps * WARP

    @property
    def holds_queries(self) -> bool:
        """Whether fragments of Q stay in registers."""
        return max(self.depth, self.columns) <= _IN_REGISTERS


def attention_plan(
    rows: int, batches: int, depth: int, columns: int, device: GpuDevice
) -> AttentionPlan | None:
    """The plan for a problem, None if its operands are too wide or not in pieces.

    Two tiles of 16 rows a warp read K and V from shared memory once for both; one tile
    gives more blocks, where these do not fill the device.
    """
    if depth % PIECE or columns % PIECE or max(depth, columns) > WIDEST:
        return None
    depth, columns = -(-depth // 32) * 32, -(-columns // 16) * 16
    widest = max(depth, columns)
    fills = -(-rows // 128) * batches >= device.processors
    two = widest <= _BOTH_TILES and fills
    keys = 64 if widest <= _IN_REGISTERS else 32
    return AttentionPlan(128 if two else 64, keys, depth, columns)
