"""Plans of CPU convolutions: im2row tasks, and depthwise windows in registers.

`in_lines` plans tasks that copy the image lines they see (im2row).  Threads share rows
and columns, r x s = threads.  A task copies its lines, packs each panel once beside the
reads of its row tiles, and fetches its rows of A:

    steps tile_cycles(rows, columns) (1 + pack / rows)
      + copy (elements of the lines) + stream rows steps

The split of the least cost wins, and with it the register tile: that of the whole
result, or that of a task if this saves a SAVED part, since tasks have whole tiles only.

`pixels_of_a_tile` plans a window that slides over one channel.  A tile of ``pixels``
sums, one vector of lanes each, takes every tap of the filter unrolled.  Neighbours
share loads: for T pixels and R taps along the tile, in steps of s, (T - 1) s + R
elements are loaded instead of T R.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import pairwise

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import (
    COSTS,
    FEWEST_LANES,
    Level,
    Share,
    VectorUnit,
)
from gpucodegen.tiling.machine.product_problem import Im2Row, Pixels, Tiling
from gpucodegen.tiling.machine.register_tiles import (
    RegisterTile,
    TileRequest,
    choose_register_tile,
    split_evenly,
    tile_cycles,
)

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
    """Whether two pixels unroll to few products, and lanes are worth a register.

    >>> unrolling_pays(Window(9, 56, 144, 32)), unrolling_pays(Window(9, 56, 2, 32))
    (True, False)
    """
    return 2 * window.taps <= MOST_PRODUCTS and window.lanes >= FEWEST_LANES


def pixels_of_a_tile(window: Window, unit: VectorUnit) -> int:
    """Sums that stay in registers, in tiles of about equal height.

    A quarter of the registers holds sums; the rest holds the operands of the taps.

    >>> pixels_of_a_tile(Window(9, 56, 144, 32), VectorUnit(512, 32))
    8
    >>> pixels_of_a_tile(Window(49, 56, 144, 32), VectorUnit(512, 32))
    2
    """
    limit = min(unit.registers // 4, MOST_PRODUCTS // window.taps)
    return split_evenly(window.pixels, max(1, limit))


LINES_PAY = 16
"""Rows of a result for which lines are copied: two register tiles."""

SAVED = 0.01
"""Share of the cycles that another register tile must save."""


@dataclass(frozen=True, slots=True)
class _Split:
    """Blocks of ``rows``, ``stripes`` of columns, cut into register tiles."""

    rows: int
    stripes: int
    tile: RegisterTile


def in_lines(request: TileRequest) -> Im2Row | None:
    """The im2row kernel, if B is an image; else None.

    >>> from gpucodegen.tiling.machine.processor import Machine
    >>> from gpucodegen.tiling.machine.product_problem import TileSizes
    >>> from gpucodegen.tiling.machine.product_problem import Problem
    >>> from gpucodegen.tiling.machine.processor import VectorUnit
    >>> image = Pixels(period=9, copies=3, width=14, below=2)
    >>> problem = Problem(256, 196, (2304,), 1, 32, False, False, 2304, image)
    >>> machine = Machine(2, VectorUnit(512, 32))
    >>> found = in_lines(TileRequest.of(problem, machine, TileSizes()))
    >>> found.tiling.row_block, found.tiling.stripes, found.packs
    (128, 1, True)
    """
    problem = request.problem
    if problem.pixels is None:
        return None
    lines = _Lines(request, problem.pixels, request.tiling())
    split = min(lines.splits(), key=lines.cycles)
    least = problem.rows - (-(-problem.rows // split.rows) - 1) * split.rows
    tiling = replace(
        lines.tiling,
        rows=split.tile.rows,
        columns=split.tile.columns,
        row_block=split.rows,
        stripes=lines.in_cache(split),
        outer_first=False,
    )
    return Im2Row(tiling, packs=least >= 2 * split.tile.rows)


@dataclass(frozen=True, slots=True)
class _Lines:
    """The request and the extents that decide about im2row tasks."""

    request: TileRequest
    pixels: Pixels
    tiling: Tiling

    def splits(self) -> Iterator[_Split]:
        """Splits of a result, which stays whole where outer axes occupy the threads."""
        problem = self.request.problem
        threads = self.request.machine.threads if self.tiling.parallel else 1
        parts = 1 if problem.outer >= threads else threads
        for stripes in range(1, parts + 1):
            part = -(-problem.rows * stripes // parts)
            for tile in self._tiles(part, stripes):
                if parts % stripes == 0 and stripes <= self._panels(tile):
                    rows = split_evenly(problem.rows, part, tile.rows)
                    yield _Split(rows, stripes, tile)

    def cycles(self, split: _Split) -> float:
        """Modelled cycles of the largest task."""
        problem, unit = self.request.problem, self.request.machine.unit
        rows, steps = min(split.rows, problem.rows), problem.steps
        columns = _share(problem.columns, split)
        each = tile_cycles(rows, columns, problem.element_bits, unit, split.tile)
        copied = COSTS.copy * self.pixels.copied(steps, columns)
        tiles = steps * each * (1 + COSTS.pack / rows)
        cycles = tiles + copied + COSTS.stream * rows * steps
        return cycles if split.tile == self.request.tile else cycles / (1 - SAVED)

    def in_cache(self, split: _Split) -> int:
        """The least multiple of the stripes whose lines fit half the L2 cache."""
        problem, machine = self.request.problem, self.request.machine
        stripes, most = split.stripes, self._panels(split.tile)
        for count in range(stripes, most + 1, stripes):
            columns = _share(problem.columns, replace(split, stripes=count))
            copied = self.pixels.copied(self.tiling.k_chunk, columns)
            size = copied * problem.element_bits // 8
            if machine.fits(size, Level.SECOND, Share.HALF):
                return count
        return stripes

    def _tiles(self, rows: int, stripes: int) -> Iterator[RegisterTile]:
        """The register tiles of the whole result and of a task."""
        yield self.request.tile
        problem, sizes = self.request.problem, self.request.sizes
        if not (sizes.rows or sizes.columns):
            columns = -(-problem.columns // stripes)
            unit = self.request.machine.unit
            yield choose_register_tile(rows, columns, problem.element_bits, unit)

    def _panels(self, tile: RegisterTile) -> int:
        """Full panels."""
        return max(1, self.request.problem.columns // tile.columns)


def _share(whole: int, split: _Split) -> int:
    """Columns of the largest stripe."""
    width, stripes = split.tile.columns, split.stripes
    first = [(2 * s * whole // stripes + width) // (2 * width) for s in range(stripes)]
    starts = [*(panel * width for panel in first), whole]
    return max(end - start for start, end in pairwise(starts))
