"""How blocks turn tiles around in shared memory: rows of one array, columns of another.

A block takes ``rows x columns`` iterations.  Its threads load groups of ``down``
neighbours along the rows' loop into a tile of shared memory, and use groups of
``across`` neighbours along the columns' loop.  Elements go into shared memory and out
of it one by one; between rows of the tile there is ``padding``, as much as makes the
fewest wavefronts: they are enumerated, for each lane of each warp.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from math import ceil

from gpucodegen.tiling.machine.gpu.devices import DEVICES, SECTOR, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import BUSY_LATENCY, LATENCY_MEMORY, busiest
from gpucodegen.tiling.machine.gpu.limits import STATIC_SHARED, WARP
from gpucodegen.tiling.machine.gpu.occupancy import occupancy
from gpucodegen.tiling.machine.gpu.streams import ADDRESSING, APART

BANKS, WORD = 32, 4
"""Of shared memory: banks, and bytes of a word."""
SIDES = 16, 32, 64, 128
THREADS = 128, 256
SHORT = 10
"""Bytes that each run of neighbours costs besides: from the published 2894 and 2679
GB/s of runs of 512 and 128 bytes.  The memory fetches two sectors at once."""
LONGEST = 64
"""Elements of a thread: the text of each takes time to compile."""


@dataclass(frozen=True, slots=True)
class TurnedTile:
    """A tile of ``rows x columns`` iterations, and how threads share it."""

    rows: int
    columns: int
    threads: int
    down: int
    across: int
    padding: int = 0

    @property
    def stride(self) -> int:
        """Elements between rows of the tile in shared memory."""
        return self.columns + self.padding

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
        return self.rows * self.stride * sum(elements)


def plan_tile(
    elements: Sequence[int],
    extents: tuple[int, int, int],
    widths: tuple[int, int],
    moved: int,
    *,
    device: GpuDevice = DEVICES["H100"],
) -> TurnedTile:
    """The tile of least estimated clocks for ``extents``: batch, rows, columns.

    ``elements``: bytes of one element of each array that is turned around.  ``widths``:
    of the groups down and across.  ``moved``: bytes of an iteration in global memory.

    >>> plan_tile([4], (1, 4096, 4096), (4, 4), 8)
    TurnedTile(rows=64, columns=64, threads=128, down=4, across=4, padding=1)
    >>> plan_tile([2], (1, 4096, 4096), (8, 8), 4).padding
    3
    """

    def cost(tile: TurnedTile) -> tuple[float, int]:
        return clocks(tile, elements, extents, moved, device), tile.rows * tile.columns

    return min(candidates(elements, extents, widths), key=cost)


def candidates(
    elements: Sequence[int], extents: tuple[int, int, int], widths: tuple[int, int]
) -> Iterator[TurnedTile]:
    """Tiles that fit, no larger than they need to be."""
    _, rows, columns = extents
    down, across = widths
    for tall, wide, threads in product(SIDES, SIDES, THREADS):
        tile = TurnedTile(tall, wide, threads, down, across)
        is_large = tall > 2 * max(rows, SIDES[0]) or wide > 2 * max(columns, SIDES[0])
        even = tall * wide % (threads * max(down, across)) == 0
        groups = tall // down, wide // across
        whole = all(threads % count == 0 for count in groups)
        held = tall * wide // threads * len(elements)
        if is_large or not even or not whole or held > LONGEST:
            continue
        padded = replace(tile, padding=best_padding(tile, max(elements)))
        if padded.shared(elements) <= STATIC_SHARED:
            yield padded


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
    """
    most = max(1, 2 * WORD // element)
    tried = (replace(tile, padding=n) for n in range(most + 1))
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
    return tile.loads * stores + tile.uses * loads


def _turns(
    tile: TurnedTile, element: int, groups: int, width: int, *, turned: bool = False
) -> int:
    """Wavefronts of one group of every thread."""
    total = 0
    for warp in range(0, tile.threads, WARP):
        for n in range(width):
            banks: dict[int, set[int]] = {}
            for thread in range(warp, warp + WARP):
                line, along = thread // groups, thread % groups * width + n
                row, column = (along, line) if turned else (line, along)
                word = (row * tile.stride + column) * element // WORD
                banks.setdefault(word % BANKS, set()).add(word)
            total += max(map(len, banks.values()))
    return total
