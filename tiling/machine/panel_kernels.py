"""Rows that meet all panels of a stripe in turn: sizes, and what tiles fetch.

Whether threads share the reduction of a contraction, where results are too few.

A thread takes tasks of whole register tiles, with the edge beside them.  Cut into p
parts, the reduction makes p times as many, each of 1/p of the steps; the partial
results are added up at the end.  In steps of a tile, with n tasks on t threads, the
contraction takes

    ceil(p n / t) steps / p + (p > 1) add_part p n

and the p of the least time wins if it saves a SAVED part.  A row times a matrix from
memory has a part for each thread: each then reads whole rows, which lie in one piece.
Adding in parts is another order of the sum, which must be permitted; it is the same in
every run.

Tasks of a contraction on a CPU: blocks of rows times stripes of columns.

A task copies its stripe of the right factor, which then stays in the second cache, and
streams its rows past it, so tasks share nothing and need no barrier.  Copying costs as
much as some more rows, streaming as much as some more columns:

    cost of a task = (rows + pack_stripe) (columns + fetch_rows)

Threads get the same number of tasks, up to one.  The grid of the least

    sum of all costs / threads + wait cost of a task

wins: at the end a thread waits for the last task of another one, longer where tasks do
not divide evenly, and longest where they differ (a triangle).

How register tiles read a right factor in place, rows of it several at once.

    for rows of B by steps, panels of columns:
      for each of the rows: acc += a * its columns in the panel

Each row is a stream of its own, which the processor fetches ahead once it sees it go
on.  Streams of the rows of a tile that reads B alone may be as many as a set of the
first cache holds lines, since they may lie a power of two apart; from a cache half of
them, since what is fetched ahead comes before it is used.  Narrow panels are read
fastest then: each row goes on soon.  The sums of a tile must still be enough to hide
the latency of their additions:

    rows * columns >= latency * lanes

The processor fetches ahead within a page, and each of these rows begins a page of its
own: tiles fetch from memory what those of the next block will read, into the second
cache, unless rows are so long that it does not stay there.

Where sets hold more lines, those of the next panel are fetched by one row instead, and
stay there beside those that are read.

Panels of the right factor that meet the rows of all outer axes.

Such a panel is copied once, by the first of its row tiles, not by all threads together,
which would meet twice for every block of the reduction.  The rows that meet it then
pass by once for each panel, so they have to stay in the second cache.  Threads share
the longest outer axis (the lines of an image) and the panels, l x p = threads.  A task
copies its panels, and its rows come from beyond the second cache:

    steps lines tile_cycles(rows, columns) (1 + pack / (lines rows))
      + stream share of different elements lines rows steps

The split of the least cost wins.

The transposed result of a contraction, and the time that it takes.

Lanes walk the longer side then, and a left factor that lies along the rows, which has
to be transposed or read element by element, becomes a right factor, read as it lies.
In cycles, with the register tile's own model for a step:

    steps tile_cycles(columns, rows) / threads + transpose (elements of the result)

The transposed result waits in the second cache to be transposed, by one thread.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import inf, prod

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
    """Modelled cycles; without end if the result does not stay in the second cache."""
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

    It is taken where one thread packs all panels anyway, threads would meet for several
    blocks of the reduction, or the panels do not stay in the second cache.

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


@dataclass(frozen=True, slots=True)
class Streaming:
    """``steps`` rows at once, in panels of ``columns``.

    ``next_panel``: those of the next panel are fetched; ``ahead``: those of so many
    steps later, into the second cache.
    """

    columns: int
    steps: int
    next_panel: bool = False
    ahead: int = 0


def in_place(request: TileRequest) -> InPlace | None:
    """The kernel that reads the right factor in place, if so few row tiles do.

    Rows of the factor that are long are streamed.
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
    """How a tile reads a right factor of long rows in place.

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

    ``widest``: columns of the right factor that the second cache holds.  ``uneven``:
    rows differ in how many of the columns they have.

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
    """Parts of the reduction that run at once; 1: results are enough for all threads.

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
"""Bytes of each step of a transposed left factor that are read at once."""


def in_stripes(request: TileRequest) -> Stripes | None:
    """The kernel whose tasks pack stripes of their own, where nothing else is shared.

    It is taken where a task has not all rows; or threads had no columns otherwise; or
    storing takes longest, which goes along rows then, not down panels.
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
    """Rows to pack at once: squares, whole lines of a transposed left factor."""
    problem = request.problem
    if not problem.left_is_transposed:
        return granule
    return -(-TRANSPOSED // (granule * problem.element_bits // 8)) * granule


def _fetching_in_parts(made: Stripes, request: TileRequest) -> Stripes:
    """The kernel whose tiles fetch what comes next bit by bit.

    A burst of fetches would keep the lines of the panel waiting.
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
