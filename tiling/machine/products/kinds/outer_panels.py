"""Panels of the right factor that meet the rows of all outer axes.

Such a panel is copied once, by the first of its row tiles, not by all threads together,
which would meet twice for every block of the reduction.  The rows that meet it then
pass by once for each panel, so they have to stay in the second cache.  Threads share
the longest outer axis (the lines of an image) and the panels, l x p = threads.  A task
copies its panels, and its rows come from beyond the second cache:

    steps lines tile_cycles(rows, columns) (1 + pack / (lines rows))
      + stream share of different elements lines rows steps

The split of the least cost wins.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from gpucodegen.tiling.machine.facts import COSTS
from gpucodegen.tiling.machine.model import Level, Share
from gpucodegen.tiling.machine.products.candidates import OuterPanels, Tiling
from gpucodegen.tiling.machine.products.register_tile import RegisterTile, tile_cycles
from gpucodegen.tiling.machine.products.tiling import TileRequest

EVEN = 0.9
"""Least share of the time of the largest task that threads compute on average."""


@dataclass(frozen=True, slots=True)
class _Split:
    """``parts`` of the longest outer axis, ``stripes`` of columns."""

    parts: int
    stripes: int


def in_outer_panels(request: TileRequest) -> OuterPanels | None:
    """The kernel with loops over outer axes inside those over panels.

    It is taken where one thread packs all panels anyway, threads would meet for several
    blocks of the reduction, or the panels do not stay in the second cache.

    >>> from gpucodegen.tiling.machine.model import Machine
    >>> from gpucodegen.tiling.machine.products.candidates import TileSizes
    >>> from gpucodegen.tiling.machine.products.problem import Problem
    >>> from gpucodegen.tiling.machine.vector_unit import VectorUnit
    >>> layer = Problem(
    ...     28, 128, (3, 384), 28, 32, True, False, lines=28, left_shares=(0.4, 0.1)
    ... )
    >>> machine = Machine(2, VectorUnit(512, 32))
    >>> found = in_outer_panels(TileRequest.of(layer, machine, TileSizes()))
    >>> found.parts, found.tiling.stripes, found.packs
    (2, 1, True)
    """
    problem, plain = request.problem, request.tiling()
    once = problem.outer > 1 and not problem.panel_per_outer and not problem.uneven
    tasks = _Tasks(request, plain)
    splits = list(tasks.splits()) if once and not problem.left_is_computed else []
    if not splits or not (tasks.alone or tasks.meet_often or tasks.panels_leave):
        return None
    best = min(splits, key=tasks.cycles)
    tiling = replace(
        plain,
        row_block=-(-problem.rows // plain.rows) * plain.rows,
        left_stride=0,
        stripes=best.stripes,
    )
    packs = problem.right_is_contiguous and tasks.rows(best) >= 2 * plain.rows
    return OuterPanels(tiling, best.parts, packs)


@dataclass(frozen=True, slots=True)
class _Tasks:
    """What the kernel depends on."""

    request: TileRequest
    tiling: Tiling

    @property
    def threads(self) -> int:
        """Threads that share the result."""
        return self.request.machine.threads if self.tiling.parallel else 1

    @property
    def steps(self) -> int:
        """Steps of a block of the reduction."""
        inside = self.request.problem.reduction[self.tiling.k_position + 1 :]
        return self.tiling.k_chunk * prod(inside)

    @property
    def alone(self) -> bool:
        """Whether one thread copies all panels anyway."""
        return not self.tiling.parallel

    @property
    def meet_often(self) -> bool:
        """Whether threads would meet for several blocks of the reduction."""
        return self.tiling.parallel and self.steps < prod(
            self.request.problem.reduction
        )

    @property
    def panels_leave(self) -> bool:
        """Whether all panels do not stay in the second cache."""
        problem = self.request.problem
        return problem.columns * self.steps > self._room(Share.QUARTER)

    def splits(self) -> Iterator[_Split]:
        """Ways to share that keep all threads busy, and rows in the second cache."""
        panels = max(1, self.request.problem.columns // self.tiling.columns)
        for stripes in range(1, min(self.threads, panels) + 1):
            split = _Split(self.threads // stripes, stripes)
            whole = split.parts * stripes == self.threads
            if (
                whole
                and split.parts <= self.request.problem.lines
                and self._fits(split)
            ):
                yield split

    def rows(self, split: _Split) -> int:
        """Rows of the largest task."""
        problem = self.request.problem
        lines = -(-problem.lines // split.parts) * (problem.outer // problem.lines)
        return lines * problem.rows

    def cycles(self, split: _Split) -> float:
        """Modelled cycles of the largest task."""
        problem, steps = self.request.problem, self.request.problem.steps
        rows = self.rows(split)
        each = self._tile_cycles(self._columns(split)) * rows / problem.rows
        streamed = COSTS.stream * problem.left_shares[0] * rows * steps
        return steps * each * (1 + COSTS.pack / rows) + streamed

    def _fits(self, split: _Split) -> bool:
        """Whether the rows of a task stay, and threads have about as much to do."""
        problem, rows = self.request.problem, self.rows(split)
        all_rows = problem.outer * problem.rows
        average = all_rows * self._tile_cycles(problem.columns) / self.threads
        even = average >= EVEN * rows * self._tile_cycles(self._columns(split))
        block, whole = problem.left_shares
        steps = min(self.steps * block, problem.steps * whole)
        return rows * steps <= self._room(Share.NEARLY) and even

    def _tile_cycles(self, columns: int) -> float:
        """Cycles of one step of the rows of one line."""
        tile = RegisterTile(self.tiling.rows, self.tiling.columns)
        bits, unit = self.request.problem.element_bits, self.request.machine.unit
        return tile_cycles(self.request.problem.rows, columns, bits, unit, tile)

    def _columns(self, split: _Split) -> int:
        """Columns of the largest stripe."""
        whole, width = self.request.problem.columns, self.tiling.columns
        panels = -(-(whole // width) // split.stripes) * width
        return whole if split.stripes == 1 else panels + whole % width

    def _room(self, share: Share) -> int:
        """Elements that fill a share of the second cache."""
        room = self.request.machine.room(Level.SECOND, share)
        return room * 8 // self.request.problem.element_bits
