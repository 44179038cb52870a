"""The kinds of kernel that a contraction may become on a GPU, a class each.

    SharedTiles     blocks copy tiles of both factors, threads multiply parts of these
    WarpTiles       blocks copy tiles, warps multiply parts of them on tensor cores
    WarpgroupTiles  one warp copies tiles by tensor copies, four at a time multiply them

A kind is a member of `Candidate`, lines of `CANDIDATES` and a case of ``plan.work``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from gpucodegen.tiling.machine.gpu.limits import WARP, WARPGROUP


@dataclass(frozen=True, slots=True)
class SharedTiles:
    """A block computes ``tile_rows x tile_columns`` of C, ``depth`` terms at a time.

    Both factors' parts of these lie in shared memory.  Each thread keeps
    ``thread_rows x thread_columns`` of the tile in registers.  ``splits`` blocks share
    the terms of a tile.  ``resident``: blocks that a multiprocessor shall hold at once.
    Blocks walk the tiles in bands of ``group`` rows of them.
    ``direct``: which of the two factors the hardware copies to shared memory past the
    registers (``cp.async``), into one of ``stages`` tiles.
    """

    tile_rows: int
    tile_columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    splits: int = 1
    resident: int = 1
    group: int = 1
    direct: tuple[bool, bool] = (False, False)
    stages: int = 2

    @property
    def threads(self) -> int:
        """Threads of a block."""
        rows = self.tile_rows // self.thread_rows
        return rows * (self.tile_columns // self.thread_columns)


@dataclass(frozen=True, slots=True)
class WarpTiles:
    """As `SharedTiles`, but a warp keeps ``warp_rows x warp_columns`` as fragments.

    ``depth`` counts elements of 16 bits here, and elements of the factors in a plan
    that is fitted to a product.
    """

    tile_rows: int
    tile_columns: int
    depth: int
    warp_rows: int
    warp_columns: int
    splits: int = 1
    resident: int = 1
    group: int = 1
    direct: tuple[bool, bool] = (False, False)
    stages: int = 2

    @property
    def threads(self) -> int:
        """Threads of a block."""
        warps = self.tile_rows // self.warp_rows
        return WARP * warps * (self.tile_columns // self.warp_columns)


@dataclass(frozen=True, slots=True)
class WarpgroupTiles:
    """A block of one warpgroup that copies and ``consumers`` that multiply (`wgmma`).

    Each consumer keeps `WARPGROUP_ROWS` rows of the tile in registers.  Both factors
    come by tensor copies to a ring of ``stages``, whose mbarriers order who writes and
    who reads.  Devices of sm_90 alone have such kernels.
    ``turns``: tiles of the result that a block computes at most, one after the other;
    copies of the next one begin while the sums of one are stored.  ``tensor_stores``:
    the result goes through boxes in shared memory, which tensor copies store.
    """

    tile_rows: int
    tile_columns: int
    depth: int
    consumers: int
    splits: int = 1
    resident: int = 1
    group: int = 1
    direct: tuple[bool, bool] = (True, True)
    stages: int = 4
    turns: int = 1
    tensor_stores: bool = False

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return WARPGROUP * (self.consumers + 1)


Candidate: TypeAlias = SharedTiles | WarpTiles | WarpgroupTiles
"""A kernel of a contraction."""

STAGES = (2, 3, 4)
"""Tiles of each factor in shared memory: one is read while the others are stored.

More than two pay only where no factor goes through registers.
"""
STAGED = 4
"""Elements on their way to shared memory that a thread holds at once."""
CANDIDATES: tuple[SharedTiles, ...] = (
    SharedTiles(16, 16, 8, 2, 2),
    SharedTiles(16, 64, 16, 4, 4),
    SharedTiles(32, 32, 16, 2, 4),
    SharedTiles(32, 64, 16, 4, 4),
    SharedTiles(64, 32, 16, 4, 4),
    SharedTiles(64, 64, 16, 4, 4),
    SharedTiles(64, 64, 16, 8, 4),
    SharedTiles(128, 64, 16, 8, 4),
    SharedTiles(64, 128, 16, 8, 8),
    SharedTiles(128, 64, 16, 8, 8),
    SharedTiles(128, 128, 16, 8, 8),
    SharedTiles(128, 256, 8, 16, 8),
)
"""From the tile that wastes least on small problems to the one of most reuse."""
FRAGMENTS: tuple[WarpTiles, ...] = (
    WarpTiles(32, 32, 32, 16, 16),
    WarpTiles(64, 32, 32, 32, 16),
    WarpTiles(64, 64, 32, 32, 32),
    WarpTiles(64, 64, 64, 32, 32),
    WarpTiles(64, 128, 32, 32, 64),
    WarpTiles(128, 64, 32, 64, 32),
    WarpTiles(128, 128, 32, 64, 64),
    WarpTiles(128, 128, 64, 64, 64),
    WarpTiles(128, 256, 32, 64, 64),
    WarpTiles(256, 128, 32, 64, 64),
)
"""Of those on tensor cores, in the same order."""
DOUBLES: tuple[WarpTiles, ...] = (
    WarpTiles(32, 32, 64, 16, 16),
    WarpTiles(64, 32, 64, 32, 16),
    WarpTiles(64, 64, 32, 32, 32),
    WarpTiles(64, 64, 64, 32, 32),
    WarpTiles(64, 128, 64, 32, 64),
    WarpTiles(128, 64, 64, 64, 32),
    WarpTiles(128, 128, 32, 64, 32),
    WarpTiles(128, 128, 64, 64, 32),
)
"""Of those whose sums are of f64, two registers each."""
WARPGROUP_ROWS = 64
"""Rows of the result that a warpgroup computes at once."""
SPAN = 128
"""Bytes of a row of a box, and of the swizzle within which its pieces are permuted."""
WARPGROUPS: tuple[WarpgroupTiles, ...] = tuple(
    WarpgroupTiles(WARPGROUP_ROWS * consumers, columns, SPAN // 2, consumers)
    for consumers in (1, 2)
    for columns in (64, 128, 256)
)
"""Of those on whole warpgroups; ``depth`` counts elements of 16 bits."""
MOST_STAGES = 8
"""Stages of a ring beyond which more hide nothing."""
TURNS = (2, 4)
"""Tiles of a block that are tried besides as many as keep all blocks running."""
SPLITS = (1, 2, 3, 4, 6, 8)
"""Numbers of blocks that may share the terms of a tile."""
