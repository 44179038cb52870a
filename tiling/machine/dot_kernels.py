"""CPU contractions as inner products, and packed dot products of narrow integers.

`choose_dot_tile`: lanes walk the reduction, tiles hold partial sums. Where both
operands are contiguous along the reduction, or the small one is copied so, an
``rows x columns`` tile of results keeps ``vectors`` registers of partial sums for each.
One step takes

    max(products, loads, dot_latency latency) + dot_loads min(products, loads)
        with products = rows*columns*vectors / products_per_cycle

cycles and covers ``vectors`` registers of the reduction; the sums of a tile are added
across the lanes once.  This beats lanes along the columns (`register_tiles`) where
columns are too few to fill registers.  It reorders sums, which must be permitted.

`plan_packed_dots` packs narrow integers in words, whose products the processor adds.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import COSTS, Level, Machine, Share, VectorUnit
from gpucodegen.tiling.machine.product_problem import DotProducts
from gpucodegen.tiling.machine.register_tiles import PACKING_PAYS


@dataclass(frozen=True, slots=True)
class Products:
    """``rows x columns`` inner products of ``steps`` terms; A is read in place.

    ``copied``: B has to be made contiguous; ``transposed``: B is contiguous along the
    columns, so squares of it can be transposed in registers.
    """

    rows: int
    columns: int
    steps: int
    element_bits: int
    copied: bool = False
    transposed: bool = False


def candidates(unit: VectorUnit, products: Products) -> Iterator[DotProducts]:
    """Tiles whose partial sums and operands fit the registers.

    Rows of A that several columns use are held; otherwise they are memory operands.
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
    """The kernel of least modelled cycles, threaded if its ``work`` pays for it."""
    tile = choose_dot_tile(products, machine.unit)
    return replace(tile, threads=machine.threads_for(work))


def dots_time(products: Products, machine: Machine, work: int) -> float:
    """Modelled cycles of each of the kernel's threads.

    Every tile of rows reads B again, which is not blocked: infinite if B does not stay
    in the L2 cache.
    """
    low = products.columns * products.steps * products.element_bits // 8
    if not machine.fits(low, Level.SECOND, Share.QUARTER):
        return inf
    kernel = in_dots(products, machine, work)
    return dot_cycles(products, kernel, machine.unit) / kernel.threads


WORD = 32
"""Bits of a word, and of a sum."""
BYTE = 8
"""Bits of the narrowest integers for which a processor has packed multiplications."""


@dataclass(frozen=True, slots=True)
class Part:
    """Integers of ``bits`` bits, signed or not."""

    bits: int
    signed: bool = True

    @property
    def count(self) -> int:
        """Parts per word."""
        return WORD // self.bits

    @property
    def other_sign(self) -> Part:
        """The part with the other sign, which inverting the top bit gives."""
        return replace(self, signed=not self.signed)

    def holds(self, other: Part) -> bool:
        """Whether these integers represent all of the others."""
        spare = self.bits - other.bits
        return spare >= 0 if self.signed == other.signed else self.signed and spare > 0


@dataclass(frozen=True, slots=True)
class PackedDots:
    """The parts in the words of both operands.

    ``shift``: the offset of the elements of B above the multiplied numbers.
    """

    left: Part
    right: Part
    shift: int = 0


def plan_packed_dots(
    left: Part, right: Part, narrowest: int, rows: int
) -> PackedDots | None:
    """The parts in the words of both operands; None where packing does not pay.

    ``narrowest``: bits of the narrowest parts that the processor multiplies: 16, pairs
    of signed ones, on every x86 (PMADDWD); 8, unsigned times signed ones, with AVX-512
    VNNI (VPDPBUSD).  ``rows``: of the result; B is packed once for all rows. If B is
    shifted, A is summed once for all columns; even for 8 columns of sums of 512 that
    takes 0.8 of the time of pairs on a Zen 4.

    >>> i8, u8 = Part(8), Part(8, signed=False)
    >>> plan_packed_dots(u8, i8, 8, 64) == PackedDots(u8, i8)
    True
    >>> plan_packed_dots(i8, i8, 8, 64) == PackedDots(i8, u8, shift=-128)
    True
    >>> plan_packed_dots(i8, i8, 16, 64) == PackedDots(Part(16), Part(16))
    True
    >>> plan_packed_dots(Part(16, signed=False), i8, 8, 64) is None
    True
    """
    if rows < PACKING_PAYS or narrowest > 2 * BYTE:
        return None
    if left.bits == right.bits == BYTE == narrowest:
        if left.signed != right.signed:
            return PackedDots(left, right)
        return PackedDots(left, right.other_sign, -128 if right.signed else 128)
    pair = Part(2 * BYTE)
    fits = pair.holds(left) and pair.holds(right)
    return PackedDots(pair, pair) if fits else None
