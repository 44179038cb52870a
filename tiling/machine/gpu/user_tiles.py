"""Warp and thread tiles for a block tile that the user's program fixes.

A hand-written program chooses the tile of a block.  The remaining choice is the part of
each warp, in whole fragments, or of each thread: small enough that its sums fit into
registers, and large enough for reuse of operands.
"""

from __future__ import annotations

from math import prod

from gpucodegen.tiling.machine.gpu.devices import WARP, portable_shared
from gpucodegen.tiling.machine.gpu.fragments import (
    ROWS,
    SLICE,
    slice_shape,
    terms_of,
)
from gpucodegen.tiling.machine.gpu.product_tiles import SharedTiles, WarpTiles
from gpucodegen.tiling.machine.gpu.shared_copies import DOUBLE

ROOM = portable_shared()
"""Bytes of shared memory that a block may have on any device."""
Tile = tuple[int, int, int]
"""Rows, columns and terms."""
MOST_WARPS = 8
"""Warps that share a user-provided tile, at most."""
ENOUGH = 4
"""Warps that keep a multiprocessor's four schedulers busy."""
OF_THREADS = 1, 2, 4, 8
"""Rows or columns of a thread."""
SUMS = 64 * 64
"""Sums of a warp in registers of 32 bits, 128 of each lane."""


def warp_tiles(tile: Tile, element: int, room: int = ROOM) -> list[WarpTiles]:
    """The warp plans for a tile, the best first; ``element``: bytes of an operand.

    ``room``: bytes of shared memory for a slice of the sums. Columns are read in pairs
    of fragments, so both sides are multiples of 16.  Four warps are better than fewer;
    then, larger and squarer parts need fewer reads of shared memory for each product.

    >>> for rows, columns in ((32, 32), (64, 64), (128, 64), (128, 128), (16, 16)):
    ...     plan = warp_tiles((rows, columns, 32), 2)[0]
    ...     print(plan.threads, plan.warp_rows, plan.warp_columns)
    128 16 16
    128 32 32
    128 64 32
    128 64 64
    32 16 16
    >>> warp_tiles((24, 16, 32), 2), warp_tiles((32, 32, 8), 2)
    ([], [])
    """
    rows, columns, depth = tile
    if depth < 1 or depth % terms_of(element):
        return []
    most = SUMS // 2 if element == DOUBLE else SUMS
    found = [
        WarpTiles(rows, columns, depth, down, across)
        for down in _parts(rows)
        for across in _parts(columns)
        if down * across <= most
    ]

    def fits(plan: WarpTiles) -> bool:
        few = plan.threads <= MOST_WARPS * WARP
        return few and slice_bytes(plan, element) <= room

    def cost(plan: WarpTiles) -> tuple[int, float, int]:
        reads = 1 / plan.warp_rows + 1 / plan.warp_columns
        return -min(ENOUGH, plan.threads // WARP), reads, plan.warp_columns

    return sorted(filter(fits, found), key=cost)


def slice_bytes(plan: WarpTiles, element: int) -> int:
    """Bytes of shared memory for the slice of sums that is stored at once."""
    return prod(slice_shape(plan)) * (2 if element == DOUBLE else 1) * SLICE


def thread_tiles(tile: Tile) -> list[SharedTiles]:
    """The plans for multiply-adds of threads, the best one first.

    None for a tile with one element per thread, which has no reuse.

    >>> for rows, columns in ((32, 32), (64, 64), (128, 128), (24, 32)):
    ...     plan = thread_tiles((rows, columns, 16))[0]
    ...     print(plan.threads, plan.thread_rows, plan.thread_columns)
    128 2 4
    128 4 8
    256 8 8
    192 2 2
    >>> thread_tiles((16, 16, 16))
    []
    """
    rows, columns, depth = tile
    found = [
        SharedTiles(rows, columns, depth, down, across)
        for down in OF_THREADS
        for across in OF_THREADS
        if rows % down == columns % across == 0
    ]

    def cost(plan: SharedTiles) -> tuple[int, float, int]:
        reads = 1 / plan.thread_rows + 1 / plan.thread_columns
        return -min(ENOUGH, plan.threads // WARP), reads, plan.thread_rows

    most = MOST_WARPS * WARP
    whole = [p for p in found if p.threads % WARP == 0 and WARP <= p.threads <= most]
    return sorted(whole, key=cost) if rows * columns > most else []


def _parts(extent: int) -> list[int]:
    """Multiples of a fragment's rows that divide an extent."""
    return [part for part in range(ROWS, extent + 1, ROWS) if extent % part == 0]
