"""Register tile of a contraction: how many rows and columns of C stay in registers.

Model: one step of the reduction loop of an ``rows x lanes*vectors`` tile loads
``vectors`` vectors of B, broadcasts ``rows`` scalars of A and issues ``rows*vectors``
fused multiply-adds, so it takes

    max(rows*vectors / fma_per_cycle, (rows + vectors) / loads_per_cycle, latency)

cycles, and needs ``rows*vectors + vectors + rows/2`` vector registers: the compiler's
scheduler holds about half of the broadcasts ahead of their use (12x2, 14x2 and 6x4 zmm
tiles spill and run at 0.6, 0.4 and 0.3 of the rate of 8x3).  A candidate's cost is the
sum over full and edge tiles of a problem; the cheapest one wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

MAX_VECTORS = 3
"""Registers of a tile's row; one or two rows take more, to hide the latency."""


@dataclass(frozen=True, slots=True)
class VectorUnit:
    """The vector unit of a core: register width and count, issue rates per cycle."""

    bits: int = 256
    registers: int = 16
    fma_per_cycle: int = 2
    loads_per_cycle: int = 2
    latency: int = 4

    def lanes(self, element_bits: int) -> int:
        """Elements in one register."""
        return self.bits // element_bits


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """``rows x columns`` elements of C in registers."""

    rows: int
    columns: int


def candidates(unit: VectorUnit, element_bits: int) -> Iterator[RegisterTile]:
    """Every tile whose accumulators and operands fit the registers."""
    lanes = unit.lanes(element_bits)
    for rows in range(1, 17):
        widest = MAX_VECTORS if rows > 2 else unit.registers // (4 * rows)
        for vectors in range(1, max(MAX_VECTORS, widest) + 1):
            needed = rows * vectors + vectors + rows // 2
            if needed < unit.registers:
                yield RegisterTile(rows, vectors * lanes)


def choose_register_tile(
    extent_m: int, extent_n: int, element_bits: int, unit: VectorUnit
) -> RegisterTile:
    """The tile of least modelled cycles for an ``extent_m x extent_n`` result.

    >>> choose_register_tile(1024, 1024, 32, VectorUnit(512, 32))
    RegisterTile(rows=8, columns=48)
    >>> choose_register_tile(4, 64, 32, VectorUnit(512, 32)).rows
    4
    """

    def cost(tile: RegisterTile) -> tuple[float, int, int]:
        cycles = tile_cycles(extent_m, extent_n, element_bits, unit, tile)
        return cycles, -tile.rows * tile.columns, tile.columns

    fitting = [t for t in candidates(unit, element_bits) if t.rows <= extent_m]
    return min(fitting, key=cost)


def tile_cycles(
    extent_m: int,
    extent_n: int,
    element_bits: int,
    unit: VectorUnit,
    tile: RegisterTile,
) -> float:
    """Modelled cycles of one reduction step of the whole result."""
    lanes = unit.lanes(element_bits)
    return sum(
        count_m * count_n * _cycles(rows, -(-columns // lanes), unit)
        for rows, count_m in _pieces(extent_m, tile.rows)
        for columns, count_n in _pieces(extent_n, tile.columns)
    )


def _pieces(extent: int, size: int) -> Iterator[tuple[int, int]]:
    """Tile sizes that cover ``extent`` and how often each occurs."""
    full, rest = divmod(extent, size)
    if full:
        yield size, full
    if rest:
        yield rest, 1


EXPOSED_LOADS = 0.1
"""Share of the loads' cycles that multiply-adds do not hide: 8x3 beats 10x2."""


def _cycles(rows: int, vectors: int, unit: VectorUnit) -> float:
    loads = (rows + vectors) / unit.loads_per_cycle
    busy = max(rows * vectors / unit.fma_per_cycle, loads, unit.latency)
    return busy + EXPOSED_LOADS * loads


def split_evenly(extent: int, limit: int, multiple: int = 1) -> int:
    """Block size, a multiple, such that equal blocks of about ``limit`` cover.

    >>> split_evenly(777, 512)
    389
    >>> split_evenly(1024, 96, multiple=14)
    98
    """
    blocks = max(1, -(-extent // limit))
    size = -(-extent // blocks)
    return -(-size // multiple) * multiple
