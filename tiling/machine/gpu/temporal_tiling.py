"""Temporal tiling on GPUs: time steps per launch and tile sizes of a stencil.

`plan_time_tiles` takes a `TimeProblem` and returns `TimeTiles`, or None where one
launch per step is cheaper.  A block loads its tile with a halo into shared memory,
computes several steps there and stores the tile (overlapped tiles).  So a step moves

    (box + tile) / steps   elements of carried arrays in place of what each sweep moves,

and each sweep recomputes the cells of the halo that later steps need.  Both follow from
the slopes and margins of `proof.halos`; `estimate` prices them. Costs of overlapped
tiles: Meng and Skadron (ICS 2009), PolyMage (ASPLOS 2015).  Blocks that start together
copy together and then compute together, since all take equally long, so the times of
copies and of computation add up.  Measured on an H100, eight steps of two sweeps of
4096 x 4096 f32, three steps per launch: 407 us; the sum is 370 us, the larger of both
220 us.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from itertools import product
from math import ceil, gcd, prod

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import (
    SECTOR,
    STATIC_SHARED,
    WARP,
    GpuDevice,
    occupancy,
)
from gpucodegen.tiling.machine.gpu.estimate import (
    START,
    Estimate,
    Unit,
    Work,
    estimate,
)
from gpucodegen.tiling.machine.gpu.product_plan import DEFAULT
from gpucodegen.tiling.machine.plan_space import Choose, least
from gpucodegen.tiling.proof.distances import Sides

USUAL = 4096
"""Cells along a dimension of unknown extent, for planes; fewer for cubes."""
THREADS = (128, 192, 256, 384, 512)
"""Approximate block sizes, with a chunk per thread."""
ACROSS = 4
"""Divisor of tile widths along rows, in cells."""
WORD, BANKS = 4, 32
"""Bytes of a bank of shared memory, and how many there are."""
MOST_PADDING = 7
"""Unused cells of a row, at most."""


@dataclass(frozen=True, slots=True)
class SweepWork:
    """The accesses of a sweep per cell, and the margins of `StepHalo`.

    ``reads`` and ``writes``: array and offset of the cell, for arrays that the loop
    writes. ``others``: accesses of arrays that it only reads.
    """

    margins: tuple[Sides, ...]
    reads: tuple[tuple[int, tuple[int, ...]], ...]
    writes: tuple[tuple[int, tuple[int, ...]], ...]
    operations: int
    others: int = 0

    def neighbourhood(self, dimension: int) -> Sides:
        """The greatest distance of its accesses from the computed cell."""
        ways = [way[dimension] for _, way in (*self.reads, *self.writes)]
        return Sides(max(0, *(-way for way in ways)), max(0, *ways))


@dataclass(frozen=True)
class TimeProblem:
    """A time loop: extents of space, steps, slopes, sweeps; bytes of array elements.

    ``carried``: whether each array lives from one step to the next.  Unknown extents
    and steps are None.
    """

    extents: tuple[int | None, ...]
    steps: int | None
    slopes: tuple[Sides, ...]
    sweeps: tuple[SweepWork, ...]
    element_bytes: tuple[int, ...]
    carried: tuple[bool, ...]

    @property
    def rank(self) -> int:
        return len(self.extents)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """The extents, with usual ones in place of unknown ones."""
        usual = ceil(USUAL ** (2 / max(self.rank, 2)))
        return tuple(usual if e is None else max(e, 1) for e in self.extents)

    @cached_property
    def rim(self) -> tuple[Sides, ...]:
        """Readable cells around the computed ones, per dimension."""
        every = range(self.rank)
        near = [[sweep.neighbourhood(d) for sweep in self.sweeps] for d in every]
        return tuple(
            Sides(max(s.below for s in found), max(s.above for s in found))
            for found in near
        )

    def halo(self, steps: int) -> tuple[Sides, ...]:
        """Cells around a tile that it needs for some steps, per dimension.

        >>> jacobi_1d().halo(3)
        (Sides(below=6, above=6),)
        """
        found: list[Sides] = []
        sides = zip(self.slopes, self.rim, strict=True)
        for dimension, (slope, rim) in enumerate(sides):
            margins = [sweep.margins[dimension] for sweep in self.sweeps]
            below = max(margin.below for margin in margins) + slope.below * (steps - 1)
            above = max(margin.above for margin in margins) + slope.above * (steps - 1)
            found.append(Sides(below + rim.below, above + rim.above))
        return tuple(found)


def jacobi_1d(cells: int | None = None, steps: int | None = None) -> TimeProblem:
    """An example: three-point means from A to B and back."""
    ways = ((-1,), (0,), (1,))
    sweeps = [
        SweepWork(
            (Sides(margin, margin),),
            tuple((source, way) for way in ways),
            ((1 - source, (0,)),),
            operations=3,
        )
        for source, margin in ((0, 1), (1, 0))
    ]
    return TimeProblem(
        (cells,), steps, (Sides(2, 2),), tuple(sweeps), (4, 4), (True, False)
    )


@dataclass(frozen=True)
class TimeTiles:
    """Steps per launch; cells that a block computes, and a thread at once (a chunk).

    ``rim``: readable cells around the computed ones.  ``halo``: cells from the stored
    tile to the edge of the rim.
    """

    steps: int
    core: tuple[int, ...]
    chunk: tuple[int, ...]
    rim: tuple[Sides, ...]
    halo: tuple[Sides, ...]
    threads: int
    padding: int

    @cached_property
    def stored(self) -> tuple[int, ...]:
        """Extents of a local array."""
        return (*self.box[:-1], self.box[-1] + self.padding)

    @property
    def turns(self) -> int:
        """Shared-memory wavefronts in which a warp reaches one word of each chunk."""
        next_row = prod(self.chunk[-2:-1]) * self.stored[-1] % BANKS
        return turns(self.core[-1] // self.chunk[-1], self.chunk[-1], next_row)

    @cached_property
    def box(self) -> tuple[int, ...]:
        """Cells of a local array: the computed ones and their rim."""
        pairs = zip(self.core, self.rim, strict=True)
        return tuple(extent + rim.below + rim.above for extent, rim in pairs)

    @cached_property
    def tile(self) -> tuple[int, ...]:
        """Cells that a block stores, per dimension."""
        pairs = zip(self.box, self.halo, strict=True)
        return tuple(extent - halo.below - halo.above for extent, halo in pairs)

    @property
    def chunks(self) -> int:
        return prod(map(ceil_div, self.core, self.chunk))


def _tiles_around(
    rim: tuple[Sides, ...],
    around: tuple[Sides, ...],
    steps: int,
    core: Sequence[int],
    chunk: Sequence[int],
) -> TimeTiles | None:
    """Tiles whose core has at least these cells, or None beyond `MOST_AGAIN`.

    ``around``: the cells that a tile needs for these steps.
    """
    whole = tuple(ceil_div(e, c) * c for e, c in zip(core, chunk, strict=True))
    box = [e + r.below + r.above for e, r in zip(whole, rim, strict=True)]
    *tile, across = [e - s.below - s.above for e, s in zip(box, around, strict=True)]
    rounded = across // ACROSS * ACROSS
    cells = prod(tile) * rounded
    if min([*tile, rounded]) < 1 or prod(whole) > MOST_AGAIN * cells:
        return None
    last = Sides(around[-1].below, around[-1].above + across - rounded)
    chunks = prod(map(ceil_div, whole, chunk))
    rounds = ceil_div(chunks, THREADS[-1])
    threads = ceil_div(ceil_div(chunks, rounds), WARP) * WARP
    padding = 0
    if len(chunk) > 1:
        padding = _padding(whole[-1] // chunk[-1], *chunk[-2:], box[-1] % BANKS)
    halo = (*around[:-1], last)
    return TimeTiles(steps, whole, tuple(chunk), rim, halo, threads, padding)


@cache
def _padding(columns: int, rows: int, width: int, row: int) -> int:
    """The least padding with fewest `turns`, of rows of ``row`` words."""
    return min(
        range(MOST_PADDING + 1),
        key=lambda padding: turns(columns, width, rows * (row + padding) % BANKS),
    )


@cache
def turns(columns: int, width: int, next_row: int) -> int:
    """Shared-memory wavefronts in which a warp reaches one word of each chunk.

    Neighbouring chunks are ``width`` words apart, rows of chunks ``next_row``.

    >>> turns(32, 3, 0), turns(32, 4, 0), turns(22, 3, 0), turns(24, 3, 8)
    (1, 4, 2, 1)
    """
    lanes = np.arange(columns + WARP)
    banks = (lanes // columns * next_row + lanes % columns * width) % BANKS
    firsts = np.arange(0, columns, gcd(columns, WARP))
    asked = banks[firsts[:, None] + lanes[:WARP]]
    asked += BANKS * np.arange(len(firsts))[:, None]  # one count per warp and bank
    return int(np.bincount(asked.ravel()).max())


def ceil_div(extent: int, part: int) -> int:
    """``extent / part``, rounded up."""
    return -(-extent // part)


WORTH = 0.9
"""Share of the cost of plain steps below which tiles are chosen."""
USUAL_STEPS = 100
"""The assumed trip count of time loops of unknown duration."""
STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Steps that a launch may make."""
WIDTHS = (16, 24, 32, 40, 48, 52, 56, 60, 64, 68, 72, 76, 80, 96, 112, 128, 192, 256)
"""Cells of a tile along rows."""
CHUNKS = {
    1: ((1,), (3,), (5,), (7,), (9,), (15,)),
    2: ((4, 1), (8, 1), (16, 1), (4, 3), (8, 3), (4, 5), (8, 5)),
    3: ((1, 4, 1), (1, 4, 3), (2, 2, 3), (2, 4, 1), (2, 4, 3)),
}
"""Cells of a thread.  An odd number along rows: lanes then use different banks."""
REGISTERS = 64
"""The assumed registers per thread."""
_COPYING = Unit.MEMORY, Unit.L2, Unit.L1
_COMPUTING = Unit.ISSUE, Unit.SHARED
_DEAL, _MOVE, _PLAIN = 20, 5, 14
"""Instructions around a chunk, a moved cell, and a cell of a thread of its own."""


def plan_time_tiles(
    problem: TimeProblem, device: GpuDevice = DEFAULT, choose: Choose = least
) -> TimeTiles | None:
    """The tiles of least cost, or None.

    >>> from gpucodegen.tiling.machine.gpu.temporal_tiling import jacobi_1d
    >>> plan_time_tiles(jacobi_1d(1 << 22, 100)).steps > 4
    True
    >>> plan_time_tiles(jacobi_1d(1 << 22, 1)) is None
    True
    """
    clocks = offered(problem, device)
    return choose(clocks, clocks.__getitem__)


@lru_cache(maxsize=64)
def offered(
    problem: TimeProblem, device: GpuDevice
) -> Mapping[TimeTiles | None, float]:
    """All tiles, and None for none, with their costs per step."""
    costs = {t: step_cost(problem, t, device) for t in candidates(problem)}
    return {None: WORTH * plain_cost(problem, device), **costs}


def candidates(problem: TimeProblem) -> Iterator[TimeTiles]:
    """Tiles that fit into shared memory."""
    most = STATIC_SHARED // sum(problem.element_bytes)
    for steps, chunk in product(STEPS, CHUNKS.get(problem.rank, ())):
        halo = problem.halo(steps)
        around = [s.below + s.above for s in halo]
        rim = [s.below + s.above for s in problem.rim]
        again = [a - r for a, r in zip(around, rim, strict=True)]
        for threads in THREADS:
            for core in _cores(threads, chunk, again):
                if prod(e + r for e, r in zip(core, rim, strict=True)) > most:
                    continue
                tiles = _tiles_around(problem.rim, halo, steps, core, chunk)
                if tiles is not None and prod(tiles.stored) <= most:
                    yield tiles


MOST_AGAIN = 3
"""The most computed cells per stored cell."""


def _cores(
    threads: int, chunk: Sequence[int], around: Sequence[int]
) -> Iterator[tuple[int, ...]]:
    """Cores of approximately as many chunks as threads."""
    *others, width = chunk
    if not others:
        yield (threads * width,)
        return
    for across in WIDTHS:
        columns = ceil_div(across + around[-1], width)
        rows = threads // columns
        if len(others) == 1 and rows:
            yield rows * others[0], columns * width
        if len(others) == 2:
            for deep in (4, 6, 8, 12, 16):
                if rows >= deep:
                    high = rows // deep * others[1]
                    yield deep * others[0], high, columns * width


def step_cost(problem: TimeProblem, tiles: TimeTiles, device: GpuDevice) -> float:
    """Estimated clocks of a time step."""
    blocks = prod(map(ceil_div, problem.cells, tiles.tile))
    instructions = wavefronts = 0.0
    warps = tiles.steps * tiles.chunks / WARP
    for sweep in problem.sweeps:
        own, words = _chunk_work(problem, sweep, tiles.chunk)
        instructions += own * warps
        wavefronts += words * tiles.turns * warps
    box, tile = prod(tiles.box), prod(tiles.tile)
    sizes = tuple(zip(problem.element_bytes, problem.carried, strict=True))
    moved = sum((box + tile) * size for size, carried in sizes if carried)
    for size, carried in sizes:
        copied = box + tile * carried
        instructions += copied * _MOVE / WARP
        wavefronts += copied * ceil_div(size, WORD) / WARP
    shared = prod(tiles.stored) * sum(problem.element_bytes)
    resident = occupancy(device.multiprocessor, tiles.threads, REGISTERS, shared).blocks
    work = Work(
        blocks,
        tiles.threads,
        blocks * instructions,
        wavefronts=blocks * wavefronts,
        sectors=blocks * moved / SECTOR,
        block_sectors=blocks * moved / SECTOR,
        memory=float(blocks * moved),
        waits=2,
        barriers=2 + len(problem.sweeps) * tiles.steps,
    )
    duration = USUAL_STEPS if problem.steps is None else max(problem.steps, 1)
    launches = 2 * ceil_div(duration, 2 * tiles.steps)
    found = _in_turn(estimate(device, resident, work))
    return launches * max(found, START * device.clock) / duration


def _in_turn(found: Estimate) -> float:
    """Clocks of a launch whose blocks copy and compute one after the other."""
    copying = max(found.clocks.get(unit, 0.0) for unit in _COPYING)
    computing = max(found.clocks.get(unit, 0.0) for unit in _COMPUTING)
    return max(found.total, copying + computing)


def plain_cost(problem: TimeProblem, device: GpuDevice) -> float:
    """Estimated clocks of a step with one launch per sweep and one cell per thread."""
    total = 0.0
    cells = prod(problem.cells)
    for sweep in problem.sweeps:
        accesses = [*sweep.reads, *sweep.writes]
        arrays = {array for array, _ in accesses}
        size = max(problem.element_bytes)
        warps = cells / WARP
        sectors = ceil_div(size * WARP, SECTOR)
        work = Work(
            ceil_div(cells, 256),
            256,
            warps * (_PLAIN + len(accesses) + sweep.others + sweep.operations),
            sectors=warps * sectors * (len(accesses) + sweep.others),
            block_sectors=warps * sectors * len(arrays),
            memory=float(sum(problem.element_bytes[a] for a in arrays) * cells),
            waits=1,
        )
        total += _launched(work, 8, device)
    return total


def _launched(work: Work, resident: int, device: GpuDevice) -> float:
    """Clocks of a launch that follows other launches."""
    found = estimate(device, resident, work)
    return max(found.total, START * device.clock)


@cache
def _chunk_work(
    problem: TimeProblem, sweep: SweepWork, chunk: tuple[int, ...]
) -> tuple[float, float]:
    """Instructions of a thread for its chunk, and its words of shared memory.

    A cell that several cells of a chunk read is loaded once.
    """
    cells = list(product(*map(range, chunk)))
    accesses = sum(
        len(
            {
                (array, *map(sum, zip(cell, way, strict=True)))
                for cell in cells
                for array, way in ways
            }
        )
        for ways in (sweep.reads, sweep.writes)
    )
    words = max(ceil_div(size, WORD) for size in problem.element_bytes)
    own = len(cells) * (sweep.operations + sweep.others)
    return _DEAL + own + accesses, accesses * words
