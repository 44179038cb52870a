"""Register tiles of CPU contractions, and the sizes of all kernels that use them.

Model: one step of the reduction loop of an ``rows x lanes*vectors`` tile loads
``vectors`` vectors of B, broadcasts ``rows`` scalars of A and issues ``rows*vectors``
fused multiply-adds, so it takes

    max(rows*vectors / products_per_cycle, (rows + vectors) / loads_per_cycle,
        rows / broadcasts, bytes of the vectors / panel_bytes, latency)

cycles, and needs fewer than all vector registers for its sums, its vectors of B and the
broadcasts that the compiler's scheduler loads before their use (`VectorUnit.held`).
Where terms may be reordered, `VectorUnit.accumulators` hides the latency.  A
candidate's cost is the sum over full and edge tiles of a problem; the cheapest wins. An
edge of few columns is in smaller registers, of which two are loaded at once: 196
columns are 3 x 64 and 4 rather than 2 x 80 and 36, and 20 are 16 and 4, which take a
quarter less than two full registers do.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import lcm

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import (
    COSTS,
    Level,
    Machine,
    Share,
    VectorUnit,
    clashes,
)
from gpucodegen.tiling.machine.product_problem import (
    SKINNY,
    Problem,
    TileSizes,
    Tiling,
    packed_stride,
)


@dataclass(frozen=True, slots=True)
class RegisterTile:
    """``rows x columns`` elements of C in registers."""

    rows: int
    columns: int


def candidates(unit: VectorUnit, element_bits: int) -> Iterator[RegisterTile]:
    """Every tile whose accumulators and operands fit the registers."""
    lanes = unit.lanes(element_bits)
    for rows in range(1, 17):
        widest = unit.registers // (4 * rows) if rows <= 2 else unit.registers
        for vectors in range(1, widest + 1):
            needed = rows * vectors + vectors + unit.held(rows)
            if needed < unit.registers:
                yield RegisterTile(rows, vectors * lanes)


def choose_register_tile(
    extent_m: int, extent_n: int, element_bits: int, unit: VectorUnit
) -> RegisterTile:
    """The tile of least modelled cycles for an ``extent_m x extent_n`` result.

    >>> choose_register_tile(1024, 1024, 32, VectorUnit(512, 32))
    RegisterTile(rows=6, columns=64)
    >>> choose_register_tile(256, 49, 32, VectorUnit(512, 32))
    RegisterTile(rows=8, columns=48)
    >>> choose_register_tile(256, 20, 32, VectorUnit(512, 32))
    RegisterTile(rows=16, columns=16)
    >>> choose_register_tile(4, 64, 32, VectorUnit(512, 32)).rows
    4

    A single row reads all columns in one pass, if their sums fit the registers:

    >>> choose_register_tile(1, 12, 64, VectorUnit(512, 32)).columns >= 12
    True
    """

    def cost(tile: RegisterTile) -> tuple[float, int, int]:
        cycles = tile_cycles(extent_m, extent_n, element_bits, unit, tile)
        return cycles, -tile.rows * tile.columns, tile.columns

    fitting = [t for t in candidates(unit, element_bits) if t.rows <= extent_m]
    whole = [t for t in fitting if extent_m == 1 and t.columns >= extent_n]
    return min(whole or fitting, key=cost)


def least_cycles(
    extent_m: int, extent_n: int, element_bits: int, unit: VectorUnit
) -> float:
    """Modelled cycles of one reduction step of the whole result in its best tile."""
    shape = extent_m, extent_n, element_bits, unit
    return tile_cycles(*shape, choose_register_tile(*shape))


def tile_cycles(
    extent_m: int,
    extent_n: int,
    element_bits: int,
    unit: VectorUnit,
    tile: RegisterTile,
) -> float:
    """Modelled cycles of one reduction step of the whole result.

    Remaining columns use smaller registers.
    """
    return sum(
        count_m
        * count_n
        * _cycles(rows, columns * element_bits, unit.holding(columns * element_bits))
        for rows, count_m in _pieces(extent_m, tile.rows)
        for columns, count_n in _pieces(extent_n, tile.columns)
    )


def _pieces(extent: int, size: int) -> Iterator[tuple[int, int]]:
    """Tile sizes that cover ``extent``, with their counts."""
    full, rest = divmod(extent, size)
    if full:
        yield size, full
    if rest:
        yield rest, 1


def _cycles(rows: int, row_bits: int, unit: VectorUnit) -> float:
    vectors = -(-row_bits // unit.bits)
    loads = max((rows + vectors) / unit.loads_per_cycle, rows / COSTS.broadcasts)
    streamed = vectors * unit.bits / 8 / COSTS.panel_bytes
    products = rows * vectors / unit.products_per_cycle
    busy = max(products, loads, streamed, unit.latency)
    return busy + COSTS.exposed_loads * loads + COSTS.exposed_stream * streamed


def split_evenly(extent: int, limit: int, multiple: int = 1) -> int:
    """The block size near ``limit``, a multiple, of nearly equal blocks.

    >>> split_evenly(777, 512)
    389
    >>> split_evenly(1024, 96, multiple=14)
    98
    """
    blocks = max(1, -(-extent // limit))
    size = -(-extent // blocks)
    return -(-size // multiple) * multiple


def split_reduction(
    extents: Sequence[int], limit: int, multiple: int = 1
) -> tuple[int, int]:
    """Position and chunk of the cut reduction axis, for blocks of ``limit`` steps.

    >>> split_reduction((3, 3, 64), 512), split_reduction((3, 3, 256), 512)
    ((0, 2), (1, 2))
    >>> split_reduction((777,), 512), split_reduction((777,), 512, 16)
    ((0, 389), (0, 400))
    """
    inside = 1
    for position in range(len(extents) - 1, -1, -1):
        if inside * extents[position] > limit or position == 0:
            room = max(1, limit // inside)
            whole = extents[position] <= room
            rounded = 1 if whole or inside > 1 else multiple
            return position, split_evenly(extents[position], room, rounded)
        inside *= extents[position]
    return 0, extents[0]


K_BLOCK_LIMIT = 512
"""Steps of the longest reduction block: a panel of 32 columns of it streams from the
second cache."""
PACKING_PAYS = 4
"""Row tiles, or rows of words, that must read a panel before copies of it pay."""
FETCHED_STEPS = 320
"""Steps: shorter reduction blocks wait for a result that is not in the second cache."""


@dataclass(frozen=True, slots=True)
class TileRequest:
    """A problem, its machine, and the requested sizes.

    ``tile``: the register tile of the whole result.
    """

    problem: Problem
    machine: Machine
    sizes: TileSizes
    tile: RegisterTile

    @staticmethod
    def of(problem: Problem, machine: Machine, sizes: TileSizes) -> TileRequest:
        """A request with the cheapest register tile, unless sizes are given."""
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
        """Whether too few row tiles read B for packing to pay."""
        few = self.problem.readers(self.tile.rows) < PACKING_PAYS
        return self.problem.right_is_contiguous and few

    @property
    def packs_left(self) -> bool:
        """Whether the rows of a block of A are copied, with padding.

        They are if they have to be computed; also if several panels read them and they
        conflict in sets of the L1 cache, or are transposed.
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
        """The sizes of a kernel with panels of ``columns`` columns.

        ``steps``: the most steps of a reduction block.  0: those of the register tile,
        or the requested ones.
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
        """Rows, or columns, of a reduction block that fit the L2 cache."""
        room = self.machine.room(Level.SECOND, Share.MOST)
        return room // (chunk * self.problem.element_bits // 8)

    def _steps_together(self, columns: int) -> int:
        """The divisor of the steps of a reduction block."""
        problem, unit = self.problem, self.machine.unit
        squared = self.lanes if self.packs_squares else 1
        together = problem.pixels.period if problem.pixels else squared
        if not problem.splits_accumulators(unit):
            return together
        bits = min(columns, problem.columns) * problem.element_bits
        return lcm(together, unit.accumulators(self.tile.rows, bits))

    def _row_block(self, chunk: int) -> int:
        """Rows of a task: all where outer axes or columns occupy the threads."""
        problem, threads = self.problem, self.machine.threads
        granule = problem.granule(self.tile.rows, self.lanes)
        fed = problem.outer >= 2 * threads or problem.panel_per_outer
        if (fed and problem.rows <= SKINNY) or problem.skinny:
            return -(-problem.rows // granule) * granule
        per_thread = -(-problem.rows // threads)
        limit = max(granule, self.rows_that_stay(chunk))
        blocks = max(1, -(-per_thread // limit)) * threads
        return split_evenly(problem.rows, -(-problem.rows // blocks), granule)
