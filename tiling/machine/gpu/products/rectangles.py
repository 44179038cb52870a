"""Tiles of rows that several axes count, such as the pixels of images.

A tensor copy brings a box, so the rows of a tile are a rectangle of positions.  It has
a power of two of them along each axis; those beyond an extent are computed for nothing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from math import ceil, prod


@cache
def rectangle(extents: tuple[int, ...], rows: int) -> tuple[int, ...]:
    """The rectangle of so many positions whose tiles have the fewest that do not exist.

    Of several, the longest along the last axes: its elements lie closest in memory.
    ``rows``: a power of two.

    >>> [rectangle((32, n, n), 64) for n in (56, 28, 14, 7)]
    [(1, 8, 8), (4, 4, 4), (16, 2, 2), (8, 1, 8)]
    >>> rectangle((1000,), 128)
    (128,)
    """

    def cost(sizes: tuple[int, ...]) -> tuple[int, list[int]]:
        tiles = tiles_of(extents, sizes)
        return tiles, [-size for size in reversed(sizes)]

    return min(_rectangles(len(extents), rows), key=cost)


def tiles_of(extents: Sequence[int], sizes: Sequence[int]) -> int:
    """The number of rectangles that cover all positions.

    >>> tiles_of((32, 7, 7), (8, 1, 8))
    28
    """
    return prod(ceil(n / size) for n, size in zip(extents, sizes, strict=True))


def _rectangles(axes: int, rows: int) -> Iterator[tuple[int, ...]]:
    """All of so many positions."""
    if axes == 1:
        yield (rows,)
        return
    for power in range(rows.bit_length()):
        for others in _rectangles(axes - 1, rows >> power):
            yield (1 << power, *others)
