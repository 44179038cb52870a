"""Which tile of a result a block computes, and what that order costs in memory.

The device starts blocks by their number, and as many at a time as it holds.  Blocks
that run together read the same rows or columns from the L2 cache.  In bands of G rows
of tiles, walked column by column, the blocks of a moment make a rectangle that is G
tiles high, which has less of an edge than whole rows of tiles.
"""

from __future__ import annotations

from math import ceil

from gpucodegen.tiling.machine.gpu.devices import GpuDevice
from gpucodegen.tiling.machine.gpu.products.candidates import Candidate
from gpucodegen.tiling.machine.gpu.products.lanes import Number
from gpucodegen.tiling.machine.gpu.products.product_work import Product

HELD = 0.6
"""Share of the L2 cache that inputs may fill and still stay there; an assumption."""
GROUPS = (1, 2, 4, 8, 16)
"""Heights of bands that are tried."""


def tile_of(block: Number, across: int, group: int) -> tuple[Number, Number]:
    """The row and the column of a block's tile; ``across`` tiles lie side by side.

    >>> [tile_of(block, 3, 2) for block in range(7)]
    [(0, 0), (1, 0), (0, 1), (1, 1), (0, 2), (1, 2), (2, 0)]
    """
    band, within = block // (across * group), block % (across * group)
    return band * group + within % group, within // group


def blocks_of(down: int, across: int, group: int) -> int:
    """Blocks of such a grid; those below the last row of tiles have none.

    >>> blocks_of(5, 3, 2)
    18
    """
    return ceil(down / group) * group * across


def memory(plan: Candidate, product: Product, device: GpuDevice) -> float:
    """Bytes that the device's memory moves, where the L2 cache keeps what it can.

    All of the factors come once if they stay in the cache.  If not, the blocks of each
    moment fetch their rows and columns once.

    >>> from dataclasses import replace
    >>> from gpucodegen.tiling.machine.gpu.devices import DEVICES
    >>> from gpucodegen.tiling.machine.gpu.products.candidates import SharedTiles
    >>> plan, product = SharedTiles(128, 128, 16, 8, 8), Product(8192, 8192, 8192)
    >>> grouped = replace(plan, resident=2, group=16)
    >>> plain, less = (
    ...     memory(each, product, DEVICES["H100"])
    ...     for each in (replace(plan, resident=2), grouped)
    ... )
    >>> round(less / plain, 2)
    0.53
    """
    each = product.element
    used = product.batch * (product.rows + product.columns) * product.terms
    factors = min(used, product.read or used) * each
    results = 2 * product.batch * product.rows * product.columns * each
    if product.plain and factors > HELD * device.l2:
        down = ceil(product.rows / plan.tile_rows)
        across = ceil(product.columns / plan.tile_columns)
        running = min(down * across, device.processors * max(1, plan.resident))
        bands = ceil(running / (plan.group * across))
        high = min(down, plan.group * bands)
        wide = min(across, ceil(running / plan.group))
        edge = high * plan.tile_rows + wide * plan.tile_columns
        moments = down * across / running
        factors = max(factors, moments * edge * product.terms * each)
    return factors + results
