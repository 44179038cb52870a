"""Plans of CPU contractions: packed panels, in-place streaming, task grids, split-K.

`in_outer_panels`, `in_place`, `streaming` and `in_stripes` return the kernel of a
`TileRequest`, or None where another kernel serves it; `choose_task_grid`,
`reduction_parts` and `transposed_time` size and time them.  All costs are modelled
cycles; the plan of least cost wins.

*Task grid.* A task copies its stripe of B, which stays in the L2 cache, and streams its
rows past it, so tasks share no data and need no barrier. Packing costs as much as some
more rows, streaming as much as some more columns: cost of a task = (rows + pack_stripe)
(columns + fetch_rows).  The grid of the least sum of all costs / threads + wait cost of
a task wins; the wait is longer where tasks do not divide evenly, and longest where they
differ (a triangle).

*Split-K.* The reduction is cut into p parts, whose partial results are added at the
end.  With n register tiles on t threads, it takes ceil(p n / t) steps / p + (p > 1)
add_part p n; the p of least time is taken if it saves a SAVED part. A row times a
matrix from memory has one part per thread, so each thread reads whole contiguous rows.
It reorders the sum, which must be permitted, but in the same way in every run.

*In place.* Several rows of B are read at once, panel by panel: each row is a stream for
the hardware prefetcher.  Streams of a tile that reads B alone may be as many as a set
of the L1 cache holds lines, since they may lie a power of two apart; half of them from
a cache.  rows * columns >= latency * lanes hides the latency of additions.  The
prefetcher stops at the end of a page, so tiles fetch the rows of the next block from
memory into the L2 cache, unless rows are too long to stay there.  Where L1 sets hold
more lines, a tile of one row prefetches the next panel instead.

*Outer panels.* A panel of B is packed once, by its first row tile, and meets the rows
of all outer axes, without a barrier per block of the reduction; those rows have to stay
in the L2 cache.  Threads share the longest outer axis and the panels, l x p = threads;
a task costs

    steps lines tile_cycles(rows, columns) (1 + pack / (lines rows))
      + stream share of different elements lines rows steps

*Transposed result.* Lanes walk the longer side, so a transposed A becomes a B that is
read as it lies.  It takes steps tile_cycles(columns, rows) / threads + transpose
(elements of the result); the result waits in the L2 cache and is transposed by one
thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import inf, prod

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import COSTS, MEMORY, Level, Machine, Share
from gpucodegen.tiling.machine.product_problem import (
    SKINNY,
    InPlace,
    OuterPanels,
    Problem,
    Stripes,
    Tiling,
    packed_stride,
)
from gpucodegen.tiling.machine.register_tiles import (
    K_BLOCK_LIMIT,
    RegisterTile,
    TileRequest,
    choose_register_tile,
    least_cycles,
    split_reduction,
    tile_cycles,
)


def transposed_time(problem: Problem, machine: Machine) -> float:
    """Modelled cycles; infinite if the result does not stay in the L2 cache."""
    if not machine.fits(problem.result_bytes, Level.SECOND, Share.HALF):
        return inf
    shape = problem.columns, problem.rows, problem.element_bits
    computed = problem.steps * least_cycles(*shape, problem.summing(machine.unit))
    turned = COSTS.transpose * problem.rows * problem.columns
    return computed / machine.threads_for(problem.work) + turned


EVEN = 0.9
"""Least share of the time of the largest task that threads compute on average."""


@dataclass(frozen=True, slots=True)
class _Split:
    """``parts`` of the longest outer axis, ``stripes`` of columns."""

    parts: int
    stripes: int


def in_outer_panels(request: TileRequest) -> OuterPanels | None:
    """The kernel with loops over outer axes inside those over panels.

    It is taken where one thread packs all panels anyway, where threads would need a
    barrier for each of several reduction blocks, or where the panels exceed the L2
    cache.

    >>> from gpucodegen.tiling.machine.processor import Machine
    >>> from gpucodegen.tiling.machine.product_problem import TileSizes
    >>> from gpucodegen.tiling.machine.product_problem import Problem
    >>> from gpucodegen.tiling.machine.processor import VectorUnit
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
    """The request and the extents that decide about outer panels."""

    request: TileRequest
    tiling: Tiling

    @property
    def threads(self) -> int:
        return self.request.machine.threads if self.tiling.parallel else 1

    @property
    def steps(self) -> int:
        inside = self.request.problem.reduction[self.tiling.k_position + 1 :]
        return self.tiling.k_chunk * prod(inside)

    @property
    def alone(self) -> bool:
        """Whether one thread packs all panels in any case."""
        return not self.tiling.parallel

    @property
    def meet_often(self) -> bool:
        """Whether threads would need a barrier for each of several reduction blocks."""
        return self.tiling.parallel and self.steps < prod(
            self.request.problem.reduction
        )

    @property
    def panels_leave(self) -> bool:
        """Whether the panels together exceed the L2 cache."""
        problem = self.request.problem
        return problem.columns * self.steps > self._room(Share.QUARTER)

    def splits(self) -> Iterator[_Split]:
        """Splits that keep all threads busy, and rows in the L2 cache."""
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
        """Whether the rows of a task stay in the L2 cache and tasks are balanced."""
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
        """The number of elements that fill a share of the L2 cache."""
        room = self.request.machine.room(Level.SECOND, share)
        return room * 8 // self.request.problem.element_bits


@dataclass(frozen=True, slots=True)
class Streaming:
    """``steps`` rows of B at once, in panels of ``columns``.

    ``next_panel``: the next panel is prefetched; ``ahead``: the distance in steps of
    prefetches into the L2 cache.
    """

    columns: int
    steps: int
    next_panel: bool = False
    ahead: int = 0


def in_place(request: TileRequest) -> InPlace | None:
    """The kernel that reads B in place, if few row tiles read it.

    Long rows of B are streamed.
    """
    if not request.reads_in_place:
        return None
    if not request.problem.right_is_wide:
        return InPlace(request.tiling())
    stream = streaming(request)
    columns = request.sizes.columns or stream.columns
    tiling = request.tiling(columns, stream.steps)
    is_last = tiling.k_position == len(request.problem.reduction) - 1
    return InPlace(tiling, stream.ahead if is_last else 0, stream.next_panel)


def streaming(request: TileRequest) -> Streaming:
    """The streaming of a B with long rows by a tile in place.

    >>> from gpucodegen.tiling.machine.processor import Machine
    >>> from gpucodegen.tiling.machine.product_problem import TileSizes
    >>> from gpucodegen.tiling.machine.product_problem import Problem
    >>> from gpucodegen.tiling.machine.processor import VectorUnit
    >>> vector = Problem(1, 4096, (4096,), 1, 32, True, False)
    >>> for first in (32 << 10, 48 << 10):
    ...     machine = Machine(1, VectorUnit(512, 32), first=first)
    ...     print(streaming(TileRequest.of(vector, machine, TileSizes())))
    Streaming(columns=64, steps=8, next_panel=False, ahead=8)
    Streaming(columns=128, steps=16, next_panel=True, ahead=0)
    """
    problem, machine, tile = request.problem, request.machine, request.tile
    ways = MEMORY.ways
    near, line = problem.right_is_near(machine), problem.rows == 1
    if problem.readers(tile.rows) > 1 or (near and not line):
        return Streaming(tile.columns, 2 * ways)
    if machine.ways > ways:
        return Streaming(tile.columns, ways if near else 2 * ways, line)
    vectors = -(-machine.unit.latency // tile.rows)
    panel = min(tile.columns, vectors * request.lanes)
    if near:
        return Streaming(panel, ways // 2)
    waiting = ways * problem.columns * problem.element_bits // 8
    stay = machine.fits(waiting, Level.SECOND, Share.HALF)
    return Streaming(panel, ways, ahead=ways if stay else 0)


FEWEST_ROWS = 4
"""Register tiles, one below the other, of the smallest task."""


@dataclass(frozen=True, slots=True)
class TaskGrid:
    """``row_block`` rows of a task; ``stripes`` of columns."""

    row_block: int
    stripes: int


def choose_task_grid(
    extents: tuple[int, int],
    tile: tuple[int, int],
    widest: int,
    threads: int,
    *,
    uneven: bool = False,
) -> TaskGrid:
    """The grid of least modelled time for an ``extents`` (rows, columns) result.

    ``widest``: columns of B that the L2 cache holds.  ``uneven``: rows differ in how
    many of the columns they have.

    >>> choose_task_grid((2048, 2048), (8, 24), 208, threads=2)
    TaskGrid(row_block=1024, stripes=11)
    >>> choose_task_grid((4096, 64), (8, 32), 1000, threads=2)
    TaskGrid(row_block=416, stripes=1)
    >>> choose_task_grid((2048, 2048), (8, 24), 208, threads=1)
    TaskGrid(row_block=2048, stripes=11)
    >>> choose_task_grid((1200, 1200), (8, 24), 443, threads=2, uneven=True)
    TaskGrid(row_block=200, stripes=10)
    """
    tiles, panels = (-(-e // t) for e, t in zip(extents, tile, strict=True))
    packed, fetched = COSTS.pack_stripe, COSTS.fetch_rows

    def time(rows: int, columns: int) -> float:
        down, across = -(-tiles // rows), -(-panels // columns)
        total = (extents[0] + down * packed) * (extents[1] + across * fetched)
        task = (rows * tile[0] + packed) * (columns * tile[1] + fetched)
        alike = COSTS.wait_uneven if down * across % threads else COSTS.wait_even
        wait = COSTS.wait_different if uneven else alike
        wait = wait if threads > 1 else 0
        return total / threads + wait * task

    fitting = range(1, max(1, min(panels, widest // tile[1])) + 1)
    parts = range(1, (tiles if threads > 1 else 1) + 1)
    usable = {tiles} | {n for n in (-(-tiles // p) for p in parts) if n >= FEWEST_ROWS}
    rows, columns = min(
        ((r, c) for r in usable for c in fitting),
        key=lambda each: (time(*each), each),
    )
    return TaskGrid(rows * tile[0], -(-panels // columns))


SAVED = 0.3
"""Share of the time that must be saved: parts read memory that threads share."""


def reduction_parts(problem: Problem, machine: Machine) -> int:
    """The number of concurrent parts of the reduction (split-K); 1: no split.

    >>> from gpucodegen.tiling.machine.processor import VectorUnit
    >>> machine = Machine(8, VectorUnit(512, 32))
    >>> reduction_parts(Problem(6, 32, (100000,), 1, 32, True, False), machine)
    8
    >>> reduction_parts(Problem(2048, 2048, (2048,), 1, 32, True, False), machine)
    1
    >>> reduction_parts(Problem(1, 4096, (4096,), 1, 32, True, False), machine)
    8
    """
    threads = machine.threads_for(problem.work)
    if problem.outer > 1 or len(problem.reduction) != 1 or problem.rows > SKINNY:
        return 1
    if problem.pixels or problem.uneven:
        return 1
    (steps,) = problem.reduction
    tile = choose_register_tile(
        problem.rows,
        problem.columns,
        problem.element_bits,
        problem.summing(machine.unit),
    )
    across = max(1, problem.columns // tile.columns)
    tasks = -(-problem.rows // (FEWEST_ROWS * tile.rows)) * across

    def time(parts: int) -> float:
        added = COSTS.add_part * parts * tasks if parts > 1 else 0
        return -(-parts * tasks // threads) * steps / parts + added

    most = min(threads, steps)
    if (
        problem.rows == 1
        and problem.right_is_wide
        and not problem.right_is_near(machine)
    ):
        return most
    best = min(range(1, most + 1), key=time)
    return best if time(best) <= (1 - SAVED) * time(1) else 1


STORED_STEPS = 12
"""Steps: shorter reduction blocks take less time than storing a result from memory."""
TRANSPOSED = 384
"""Bytes of each step of a transposed A that are read at once."""


def in_stripes(request: TileRequest) -> Stripes | None:
    """The kernel whose tasks pack stripes of their own, where no packed data is shared.

    It is taken where a task does not have all rows; where threads would have no columns
    otherwise; or where stores dominate, which then go along rows instead of down
    panels.
    """
    problem, machine = request.problem, request.machine
    plain = request.tiling()
    apart = problem.outer == 1 or plain.outer_first
    if not apart or not (
        plain.row_block < problem.rows
        or (problem.skinny and plain.parallel and plain.stripes < machine.threads)
        or (
            plain.k_chunk < STORED_STEPS
            and not machine.fits(problem.result_bytes, Level.SECOND)
        )
    ):
        return None
    size = problem.element_bits // 8
    room = machine.room(Level.FIRST, Share.HALF) // (plain.rows * size)
    limit = request.sizes.k_block or min(K_BLOCK_LIMIT, room)
    squares = plain.left_stride or not problem.right_is_contiguous
    together = plain.lanes if squares else 1
    position, chunk = split_reduction(problem.reduction, limit, together)
    granule = problem.granule(plain.rows, plain.lanes)
    grid = choose_task_grid(
        (problem.rows, problem.columns),
        (granule, plain.columns),
        request.rows_that_stay(chunk),
        machine.threads_for(problem.work),
        uneven=problem.uneven,
    )
    is_last = position == len(problem.reduction) - 1
    row_block = request.sizes.row_block or grid.row_block
    tiling = replace(
        plain,
        k_position=position,
        k_chunk=chunk,
        left_stride=packed_stride(chunk, size) if plain.left_stride and is_last else 0,
        row_block=-(-row_block // granule) * granule,
        stripes=grid.stripes,
        fetches=not machine.fits(problem.result_bytes, Level.SECOND),
    )
    made = Stripes(tiling, _rows_together(request, granule))
    return _fetching_in_parts(made, request) if is_last else made


def _rows_together(request: TileRequest, granule: int) -> int:
    """Rows to pack at once: squares, or whole lines of a transposed A."""
    problem = request.problem
    if not problem.left_is_transposed:
        return granule
    return -(-TRANSPOSED // (granule * problem.element_bits // 8)) * granule


def _fetching_in_parts(made: Stripes, request: TileRequest) -> Stripes:
    """The kernel whose tiles spread the prefetches of the next block.

    A burst of prefetches would delay the lines of the panel.
    """
    problem, tiling = request.problem, made.tiling
    size = problem.element_bits // 8
    panels = max(1, problem.columns // tiling.columns // tiling.stripes)
    left = problem.rows * problem.reduction[-1] * size
    is_near = request.machine.fits(left, Level.SECOND, Share.HALF)
    far = problem.left_stride is not None and not is_near
    lines = -(-tiling.k_chunk * size // MEMORY.line // panels) if far else 0
    across = tiling.columns * size // MEMORY.line if tiling.fetches else 0
    parts = min(tiling.rows, -(-tiling.rows * (lines + across) // MEMORY.fetches))
    return replace(made, parts=parts, left_lines=lines)
