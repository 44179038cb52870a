"""Panels of the right factor that meet the rows of all outer axes.

Such a panel is copied once, by the first of its row tiles, not by all threads together,
who would meet twice for every block of the reduction.  The rows that meet it then pass
by once for each panel, so they have to stay in the second cache.  Threads share the
longest outer axis (the lines of an image) and the panels, l x p = threads.  A task
copies its panels, and its rows come from beyond the second cache:

    steps lines tile_cycles(rows, columns) (1 + PASSED / (lines rows))
      + STREAMED share of different elements lines rows steps

The split of the least cost wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from gpucodegen.tiling.machine.products.pack_on_first_use import AHEAD
from gpucodegen.tiling.machine.products.problem import (
    CpuModel,
    CpuPlan,
    Packing,
    Problem,
)
from gpucodegen.tiling.machine.products.register_tile import RegisterTile, tile_cycles

PASSED = 4
"""Rows that take as long as copying a panel beside the first row tile."""
STREAMED = 0.3
"""Cycles per element of the left factor."""
EVEN = 0.9
"""Least share of the time of the largest task that threads compute on average."""
STAYS = 0.8
"""Share of the second cache that the rows of a task may fill."""
PANELS_STAY = 0.25
"""The same of panels that all threads share."""


@dataclass(frozen=True, slots=True)
class _Split:
    """``parts`` of the longest outer axis, ``stripes`` of columns."""

    parts: int
    stripes: int


def panels_outside(plan: CpuPlan, problem: Problem, model: CpuModel) -> CpuPlan:
    """The plan with loops over outer axes inside those over panels, if that pays.

    >>> from gpucodegen.tiling.machine.products.register_tile import VectorUnit
    >>> plan = CpuPlan(6, 64, 30, 0, 1, Packing.SHARED, 0, 16, False, 1, True)
    >>> layer = Problem(
    ...     28, 128, (3, 384), 28, 32, True, False, lines=28, left_shares=(0.4, 0.1)
    ... )
    >>> found = panels_outside(plan, layer, CpuModel(2, VectorUnit(512, 32)))
    >>> found.outer_parts, found.stripes, found.packing.name
    (2, 1, 'PASSING')
    """
    once = problem.outer > 1 and not problem.panel_per_outer and not problem.uneven
    shared = plan.packing is Packing.SHARED and not problem.left_is_computed
    tasks = _Tasks(plan, problem, model)
    splits = list(tasks.splits()) if once and shared else []
    if not splits or not (tasks.alone or tasks.meet_often or tasks.panels_leave):
        return plan
    best = min(splits, key=tasks.cycles)
    passing = problem.right_is_contiguous and tasks.rows(best) >= 2 * plan.rows
    return replace(
        plan,
        row_block=-(-problem.rows // plan.rows) * plan.rows,
        packing=Packing.PASSING if passing else Packing.PRIVATE,
        left_stride=0,
        stripes=best.stripes,
        outer_inside=True,
        outer_parts=best.parts,
        ahead=AHEAD if passing else 0,
    )


@dataclass(frozen=True, slots=True)
class _Tasks:
    """What the plan depends on."""

    plan: CpuPlan
    problem: Problem
    model: CpuModel

    @property
    def threads(self) -> int:
        """Threads that share the result."""
        return self.model.threads if self.plan.parallel else 1

    @property
    def steps(self) -> int:
        """Steps of a block of the reduction."""
        inside = self.problem.reduction[self.plan.k_position + 1 :]
        return self.plan.k_chunk * prod(inside)

    @property
    def alone(self) -> bool:
        """Whether one thread copies all panels anyway."""
        return not self.plan.parallel

    @property
    def meet_often(self) -> bool:
        """Whether threads would meet for several blocks of the reduction."""
        return self.plan.parallel and self.steps < prod(self.problem.reduction)

    @property
    def panels_leave(self) -> bool:
        """Whether all panels do not stay in the second cache."""
        return self.problem.columns * self.steps > self._room(PANELS_STAY)

    def splits(self) -> Iterator[_Split]:
        """Ways to share that keep all threads busy, and rows in the second cache."""
        panels = max(1, self.problem.columns // self.plan.columns)
        for stripes in range(1, min(self.threads, panels) + 1):
            split = _Split(self.threads // stripes, stripes)
            whole = split.parts * stripes == self.threads
            if whole and split.parts <= self.problem.lines and self._fits(split):
                yield split

    def rows(self, split: _Split) -> int:
        """Rows of the largest task."""
        problem = self.problem
        lines = -(-problem.lines // split.parts) * (problem.outer // problem.lines)
        return lines * problem.rows

    def cycles(self, split: _Split) -> float:
        """Modelled cycles of the largest task."""
        problem, steps = self.problem, prod(self.problem.reduction)
        rows = self.rows(split)
        each = self._tile_cycles(self._columns(split)) * rows / problem.rows
        streamed = STREAMED * problem.left_shares[0] * rows * steps
        return steps * each * (1 + PASSED / rows) + streamed

    def _fits(self, split: _Split) -> bool:
        """Whether the rows of a task stay, and threads have about as much to do."""
        problem, rows = self.problem, self.rows(split)
        all_rows = problem.outer * problem.rows
        average = all_rows * self._tile_cycles(problem.columns) / self.threads
        even = average >= EVEN * rows * self._tile_cycles(self._columns(split))
        block, whole = problem.left_shares
        steps = min(self.steps * block, prod(problem.reduction) * whole)
        return rows * steps <= self._room(STAYS) and even

    def _tile_cycles(self, columns: int) -> float:
        """Cycles of one step of the rows of one line."""
        tile = RegisterTile(self.plan.rows, self.plan.columns)
        bits, unit = self.problem.element_bits, self.model.unit
        return tile_cycles(self.problem.rows, columns, bits, unit, tile)

    def _columns(self, split: _Split) -> int:
        """Columns of the largest stripe."""
        whole, width = self.problem.columns, self.plan.columns
        panels = -(-(whole // width) // split.stripes) * width
        return whole if split.stripes == 1 else panels + whole % width

    def _room(self, share: float) -> int:
        """Elements that fill a share of the second cache."""
        return int(self.model.cache * share) * 8 // self.problem.element_bits
