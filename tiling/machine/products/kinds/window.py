"""Plan of a window that slides over one channel: how many pixels stay in registers.

A tile of ``pixels`` sums, one vector of lanes each, takes every tap of the filter
unrolled.  Neighbours share what they load: of T pixels and R taps along the tile, in
steps of s, (T - 1) s + R elements are loaded instead of T R.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.tiling.machine.products.register_tile import split_evenly
from gpucodegen.tiling.machine.vector_unit import FEWEST_LANES, VectorUnit

MOST_PRODUCTS = 128
"""Multiply-adds of an unrolled tile: longer texts compile slowly."""


@dataclass(frozen=True, slots=True)
class Window:
    """Extents: taps of the filter, pixels along the tile, lanes of the vectors."""

    taps: int
    pixels: int
    lanes: int
    element_bits: int


def unrolling_pays(window: Window) -> bool:
    """Whether a tile of two pixels is short text, and lanes are worth a register.

    >>> unrolling_pays(Window(9, 56, 144, 32)), unrolling_pays(Window(9, 56, 2, 32))
    (True, False)
    """
    return 2 * window.taps <= MOST_PRODUCTS and window.lanes >= FEWEST_LANES


def pixels_of_a_tile(window: Window, unit: VectorUnit) -> int:
    """Sums that stay in registers, in tiles of about equal height.

    A quarter of the registers holds sums; the rest, what the taps load ahead.

    >>> pixels_of_a_tile(Window(9, 56, 144, 32), VectorUnit(512, 32))
    8
    >>> pixels_of_a_tile(Window(49, 56, 144, 32), VectorUnit(512, 32))
    2
    """
    limit = min(unit.registers // 4, MOST_PRODUCTS // window.taps)
    return split_evenly(window.pixels, max(1, limit))
