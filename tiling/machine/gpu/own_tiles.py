"""How the warps of a block share a tile of a product that the program has chosen.

A hand-written program says which tile a block multiplies.  What is left to choose is
the part of each warp: whole fragments, few enough that their sums fit into registers.
"""

from __future__ import annotations

from gpucodegen.tiling.machine.gpu.limits import WARP
from gpucodegen.tiling.machine.gpu.products.candidates import WarpTiles
from gpucodegen.tiling.machine.gpu.products.copies import DOUBLE
from gpucodegen.tiling.machine.gpu.products.fragments import ROWS, terms_of

MOST_WARPS = 8
"""Warps of a block that a program's own tile is shared by."""
ENOUGH = 4
"""Warps that keep a multiprocessor's four schedulers busy."""
SUMS = 64 * 64
"""Sums of a warp in registers of 32 bits, 128 of each lane."""


def warp_tiles(rows: int, columns: int, depth: int, element: int) -> list[WarpTiles]:
    """The plans for a tile of factors of so many bytes an element, the best one first.

    Columns are read in pairs of fragments, so both sides are multiples of 16.  Four
    warps are better than fewer; then, larger and squarer parts need fewer reads of
    shared memory for each product.

    >>> for rows, columns in ((32, 32), (64, 64), (128, 64), (128, 128), (16, 16)):
    ...     plan = warp_tiles(rows, columns, 32, 2)[0]
    ...     print(plan.threads, plan.warp_rows, plan.warp_columns)
    128 16 16
    128 32 32
    128 64 32
    128 64 64
    32 16 16
    >>> warp_tiles(24, 16, 32, 2), warp_tiles(32, 32, 8, 2)
    ([], [])
    """
    if depth < 1 or depth % terms_of(element):
        return []
    most = SUMS // 2 if element == DOUBLE else SUMS
    found = [
        WarpTiles(rows, columns, depth, down, across)
        for down in _parts(rows)
        for across in _parts(columns)
        if down * across <= most
    ]

    def cost(plan: WarpTiles) -> tuple[int, float, int]:
        reads = 1 / plan.warp_rows + 1 / plan.warp_columns
        return -min(ENOUGH, plan.threads // WARP), reads, plan.warp_columns

    return sorted((p for p in found if p.threads <= MOST_WARPS * WARP), key=cost)


def _parts(extent: int) -> list[int]:
    """Multiples of a fragment's rows that divide an extent."""
    return [part for part in range(ROWS, extent + 1, ROWS) if extent % part == 0]
