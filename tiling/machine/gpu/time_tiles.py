"""How many steps of a stencil a launch makes, on tiles of which size.

Comes in: a `TimeProblem`.  Goes out: `TimeTiles`, or None where steps had better stay
launches of their own.  A block loads its tile with a halo into shared memory, computes
the steps there and stores the tile.  So a step moves

    (box + tile) / steps   elements of carried arrays in place of what each sweep moves,

and each sweep computes the cells of the halo that later steps need once more.  Both
follow from the slopes and margins of `proof.reach`; `estimate` says what they cost.
These are the costs of overlapped tiles in Meng and Skadron (ICS 2009) and in the
auto-scheduler of PolyMage (ASPLOS 2015).  An estimate: nothing here was measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from math import ceil, prod

from gpucodegen.tiling.machine.gpu.devices import SECTOR, WARP, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import START, Work, estimate
from gpucodegen.tiling.machine.gpu.limits import STATIC_SHARED
from gpucodegen.tiling.machine.gpu.occupancy import occupancy
from gpucodegen.tiling.machine.gpu.plan import DEFAULT
from gpucodegen.tiling.proof.reach import Sides

WORTH = 0.9
"""Share of the cost of plain steps below which tiles are chosen."""
USUAL = 4096
"""Cells along a dimension of unknown extent, for planes; fewer for cubes."""
USUAL_STEPS = 100
"""Taken for time loops whose duration is unknown."""
MOST_STEPS = 64
MOST_THREADS = 256
REGISTERS = 64
"""What a thread of such a kernel is taken to need."""
WORD, ACROSS = 4, 8
"""Bytes of a bank of shared memory; cells of which tiles are multiples along rows."""
_DEAL, _CELL = 24, 2
"""Instructions of a chunk's place and guards, and of the addresses of a cell."""


@dataclass(frozen=True, slots=True)
class SweepWork:
    """What a sweep does in each cell, and the margins of `Reach`.

    ``reads`` and ``writes``: array and way to its cell, of arrays that the loop writes.
    ``others``: accesses of arrays that it only reads.
    """

    margins: tuple[Sides, ...]
    reads: tuple[tuple[int, tuple[int, ...]], ...]
    writes: tuple[tuple[int, tuple[int, ...]], ...]
    operations: int
    others: int = 0

    def neighbourhood(self, dimension: int) -> Sides:
        """How far its accesses are from the cell that it computes."""
        ways = [way[dimension] for _, way in (*self.reads, *self.writes)]
        return Sides(max(0, *(-way for way in ways)), max(0, *ways))


@dataclass(frozen=True)
class TimeProblem:
    """A time loop: extents of space, steps, slopes, sweeps; bytes of each array.

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
        """Dimensions of space."""
        return len(self.extents)

    @cached_property
    def cells(self) -> tuple[int, ...]:
        """The extents, usual ones in place of unknown ones."""
        usual = ceil(USUAL ** (2 / max(self.rank, 2)))
        return tuple(usual if e is None else max(e, 1) for e in self.extents)

    def halo(self, steps: int) -> tuple[Sides, ...]:
        """Cells around a tile that it needs for some steps, per dimension.

        >>> jacobi_1d().halo(3)
        (Sides(below=6, above=6),)
        """
        found: list[Sides] = []
        for dimension, slope in enumerate(self.slopes):
            below = above = 0
            for sweep in self.sweeps:
                margin, near = sweep.margins[dimension], sweep.neighbourhood(dimension)
                below = max(below, margin.below + near.below)
                above = max(above, margin.above + near.above)
            earlier = steps - 1
            found.append(
                Sides(below + slope.below * earlier, above + slope.above * earlier)
            )
        return tuple(found)


def jacobi_1d(cells: int | None = None, steps: int | None = None) -> TimeProblem:
    """Means of three points from A to B and back, as an example."""
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


@dataclass(frozen=True, slots=True)
class TimeTiles:
    """Steps of a launch, cells of a block with its halo, and of one thread's chunk.

    ``halo``: what is not stored, on both sides.
    """

    steps: int
    box: tuple[int, ...]
    chunk: tuple[int, ...]
    halo: tuple[Sides, ...]
    threads: int

    @property
    def tile(self) -> tuple[int, ...]:
        """Cells that a block stores, per dimension."""
        return tuple(
            extent - side.below - side.above
            for extent, side in zip(self.box, self.halo, strict=True)
        )


def tiles_of(
    problem: TimeProblem, steps: int, box: Sequence[int], chunk: Sequence[int]
) -> TimeTiles | None:
    """The tiles of a box, or None if it is all halo.

    >>> tiles_of(jacobi_1d(), 4, (256,), (4,)).tile
    (240,)
    """
    halo = list(problem.halo(steps))
    tile = [e - s.below - s.above for e, s in zip(box, halo, strict=True)]
    rounded = tile[-1] // ACROSS * ACROSS
    if min(*tile, rounded) < 1:
        return None
    halo[-1] = Sides(halo[-1].below, halo[-1].above + tile[-1] - rounded)
    chunks = prod(map(_ratio, box, chunk))
    threads = min(MOST_THREADS, ceil(chunks / WARP) * WARP)
    return TimeTiles(steps, tuple(box), tuple(chunk), tuple(halo), threads)


def plan_time_tiles(
    problem: TimeProblem, device: GpuDevice = DEFAULT
) -> TimeTiles | None:
    """The tiles of least cost, or None.

    >>> plan_time_tiles(jacobi_1d(1 << 22, 100)).steps > 4
    True
    >>> plan_time_tiles(jacobi_1d(1 << 22, 1)) is None
    True
    """
    limit = WORTH * plain_cost(problem, device)
    best: TimeTiles | None = None
    for tiles in candidates(problem):
        cost = step_cost(problem, tiles, device)
        if cost < limit:
            best, limit = tiles, cost
    return best


def candidates(problem: TimeProblem) -> Iterator[TimeTiles]:
    """Tiles that fit into shared memory."""
    most = STATIC_SHARED // sum(problem.element_bytes)
    duration = USUAL_STEPS if problem.steps is None else problem.steps
    steps = [s for s in range(1, MOST_STEPS + 1) if 2 * s <= max(duration, 1) + 1]
    for box, chunk in product(_boxes(problem.rank, most), _chunks(problem.rank)):
        if any(_remainder(e, c) for e, c in zip(box, chunk, strict=True)):
            continue
        for count in steps:
            tiles = tiles_of(problem, count, box, chunk)
            if tiles is None:
                break
            yield tiles


def _boxes(rank: int, most: int) -> Iterator[tuple[int, ...]]:
    """Boxes of at most so many cells, of rows of whole warps or chunks."""
    widths = [w for w in (32, 64, 128, 256, 512, 1024, 2048, 4096) if w <= most]
    if rank == 1:
        yield from ((width,) for width in widths)
        return
    for width in widths[:4]:
        others = most // width
        if rank == 2:
            heights = {others // 8 * 8, others // 16 * 8}
            yield from ((h, width) for h in sorted(heights) if h)
        else:
            for depth in (8, 12, 16, 24, 32):
                if others // depth >= 4:
                    yield depth, others // depth // 4 * 4, width


def _chunks(rank: int) -> Iterator[tuple[int, ...]]:
    """Cells of a thread: rows along the last dimension but one, a few in each."""
    if rank == 1:
        yield from ((width,) for width in (1, 2, 4))
        return
    for rows, width in product((4, 8), (1, 2, 4)):
        yield (*(1,) * (rank - 2), rows, width)


def _ratio(extent: int, part: int) -> int:
    return ceil(extent / part)


def _remainder(extent: int, part: int) -> int:
    return extent % part


def step_cost(problem: TimeProblem, tiles: TimeTiles, device: GpuDevice) -> float:
    """Estimated clocks of a time step."""
    blocks = prod(map(_ratio, problem.cells, tiles.tile))
    instructions = wavefronts = barriers = 0.0
    for sweep in problem.sweeps:
        own, turns = _chunk_work(problem, sweep, tiles.chunk)
        for left in range(tiles.steps):
            touched = prod(
                min(
                    _ratio(size + margin.below + margin.above + left * (s.below + s.above), c) + (c > 1),
                    _ratio(extent, c),
                )
                for size, margin, s, c, extent in zip(
                    tiles.tile, sweep.margins, problem.slopes, tiles.chunk, tiles.box, strict=True
                )
            )
            every = prod(map(_ratio, tiles.box, tiles.chunk))
            instructions += (touched * own + (every - touched) * _DEAL) / WARP
            wavefronts += touched * turns / WARP
            barriers += 1
    box, tile = prod(tiles.box), prod(tiles.tile)
    sizes = zip(problem.element_bytes, problem.carried, strict=True)
    moved = sum((box + tile) * size for size, carried in sizes if carried)
    copied = sum(box + tile * carried for carried in problem.carried) / WARP
    instructions += 5 * copied
    wavefronts += sum(
        (box + tile) * _ratio(size, WORD) / WARP for size in problem.element_bytes
    )
    barriers += 2
    shared = box * sum(problem.element_bytes)
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
        barriers=barriers,
    )
    return _launched(work, resident, device) / tiles.steps


def plain_cost(problem: TimeProblem, device: GpuDevice) -> float:
    """Estimated clocks of a step of launches of their own, a cell for each thread."""
    total = 0.0
    cells = prod(problem.cells)
    for sweep in problem.sweeps:
        accesses = [*sweep.reads, *sweep.writes]
        arrays = {array for array, _ in accesses}
        size = max(problem.element_bytes)
        warps = cells / WARP
        sectors = _ratio(size * WARP, SECTOR)
        work = Work(
            _ratio(cells, MOST_THREADS),
            MOST_THREADS,
            warps * (_DEAL / 2 + len(accesses) + sweep.others + sweep.operations),
            sectors=warps * sectors * (len(accesses) + sweep.others),
            block_sectors=warps * sectors * len(arrays),
            memory=float(sum(problem.element_bytes[a] for a in arrays) * cells),
            waits=1,
        )
        total += _launched(work, 8, device)
    return total


def _launched(work: Work, resident: int, device: GpuDevice) -> float:
    """Clocks of a launch that follows others."""
    found = estimate(device, resident, work)
    return max(found.total, START * device.clock)


def _chunk_work(
    problem: TimeProblem, sweep: SweepWork, chunk: Sequence[int]
) -> tuple[float, float]:
    """Instructions of a thread for its chunk, and turns of shared memory of a warp.

    A cell that several cells of a chunk read is loaded once.  Lanes that are a chunk
    apart take as many turns; aligned parts of rows are one access.
    """
    cells = list(product(*map(range, chunk)))
    loads = _accesses(cells, sweep.reads, chunk[-1])
    stores = _accesses(cells, sweep.writes, chunk[-1])
    words = max(_ratio(size, WORD) for size in problem.element_bytes)
    own = len(cells) * (sweep.operations + sweep.others * _CELL)
    turns = (loads + stores) * chunk[-1] * words
    return _DEAL + own + (loads + stores) * _CELL, turns


def _accesses(
    cells: Sequence[tuple[int, ...]],
    ways: Sequence[tuple[int, tuple[int, ...]]],
    width: int,
) -> int:
    """How many accesses reach all cells of a chunk, whole rows of it at once."""
    reached = {
        (array, *(c + w for c, w in zip(cell, way, strict=True)))
        for cell in cells
        for array, way in ways
    }
    rows: dict[tuple[int, ...], list[int]] = {}
    for *row, column in reached:
        rows.setdefault((*row, column // width), []).append(column)
    return sum(1 if len(found) == width else len(found) for found in rows.values())
