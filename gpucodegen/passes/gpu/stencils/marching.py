"""A chunk computed row after row, with the rows that are read again in registers.

The rows of a chunk follow each other along the last dimension but one.  A step to the
next row loads the cells of one row; those of the rows before move on as values of the
loop.  No instance of a parallel nest reads what another one writes, so loads may stand
before all stores.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import product

from gpucodegen.ir.operation import Value
from gpucodegen.passes.framework.builder import Builder
from gpucodegen.passes.gpu.stencils.cells import ACCESSES, memref_of
from gpucodegen.passes.gpu.stencils.chunks import Place
from gpucodegen.passes.gpu.stencils.time_nest import Sweep

Cell = tuple[Value, tuple[int, ...]]
"""An array, and steps from the first cell of a row."""
Known = dict[Cell, Value]
"""What is in cells."""
Row = Callable[[Builder, Place, Known], Known]
"""Computes a row from what is in the kept cells; returns what it knows then."""


@dataclass(frozen=True, slots=True)
class Marching:
    """How a chunk is walked: ``rows`` along ``dimension``, ``cells`` of each.

    ``kept``: cells that a row reads and the row before has loaded.  ``new``: those that
    it loads.
    """

    dimension: int
    rows: int
    cells: tuple[tuple[int, ...], ...]
    kept: tuple[Cell, ...]
    new: tuple[Cell, ...]

    @staticmethod
    def of(sweep: Sweep, chunk: Sequence[int]) -> Marching:
        """The walk over a chunk of a sweep."""
        dimension = max(len(chunk) - 2, 0)
        section = [1 if d == dimension else n for d, n in enumerate(chunk)]
        cells = tuple(product(*map(range, section)))
        columns: dict[Cell, list[int]] = {}
        for memref, way in _read_first(sweep):
            for cell in cells:
                steps = [c + w for c, w in zip(cell, way, strict=True)]
                height, steps[dimension] = steps[dimension], 0
                columns.setdefault((memref, tuple(steps)), []).append(height)
        kept: list[Cell] = []
        new: list[Cell] = []
        for (memref, steps), heights in columns.items():
            before, behind = steps[:dimension], steps[dimension + 1 :]
            *earlier, last = (
                (memref, (*before, height, *behind))
                for height in range(min(heights), max(heights) + 1)
            )
            kept += earlier
            new.append(last)
        return Marching(dimension, chunk[dimension], cells, tuple(kept), tuple(new))

    def walk(
        self, b: Builder, first: Place, kept: Mapping[Cell, Value], row: Row
    ) -> None:
        """All rows; ``kept``: what the first one reads of the kept cells."""
        if self.rows == 1:
            row(b, first, dict(kept))
            return

        def step(i: Builder, number: Value, values: Sequence[Value]) -> list[Value]:
            here = list(first)
            here[self.dimension] = here[self.dimension] + number
            known = row(i, here, dict(zip(self.kept, values, strict=True)))
            return [known[self._next(cell)] for cell in self.kept]

        b.carried_loop(0, self.rows, list(kept.values()), step, hint="row")

    def _next(self, cell: Cell) -> Cell:
        memref, steps = cell
        moved = list(steps)
        moved[self.dimension] += 1
        return memref, tuple(moved)


def _read_first(sweep: Sweep) -> list[Cell]:
    """The ways to cells that an instance reads before it writes them."""
    written: set[Cell] = set()
    found: list[Cell] = []
    for op in sweep.body:
        if id(op) in sweep.offsets:
            cell = memref_of(op), sweep.offsets[id(op)]
            if ACCESSES[op.name]:
                written.add(cell)
            elif cell not in written:
                found.append(cell)
    return found
