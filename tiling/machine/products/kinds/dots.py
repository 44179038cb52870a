"""Contractions as inner products: lanes walk the reduction, tiles hold partial sums.

Where both factors are contiguous along the reduction, or the small one is copied so, an
``rows x columns`` tile of results keeps ``vectors`` registers of partial sums for each.
One step takes

    max(products, loads, dot_latency latency) + dot_loads min(products, loads)
        with products = rows*columns*vectors / products_per_cycle

cycles and covers ``vectors`` registers of the reduction; the sums of a tile are added
up across the lanes once.  This wins over lanes along the columns (`register_tile`)
where these are too few to fill registers.  It reorders sums, which must be permitted.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf

from gpucodegen.tiling.machine.facts import COSTS
from gpucodegen.tiling.machine.model import Level, Machine, Share
from gpucodegen.tiling.machine.products.candidates import DotProducts
from gpucodegen.tiling.machine.vector_unit import VectorUnit


@dataclass(frozen=True, slots=True)
class Products:
    """``rows x columns`` inner products of ``steps`` terms; rows are read in place.

    ``copied``: the factor of the columns has to be made contiguous; ``transposed``: it
    is along the columns, so that squares of it can be transposed in registers.
    """

    rows: int
    columns: int
    steps: int
    element_bits: int
    copied: bool = False
    transposed: bool = False


def candidates(unit: VectorUnit, products: Products) -> Iterator[DotProducts]:
    """Tiles whose partial sums and factors fit the registers.

    Rows that several columns meet are held; others are operands from memory.
    """
    width = unit.lanes(products.element_bits)
    for rows in range(1, min(8, products.rows) + 1):
        for columns in range(1, min(4, products.columns) + 1):
            for vectors in (1, 2, 4, 8):
                held = rows + 1 if columns > 1 else 1
                if (rows * columns + held) * vectors < unit.registers:
                    yield DotProducts(rows, columns, vectors * width)


def dot_cycles(products: Products, tile: DotProducts, unit: VectorUnit) -> float:
    """Modelled cycles of all inner products, without cache misses."""
    vectors = tile.lanes // unit.lanes(products.element_bits)
    registers = tile.rows * tile.columns * vectors
    loads = (tile.rows + tile.columns) * vectors / unit.loads_per_cycle
    added = registers / unit.products_per_cycle
    waits = COSTS.dot_latency * unit.latency
    step = max(added, loads, waits) + COSTS.dot_loads * min(added, loads)
    steps = -(-products.steps // tile.lanes)
    count = -(-products.rows // tile.rows) * -(-products.columns // tile.columns)
    each = COSTS.transpose if products.transposed else COSTS.gather
    copies = products.copied * each * products.columns * products.steps
    return count * (steps * step + COSTS.fold * registers + COSTS.dot_tile) + copies


def choose_dot_tile(products: Products, unit: VectorUnit) -> DotProducts:
    """The tile of least modelled cycles.

    >>> unit = VectorUnit(512, 32)
    >>> choose_dot_tile(Products(4096, 1, 4096, 32), unit)
    DotProducts(rows=8, columns=1, lanes=16, threads=1)
    >>> choose_dot_tile(Products(1, 1, 100000, 32), unit)
    DotProducts(rows=1, columns=1, lanes=64, threads=1)
    """
    tiles = candidates(unit, products)
    return min(tiles, key=lambda t: (dot_cycles(products, t, unit), t.lanes))


def in_dots(products: Products, machine: Machine, work: int) -> DotProducts:
    """The kernel of least modelled cycles, on threads if its ``work`` pays for them."""
    tile = choose_dot_tile(products, machine.unit)
    return replace(tile, threads=machine.threads_for(work))


def dots_time(products: Products, machine: Machine, work: int) -> float:
    """Modelled cycles of each of the kernel's threads.

    Every tile of the rows reads the factor of the columns again, which is not cut into
    blocks: without end if it does not stay in the second cache.
    """
    low = products.columns * products.steps * products.element_bits // 8
    if not machine.fits(low, Level.SECOND, Share.QUARTER):
        return inf
    kernel = in_dots(products, machine, work)
    return dot_cycles(products, kernel, machine.unit) / kernel.threads
