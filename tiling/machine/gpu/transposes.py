"""How blocks turn tiles around in shared memory: rows of one array, columns of another.

A block takes ``rows x columns`` iterations.  Its threads load groups of ``down``
neighbours along the rows' loop into a tile of shared memory, and use groups of
``across`` neighbours along the columns' loop.  Where both are alike, a thread turns
squares of them around in its registers, and groups go into shared memory and out of it;
elsewhere elements do, one by one.  Between rows of the tile there is ``padding``, as
much as makes the fewest wavefronts: they are enumerated, for each lane of each warp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import ceil, isqrt, prod

from gpucodegen.tiling.machine.gpu.devices import DEVICES, SECTOR, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import BUSY_LATENCY, LATENCY_MEMORY, busiest
from gpucodegen.tiling.machine.gpu.limits import STATIC_SHARED, WARP
from gpucodegen.tiling.machine.gpu.occupancy import occupancy
from gpucodegen.tiling.machine.gpu.streams import ADDRESSING, APART
from gpucodegen.tiling.machine.menu import Choose, least

BANKS, WORD = 32, 4
"""Of shared memory: banks, and bytes of a word."""
SIDES = 16, 32, 64, 128
THREADS = 128, 256
SHORT = 10
"""Bytes that each run of neighbours costs besides: from the published 2894 and 2679
GB/s of runs of 512 and 128 bytes.  The memory fetches two sectors at once."""
WIDEST = 16
"""Bytes of one access."""
LONGEST = 64
"""Elements of a thread: the text of each takes time to compile."""


@dataclass(frozen=True, slots=True)
class TurnedTile:
    """A tile of ``rows x columns`` iterations, and how threads share it.

    ``square``: the side of the squares that are turned around in registers.  So many
    rows of the tile lie beside each other in shared memory, ``padding`` behind them.
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
        """Of the tile in shared memory."""
        return self.rows // self.square, self.square * self.columns + self.padding

    def cell(self, row: int, column: int) -> int:
        """Where an element lies in shared memory."""
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
        """Whether all threads have as many groups, and as many squares."""
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
) -> TurnedTile:
    """The tile of least estimated clocks for ``extents``: batch, rows, columns.

    ``elements``: bytes of one element of each array that is turned around.  ``widths``:
    of the groups down and across.  ``moved``: bytes of an iteration in global memory.

    >>> plan_tile([4], (1, 4096, 4096), (4, 4), 8)
    TurnedTile(rows=64, columns=128, threads=128, down=4, across=4, padding=4, square=4)
    >>> plan_tile([4], (1, 4096, 4096), (4, 2), 8).square
    1

    Where no tile has groups as wide as the accesses could be, groups are narrower:

    >>> plan_tile([1], (1, 6, 16), (2, 16), 2).across
    8
    """
    while not any(candidates(elements, extents, widths)) and max(widths) > 1:
        narrower = max(widths) // 2
        widths = min(widths[0], narrower), min(widths[1], narrower)

    def cost(tile: TurnedTile) -> tuple[float, int]:
        return clocks(tile, elements, extents, moved, device), tile.rows * tile.columns

    return choose(candidates(elements, extents, widths), cost)


def candidates(
    elements: Sequence[int], extents: tuple[int, int, int], widths: tuple[int, int]
) -> Iterator[TurnedTile]:
    """Tiles that fit, no larger than they need to be."""
    _, rows, columns = extents
    squares = _squares(elements, widths)
    for tall, wide, threads, square in product(SIDES, SIDES, THREADS, squares):
        down, across = widths if square == 1 else (square, square)
        tile = TurnedTile(tall, wide, threads, down, across, square=square)
        is_large = tall > 2 * max(rows, SIDES[0]) or wide > 2 * max(columns, SIDES[0])
        held = tall * wide // threads * len(elements)
        if is_large or not tile.is_shared_out or held > LONGEST:
            continue
        padded = replace(tile, padding=best_padding(tile, max(elements)))
        if padded.shared(elements) <= STATIC_SHARED:
            yield padded


def _squares(elements: Sequence[int], widths: tuple[int, int]) -> list[int]:
    """Sides of squares: 1, and the most that accesses and a thread's text can have."""
    most = min(WIDEST // max(elements), isqrt(LONGEST // len(elements)))
    side = min(1 << most.bit_length() - 1, *widths)
    return [1] if widths[0] != widths[1] or side == 1 else [1, side]


def clocks(
    tile: TurnedTile,
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


def best_padding(tile: TurnedTile, element: int) -> int:
    """Elements of padding with the fewest wavefronts; the least of them.

    >>> best_padding(TurnedTile(32, 32, 256, 1, 1), 4)
    1
    >>> best_padding(TurnedTile(64, 64, 128, 4, 4, square=4), 4)
    4
    """
    most = max(1, 2 * WORD // element) if tile.square == 1 else tile.square
    tried = (replace(tile, padding=n) for n in range(0, most + 1, tile.square))
    return min(tried, key=lambda t: (wavefronts(t, element), t.padding)).padding


@cache
def wavefronts(tile: TurnedTile, element: int) -> int:
    """Turns of shared memory that a block needs, stores and loads.

    In each, a bank gives or takes one word.

    >>> wavefronts(TurnedTile(32, 32, 256, 1, 1, 0), 4)
    1056
    >>> wavefronts(TurnedTile(32, 32, 256, 1, 1, 1), 4)
    64
    """
    stores = _turns(tile, element, tile.rows // tile.down, tile.down, turned=True)
    loads = _turns(tile, element, tile.columns // tile.across, tile.across)
    return (tile.loads * stores + tile.uses * loads) // tile.square


def _turns(
    tile: TurnedTile, element: int, groups: int, width: int, *, turned: bool = False
) -> int:
    """Wavefronts of one group of every thread, or of as many as squares have.

    Of accesses of more than a word, fewer lanes take part in a turn.
    """
    bytes_ = element * tile.square
    together = min(WARP, WARP * WORD // max(bytes_, WORD))
    total = 0
    for first in range(0, tile.threads, together):
        for n in range(width):
            banks: dict[int, set[int]] = {}
            for thread in range(first, first + together):
                line, along = thread // groups, thread % groups * width
                if turned:
                    row, column = along + n, line * tile.square
                else:
                    row, column = line, along + (n if tile.square == 1 else 0)
                start = tile.cell(row, column) * element
                for word in range(start // WORD, (start + bytes_ - 1) // WORD + 1):
                    banks.setdefault(word % BANKS, set()).add(word)
            total += max(map(len, banks.values()))
    return total
