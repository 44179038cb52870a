"""Tasks of a convolution that copy the lines of pixels which they see.

Threads share rows and columns, r x s = threads.  A task of the result copies its lines
(`CpuPlan`), reads every pixel of a panel once more than its row tiles do, and fetches
its rows of the left factor:

    steps tile_cycles(rows, columns) (1 + PASSED / rows)
      + COPIED (elements of the lines) + STREAMED rows steps

The split of the least cost wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from math import prod

from gpucodegen.tiling.cpu_problem import CpuModel, CpuPlan, Packing, Pixels, Problem
from gpucodegen.tiling.passing_plan import AHEAD
from gpucodegen.tiling.register_tile import RegisterTile, split_evenly, tile_cycles

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


@dataclass(frozen=True, slots=True)
class _Split:
    """Blocks of ``rows``, ``stripes`` of columns."""

    rows: int
    stripes: int


def in_lines(
    plan: CpuPlan, pixels: Pixels, problem: Problem, model: CpuModel
) -> CpuPlan:
    """The plan in which tasks copy the lines of pixels that they see.

    >>> from gpucodegen.tiling.register_tile import VectorUnit
    >>> plan = CpuPlan(8, 48, 256, 0, 468, Packing.SHARED, 0, 16, False, 1, True)
    >>> image = Pixels(period=9, copies=3, width=14, below=2)
    >>> problem = Problem(256, 196, (2304,), 1, 32, False, False, 2304, image)
    >>> found = in_lines(plan, image, problem, CpuModel(2, VectorUnit(512, 32)))
    >>> found.row_block, found.stripes, found.packing.name
    (128, 1, 'PASSING')
    """
    lines = _Lines(plan, pixels, problem, model)
    split = min(lines.splits(), key=lines.cycles)
    least = problem.rows - (-(-problem.rows // split.rows) - 1) * split.rows
    return replace(
        plan,
        row_block=split.rows,
        stripes=lines.in_cache(split.stripes),
        packing=Packing.PASSING if least >= 2 * plan.rows else Packing.NONE,
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

    @property
    def panels(self) -> int:
        """Full panels."""
        return max(1, self.problem.columns // self.plan.columns)

    def splits(self) -> Iterator[_Split]:
        """Ways to share a result, whole where axes outside of it feed the threads."""
        threads = self.model.threads if self.plan.parallel else 1
        parts = 1 if self.problem.outer >= threads else threads
        for stripes in range(1, parts + 1):
            if parts % stripes == 0 and stripes <= self.panels:
                part = -(-self.problem.rows * stripes // parts)
                rows = split_evenly(self.problem.rows, part, self.plan.rows)
                yield _Split(rows, stripes)

    def cycles(self, split: _Split) -> float:
        """Modelled cycles of the largest task."""
        problem, steps = self.problem, prod(self.problem.reduction)
        rows, columns = min(split.rows, problem.rows), self._share(split.stripes)
        unit, bits = self.model.unit, problem.element_bits
        each = tile_cycles(rows, columns, bits, unit, self._tile)
        copied = COPIED * self.pixels.copied(steps, columns)
        return steps * each * (1 + PASSED / rows) + copied + STREAMED * rows * steps

    def in_cache(self, stripes: int) -> int:
        """A multiple of so many stripes whose lines stay in the second cache."""
        size, room = self.problem.element_bits // 8, self.model.cache * LINES_SHARE
        most = max(stripes, self.panels // LEAST_PANELS)
        for count in range(stripes, most + 1, stripes):
            copied = self.pixels.copied(self.plan.k_chunk, self._share(count))
            if copied * size <= room:
                return count
        return stripes

    @property
    def _tile(self) -> RegisterTile:
        return RegisterTile(self.plan.rows, self.plan.columns)

    def _share(self, stripes: int) -> int:
        """Columns of the largest stripe."""
        whole, width = self.problem.columns, self.plan.columns
        first = [
            (2 * s * whole // stripes + width) // (2 * width) for s in range(stripes)
        ]
        starts = [*(panel * width for panel in first), whole]
        return max(end - start for start, end in pairwise(starts))
