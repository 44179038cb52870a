"""Tasks of a convolution that copy the lines of pixels which they see.

Threads share rows and columns, r x s = threads.  A task of the result copies its lines
(`CpuPlan`), reads every pixel of a panel once more than its row tiles do, and fetches
its rows of the left factor:

    steps tile_cycles(rows, columns) (1 + PASSED / rows)
      + COPIED (elements of the lines) + STREAMED rows steps

The split of the least cost wins, and with it the register tile: that of the whole
result, or that of a task, if this saves a SAVED part: tasks are of whole tiles.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from gpucodegen.tiling.machine.products.pack_on_first_use import AHEAD
from gpucodegen.tiling.machine.products.problem import (
    CpuModel,
    CpuPlan,
    CpuTiles,
    Packing,
    Pixels,
    Problem,
)
from gpucodegen.tiling.machine.products.register_tile import (
    RegisterTile,
    choose_register_tile,
    split_evenly,
    tile_cycles,
)

LINES_PAY = 16
"""Rows of a result for which lines are copied: two register tiles."""
LINES_SHARE = 0.45
"""Share of the second cache that copied lines may fill."""
LEAST_PANELS = 2
"""Panels of a stripe for which lines are copied, at least."""
PASSED = 4
"""Rows that take as long as copying a panel beside the first row tile."""
COPIED = 0.4
"""Cycles per element of the lines."""
STREAMED = 0.3
"""Cycles per element of the left factor."""

SAVED = 0.01
"""Share of the cycles that another register tile must save."""


@dataclass(frozen=True, slots=True)
class _Split:
    """Blocks of ``rows``, ``stripes`` of columns, cut into register tiles."""

    rows: int
    stripes: int
    tile: RegisterTile


def in_lines(
    plan: CpuPlan,
    pixels: Pixels,
    problem: Problem,
    model: CpuModel,
    tiles: CpuTiles | None = None,
) -> CpuPlan:
    """The plan in which tasks copy the lines of pixels that they see.

    ``tiles``: what is asked for.

    >>> from gpucodegen.tiling.machine.products.register_tile import VectorUnit
    >>> plan = CpuPlan(8, 48, 256, 0, 468, Packing.SHARED, 0, 16, False, 1, True)
    >>> image = Pixels(period=9, copies=3, width=14, below=2)
    >>> problem = Problem(256, 196, (2304,), 1, 32, False, False, 2304, image)
    >>> found = in_lines(plan, image, problem, CpuModel(2, VectorUnit(512, 32)))
    >>> found.row_block, found.stripes, found.packing.name
    (128, 1, 'PASSING')
    """
    lines = _Lines(plan, pixels, problem, model, tiles or CpuTiles())
    split = min(lines.splits(), key=lines.cycles)
    least = problem.rows - (-(-problem.rows // split.rows) - 1) * split.rows
    return replace(
        plan,
        rows=split.tile.rows,
        columns=split.tile.columns,
        row_block=split.rows,
        stripes=lines.in_cache(split),
        packing=Packing.PASSING if least >= 2 * split.tile.rows else Packing.NONE,
        outer_first=False,
        ahead=AHEAD,
    )


@dataclass(frozen=True, slots=True)
class _Lines:
    """What the plan depends on."""

    plan: CpuPlan
    pixels: Pixels
    problem: Problem
    model: CpuModel

    tiles: CpuTiles

    def splits(self) -> Iterator[_Split]:
        """Ways to share a result, whole where axes outside of it feed the threads."""
        threads = self.model.threads if self.plan.parallel else 1
        parts = 1 if self.problem.outer >= threads else threads
        for stripes in range(1, parts + 1):
            part = -(-self.problem.rows * stripes // parts)
            for tile in self._tiles(part, stripes):
                if parts % stripes == 0 and stripes <= self._panels(tile):
                    rows = split_evenly(self.problem.rows, part, tile.rows)
                    yield _Split(rows, stripes, tile)

    def cycles(self, split: _Split) -> float:
        """Modelled cycles of the largest task."""
        problem, steps = self.problem, prod(self.problem.reduction)
        rows, columns = min(split.rows, problem.rows), _share(problem.columns, split)
        unit, bits = self.model.unit, problem.element_bits
        each = tile_cycles(rows, columns, bits, unit, split.tile)
        copied = COPIED * self.pixels.copied(steps, columns)
        cycles = steps * each * (1 + PASSED / rows) + copied + STREAMED * rows * steps
        return cycles if split.tile == self._usual else cycles / (1 - SAVED)

    def in_cache(self, split: _Split) -> int:
        """A multiple of its stripes whose lines stay in the second cache."""
        size, room = self.problem.element_bits // 8, self.model.cache * LINES_SHARE
        stripes = split.stripes
        most = max(stripes, self._panels(split.tile) // LEAST_PANELS)
        for count in range(stripes, most + 1, stripes):
            columns = _share(self.problem.columns, replace(split, stripes=count))
            if self.pixels.copied(self.plan.k_chunk, columns) * size <= room:
                return count
        return stripes

    def _tiles(self, rows: int, stripes: int) -> Iterator[RegisterTile]:
        """The tile of the whole result, and that of a task."""
        yield self._usual
        if not (self.tiles.rows or self.tiles.columns):
            columns = -(-self.problem.columns // stripes)
            bits, unit = self.problem.element_bits, self.model.unit
            yield choose_register_tile(rows, columns, bits, unit)

    @property
    def _usual(self) -> RegisterTile:
        return RegisterTile(self.plan.rows, self.plan.columns)

    def _panels(self, tile: RegisterTile) -> int:
        """Full panels."""
        return max(1, self.problem.columns // tile.columns)


def _share(whole: int, split: _Split) -> int:
    """Columns of the largest stripe."""
    width, stripes = split.tile.columns, split.stripes
    first = [(2 * s * whole // stripes + width) // (2 * width) for s in range(stripes)]
    starts = [*(panel * width for panel in first), whole]
    return max(end - start for start, end in pairwise(starts))
