"""Plans of streaming kernels on GPUs: elementwise sweeps, and tiled transposition.

`plan_streams`: a thread takes ``groups`` groups of ``width`` neighbours, a block
``columns x rows`` such threads.  The cost of a plan is its start, plus the largest of
these clocks of the busiest multiprocessor, plus a tenth of the others, which do not
wholly overlap:

* the memory of the device, all bytes at the rate of a copy;
* loads under way (Little's law): bytes / (bytes in flight / latency), where the
  threads that fit hold ``groups * width`` elements of each load;
* sectors of the L1 cache: an access of ``w`` elements by lanes that are ``width``
  elements apart touches every sector that it has a byte of, in each row of its warp;
* instructions.

Four such kernels took 1.04 to 1.13 times their estimates on an H100
(``bench/results/gpu``).

`plan_tile`: a block transposes ``rows x columns`` iterations through shared memory.
Its threads load groups of ``down`` neighbours along the rows' loop into a tile, and use
groups of ``across`` neighbours along the columns' loop.  Where both widths are equal, a
thread transposes squares of them in its registers, and whole groups pass shared memory;
elsewhere single elements do.  Rows of the tile are padded for the fewest wavefronts,
which are enumerated for each lane of each warp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from math import ceil, isqrt, prod
from typing import Any

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import (
    DEVICES,
    SCHEDULERS,
    SECTOR,
    STATIC_SHARED,
    WARP,
    GpuDevice,
    occupancy,
)
from gpucodegen.tiling.machine.gpu.estimate import BUSY_LATENCY, LATENCY_MEMORY, busiest
from gpucodegen.tiling.machine.gpu.product_tiles import Number
from gpucodegen.tiling.machine.plan_space import Choose, least

GROUPS = 1, 2, 4, 8
THREADS = 128, 256
ADDRESSING = 12
"""Instructions of a thread before its first access, and registers beside elements."""
LONGEST = 512
"""Operations of a thread's code, at most: each takes time to compile."""
APART = 0.1
"""Share of the clocks of non-binding units that is not hidden; assumed."""
REGISTER = 4
"""Bytes of one."""


@dataclass(frozen=True, slots=True)
class Stream:
    """One access of each iteration.

    ``element``: bytes of one.  ``distance``: elements from one iteration to the next;
    None where it varies.  ``widths``: the most elements that one access moves, by the
    width of the groups, where it is not 1.
    """

    element: int
    loads: bool
    distance: int | None
    widths: tuple[tuple[int, int], ...] = ()

    def at_once(self, width: int) -> int:
        """Elements that one access moves in groups of this width."""
        return dict(self.widths).get(width, 1)

    def requests(self, width: int) -> int:
        """Accesses of a thread for a group."""
        if self.distance == 0 and self.loads:
            return 1
        return width // self.at_once(width)

    def sectors(self, width: int, columns: int) -> float:
        """Sectors that a warp requests for one group per lane.

        >>> of_f32 = Stream(4, True, 1, ((2, 2), (4, 4)))
        >>> of_f32.sectors(4, 128), of_f32.sectors(4, 1), of_f32.sectors(1, 128)
        (16, 32, 4)
        >>> Stream(4, True, 1).sectors(4, 128), Stream(4, True, None).sectors(1, 32)
        (64, 32)
        """
        lanes = min(columns, WARP)
        bytes_ = self.at_once(width) * self.element
        apart = SECTOR if self.distance is None else abs(self.distance) * self.element
        span = (lanes - 1) * width * apart + bytes_
        touched = min(ceil(span / SECTOR), lanes * ceil(bytes_ / SECTOR))
        return self.requests(width) * (WARP // lanes) * touched


@dataclass(frozen=True, slots=True)
class StreamPlan:
    """``columns x rows`` threads, each with ``groups`` groups of ``width`` elements."""

    width: int
    groups: int
    columns: int
    rows: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.columns * self.rows

    @property
    def row(self) -> int:
        """Elements of a row that a block takes."""
        return self.columns * self.width * self.groups


def plan_streams(
    streams: Sequence[Stream],
    extents: tuple[int, int],
    operations: int,
    *,
    device: GpuDevice = DEVICES["H100"],
    choose: Choose = least,
) -> StreamPlan:
    """The plan of least estimated clocks for ``extents``: rows, and elements of a row.

    ``operations``: instructions of one iteration.  Ties go to the plan with more
    blocks.

    >>> of_f32 = ((2, 2), (4, 4))
    >>> relu = [Stream(4, True, 1, of_f32), Stream(4, False, 1, of_f32)]
    >>> plan_streams(relu, (1, 1 << 24), 3)
    StreamPlan(width=4, groups=2, columns=128, rows=1)
    >>> plan_streams(relu, (1 << 20, 16), 3)
    StreamPlan(width=4, groups=2, columns=2, rows=64)
    """

    def cost(plan: StreamPlan) -> tuple[float, int]:
        return clocks(plan, streams, extents, operations, device), plan.row * plan.rows

    return choose(candidates(streams, extents, operations), cost)


def candidates(
    streams: Sequence[Stream], extents: tuple[int, int], operations: int
) -> Iterator[StreamPlan]:
    """Plans with short code, the simplest first."""
    rows, row = extents
    known = {width for stream in streams for width, _ in stream.widths}
    for width, groups, threads in product(sorted({1, *known}), GROUPS, THREADS):
        is_long = width * groups * operations > LONGEST
        if (is_long or width * groups > row) and (width, groups) != (1, 1):
            continue
        needed = ceil(row / (width * groups))
        columns = min(threads, 1 << (needed - 1).bit_length())
        if groups > 1 and columns * width * groups > row:
            continue  # no thread would have all of its groups
        down = min(threads // columns, 1 << max(rows - 1, 0).bit_length())
        yield StreamPlan(width, groups, columns, max(down, 1))


def clocks(
    plan: StreamPlan,
    streams: Sequence[Stream],
    extents: tuple[int, int],
    operations: int,
    device: GpuDevice,
) -> float:
    """Estimated clocks of a launch."""
    rows, row = extents
    across, down = ceil(row / plan.row), ceil(rows / plan.rows)
    blocks = max(across * down, 1)
    most, unit = busiest(blocks, device.processors), device.multiprocessor
    held = plan.width * plan.groups
    kept = sum(-(-held * stream.element // REGISTER) for stream in streams)
    registers = min(2 * ADDRESSING + kept, 255)
    fits = occupancy(unit, plan.threads, registers, 0).blocks
    running = max(1, min(most, fits))
    moved = held * plan.threads
    loaded = moved * sum(s.element for s in streams if s.loads and s.distance != 0)
    stored = moved * sum(s.element for s in streams if not s.loads)
    warps = ceil(plan.threads / WARP)
    requests = plan.groups * sum(s.requests(plan.width) for s in streams)
    instructions = warps * (ADDRESSING + requests + held * operations)
    sectors = (
        warps * plan.groups * sum(s.sectors(plan.width, plan.columns) for s in streams)
    )
    share = device.copy_bandwidth / device.clock / device.processors
    flight = running * loaded / (BUSY_LATENCY * device.clock)
    each = (
        (loaded + stored) / share,
        loaded / flight if flight else 0.0,
        sectors * SECTOR / unit.l1_rate,
        instructions / min(SCHEDULERS, running * warps),
    )
    worst = max(each)
    start = LATENCY_MEMORY * (1 + APART * (ceil(most / running) - 1))
    return start + most * (worst + APART * (sum(each) - worst))


BANKS, WORD = 32, 4
"""Of shared memory: banks, and bytes of a word."""
SIDES = 16, 32, 64, 128
TILE_THREADS = 128, 256
SHORT = 10
"""Extra bytes that each contiguous run costs: from the published 2894 and 2679 GB/s of
runs of 512 and 128 bytes.  The memory fetches two sectors at once.
"""
WIDEST = 16
"""Bytes of one access."""
MOST_HELD = 64
"""Elements of a thread: the text of each takes time to compile."""


@dataclass(frozen=True, slots=True)
class TransposeTile:
    """A tile of ``rows x columns`` iterations, and its distribution over threads.

    ``square``: the side of the squares transposed in registers.  ``square`` rows of the
    tile are adjacent in shared memory, followed by ``padding``.
    """

    rows: int
    columns: int
    threads: int
    down: int
    across: int
    padding: int = 0
    square: int = 1

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the tile in shared memory."""
        return self.rows // self.square, self.square * self.columns + self.padding

    def cell(self, row: Number, column: Number) -> Number:
        """The position of an element in shared memory."""
        inner = row % self.square * self.columns + column
        return row // self.square * self.shape[1] + inner

    @property
    def loads(self) -> int:
        """Groups that a thread loads."""
        return self.rows * self.columns // (self.threads * self.down)

    @property
    def uses(self) -> int:
        """Groups that a thread uses."""
        return self.rows * self.columns // (self.threads * self.across)

    def shared(self, elements: Iterable[int]) -> int:
        """Bytes of shared memory, for a tile of each array."""
        return prod(self.shape) * sum(elements)

    @property
    def is_shared_out(self) -> bool:
        """Whether all threads have equally many groups and squares."""
        size = self.rows * self.columns
        groups = self.rows // self.down, self.columns // self.across
        each = self.threads * max(self.down, self.across, self.square**2)
        return size % each == 0 and all(self.threads % n == 0 for n in groups)


def plan_tile(
    elements: Sequence[int],
    extents: tuple[int, int, int],
    widths: tuple[int, int],
    moved: int,
    *,
    device: GpuDevice = DEVICES["H100"],
    choose: Choose = least,
) -> TransposeTile:
    """The tile of least estimated clocks for ``extents``: batch, rows, columns.

    ``elements``: bytes of one element of each transposed array.  ``widths``: of the
    groups down and across.  ``moved``: bytes of an iteration in global memory.

    >>> plan_tile([4], (1, 4096, 4096), (4, 4), 8)
    TransposeTile(rows=64, columns=128, threads=128, down=4,
                  across=4, padding=4, square=4)
    >>> plan_tile([4], (1, 4096, 4096), (4, 2), 8).square
    1

    Where no tile has groups as wide as accesses could be, groups are narrower:

    >>> plan_tile([1], (1, 6, 16), (2, 16), 2).across
    8
    """
    while not any(tile_candidates(elements, extents, widths)) and max(widths) > 1:
        narrower = max(widths) // 2
        widths = min(widths[0], narrower), min(widths[1], narrower)

    def cost(tile: TransposeTile) -> tuple[float, int]:
        return tile_clocks(
            tile, elements, extents, moved, device
        ), tile.rows * tile.columns

    return choose(tile_candidates(elements, extents, widths), cost)


def tile_candidates(
    elements: Sequence[int], extents: tuple[int, int, int], widths: tuple[int, int]
) -> Iterator[TransposeTile]:
    """Tiles that fit, no larger than the extents need."""
    _, rows, columns = extents
    squares = _squares(elements, widths)
    for tall, wide, threads, square in product(SIDES, SIDES, TILE_THREADS, squares):
        down, across = widths if square == 1 else (square, square)
        tile = TransposeTile(tall, wide, threads, down, across, square=square)
        is_large = tall > 2 * max(rows, SIDES[0]) or wide > 2 * max(columns, SIDES[0])
        held = tall * wide // threads * len(elements)
        if is_large or not tile.is_shared_out or held > MOST_HELD:
            continue
        padded = replace(tile, padding=best_padding(tile, max(elements)))
        if padded.shared(elements) <= STATIC_SHARED:
            yield padded


def _squares(elements: Sequence[int], widths: tuple[int, int]) -> list[int]:
    """Sides of squares: 1, and the largest that accesses and code size allow."""
    most = min(WIDEST // max(elements), isqrt(MOST_HELD // len(elements)))
    side = min(1 << most.bit_length() - 1, *widths)
    return [1] if widths[0] != widths[1] or side == 1 else [1, side]


def tile_clocks(
    tile: TransposeTile,
    elements: Sequence[int],
    extents: tuple[int, int, int],
    moved: int,
    device: GpuDevice,
) -> float:
    """Estimated clocks of a launch: as `streams`, and wavefronts of shared memory."""
    batch, rows, columns = extents
    size, unit = tile.rows * tile.columns, device.multiprocessor
    blocks = max(batch * ceil(rows / tile.rows) * ceil(columns / tile.columns), 1)
    most = busiest(blocks, device.processors)
    held = size // tile.threads
    registers = min(2 * ADDRESSING + held * sum(elements) // WORD, 255)
    fits = occupancy(unit, tile.threads, registers, tile.shared(elements)).blocks
    running = max(1, min(most, fits))
    loaded = size * sum(elements)
    flight = running * loaded / (BUSY_LATENCY * device.clock)
    share = device.copy_bandwidth / device.clock / device.processors
    waves = sum(wavefronts(tile, element) for element in elements)
    run = min(tile.rows, rows, tile.columns, columns) * max(elements)
    waste = max(1.0, 2 * SECTOR / run) * (1 + SHORT / run)
    each = size * moved * waste / share, loaded / flight, waves
    worst = max(each)
    start = 2 * LATENCY_MEMORY * (1 + APART * (ceil(most / running) - 1))
    return start + most * (worst + APART * (sum(each) - worst))


def best_padding(tile: TransposeTile, element: int) -> int:
    """Elements of padding with the fewest wavefronts; the least of them.

    >>> best_padding(TransposeTile(32, 32, 256, 1, 1), 4)
    1
    >>> best_padding(TransposeTile(64, 64, 128, 4, 4, square=4), 4)
    4
    """
    most = max(1, 2 * WORD // element) if tile.square == 1 else tile.square
    tried = (replace(tile, padding=n) for n in range(0, most + 1, tile.square))
    return min(tried, key=lambda t: (wavefronts(t, element), t.padding)).padding


@cache
def wavefronts(tile: TransposeTile, element: int) -> int:
    """Shared-memory wavefronts of a block, stores and loads.

    In each wavefront, a bank serves one word.

    >>> wavefronts(TransposeTile(32, 32, 256, 1, 1, 0), 4)
    1056
    >>> wavefronts(TransposeTile(32, 32, 256, 1, 1, 1), 4)
    64
    """
    stores = _turns(tile, element, tile.rows // tile.down, tile.down, turned=True)
    loads = _turns(tile, element, tile.columns // tile.across, tile.across)
    return (tile.loads * stores + tile.uses * loads) // tile.square


def _turns(
    tile: TransposeTile, element: int, groups: int, width: int, *, turned: bool = False
) -> int:
    """Wavefronts of one group of every thread, or of as many as a square has.

    Accesses wider than a word are served for fewer lanes per wavefront.
    """
    bytes_ = element * tile.square
    together = min(WARP, WARP * WORD // max(bytes_, WORD))
    threads: Any = np.arange(tile.threads)[:, None]
    lanes: Any = np.arange(width)
    line, along = threads // groups, threads % groups * width
    if turned:
        starts = tile.cell(along + lanes, line * tile.square) * element
    else:
        aside = lanes if tile.square == 1 else 0 * lanes
        starts = tile.cell(line, along + aside) * element
    first, last = starts // WORD, (starts + bytes_ - 1) // WORD
    accesses, rows = tile.threads // together * width, int(np.max(last)) // BANKS + 1
    asked = np.zeros(accesses * rows * BANKS, np.bool_)
    access = (threads // together * width + lanes) * rows * BANKS
    for n in range(int(np.max(last - first)) + 1):
        asked[access + np.minimum(first + n, last)] = True
    words = asked.reshape(accesses, rows, BANKS).sum(axis=1, dtype=np.int32)
    return int(np.sum(np.max(words, axis=1)))
