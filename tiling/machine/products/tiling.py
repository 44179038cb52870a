"""The sizes that all kernels with register tiles share: tile, blocks, threads."""

from __future__ import annotations

from dataclasses import dataclass
from math import lcm

from gpucodegen.tiling.machine.model import Level, Machine, Share, clashes
from gpucodegen.tiling.machine.products.candidates import TileSizes, Tiling
from gpucodegen.tiling.machine.products.problem import SKINNY, Problem, packed_stride
from gpucodegen.tiling.machine.products.register_tile import (
    RegisterTile,
    choose_register_tile,
    split_evenly,
    split_reduction,
)

K_BLOCK_LIMIT = 512
"""Steps of the longest reduction block: a panel of 32 columns of it streams from the
second cache."""
PACKING_PAYS = 4
"""Row tiles, or rows of words, that must read a panel before copies of it pay."""
FETCHED_STEPS = 320
"""Steps: shorter reduction blocks wait for a result that is not in the second cache."""


@dataclass(frozen=True, slots=True)
class TileRequest:
    """A problem, the machine that it is for, and the sizes that are asked for.

    ``tile``: the register tile of the whole result.
    """

    problem: Problem
    machine: Machine
    sizes: TileSizes
    tile: RegisterTile

    @staticmethod
    def of(problem: Problem, machine: Machine, sizes: TileSizes) -> TileRequest:
        """With the register tile of least modelled cycles, unless one is asked for."""
        extents = problem.rows, problem.columns
        unit = problem.summing(machine.unit)
        best = choose_register_tile(*extents, problem.element_bits, unit)
        rows = min(sizes.rows or best.rows, problem.rows)
        tile = RegisterTile(rows, sizes.columns or best.columns)
        return TileRequest(problem, machine, sizes, tile)

    @property
    def lanes(self) -> int:
        """Elements of a register."""
        return self.machine.unit.lanes(self.problem.element_bits)

    @property
    def reads_in_place(self) -> bool:
        """Whether so few row tiles read the right factor that copies do not pay."""
        few = self.problem.readers(self.tile.rows) < PACKING_PAYS
        return self.problem.right_is_contiguous and few

    @property
    def packs_left(self) -> bool:
        """Whether the rows of a left block are copied, apart from each other.

        They are if they have to be computed; also if they crowd the sets of the first
        cache, or lie the other way, and several panels read them.
        """
        problem, rows = self.problem, self.tile.rows
        if problem.pixels:
            return False
        stride = (problem.left_stride or 1) * problem.element_bits // 8
        clash = clashes(rows, stride) or problem.left_is_transposed
        reused = not self.reads_in_place and problem.columns > 2 * self.tile.columns
        return problem.left_is_computed or (clash and reused)

    @property
    def packs_squares(self) -> bool:
        """Whether some copy is made by squares of lanes."""
        return self.packs_left or not self.problem.right_is_contiguous

    def tiling(self, columns: int = 0, steps: int = 0) -> Tiling:
        """The sizes of a kernel with panels of so many ``columns``.

        Its reduction blocks have so many ``steps`` at most.  0: as the register tile
        has, and as is asked for.
        """
        problem, machine, rows = self.problem, self.machine, self.tile.rows
        columns = columns or self.tile.columns
        limit = steps or self.sizes.k_block or K_BLOCK_LIMIT
        together = self._steps_together(columns)
        position, chunk = split_reduction(problem.reduction, limit, together)
        packed = self.packs_left and position == len(problem.reduction) - 1
        parallel = machine.threads_for(problem.work) > 1
        stripes = problem.columns // columns if parallel and problem.skinny else 1
        spills = not machine.fits(problem.result_bytes, Level.SECOND, Share.HALF)
        splits = problem.splits_accumulators(machine.unit)
        return Tiling(
            rows,
            columns,
            self.lanes,
            row_block=self._row_block(chunk),
            stripes=max(1, min(machine.threads, stripes)),
            k_position=position,
            k_chunk=chunk,
            left_stride=packed_stride(chunk, problem.element_bits // 8) * packed,
            outer_first=problem.panel_per_outer and problem.rows > SKINNY,
            parallel=parallel,
            fetches=spills and chunk < FETCHED_STEPS,
            split_on=machine.unit if splits else None,
        )

    def rows_that_stay(self, chunk: int) -> int:
        """Rows, or columns, of a reduction block that the second cache holds."""
        room = self.machine.room(Level.SECOND, Share.MOST)
        return room // (chunk * self.problem.element_bits // 8)

    def _steps_together(self, columns: int) -> int:
        """What blocks of the reduction are multiples of."""
        problem, unit = self.problem, self.machine.unit
        squared = self.lanes if self.packs_squares else 1
        together = problem.pixels.period if problem.pixels else squared
        if not problem.splits_accumulators(unit):
            return together
        bits = min(columns, problem.columns) * problem.element_bits
        return lcm(together, unit.accumulators(self.tile.rows, bits))

    def _row_block(self, chunk: int) -> int:
        """Rows of a task: all where outer axes or columns feed the threads."""
        problem, threads = self.problem, self.machine.threads
        granule = problem.granule(self.tile.rows, self.lanes)
        fed = problem.outer >= 2 * threads or problem.panel_per_outer
        if (fed and problem.rows <= SKINNY) or problem.skinny:
            return -(-problem.rows // granule) * granule
        per_thread = -(-problem.rows // threads)
        limit = max(granule, self.rows_that_stay(chunk))
        blocks = max(1, -(-per_thread // limit)) * threads
        return split_evenly(problem.rows, -(-problem.rows // blocks), granule)
