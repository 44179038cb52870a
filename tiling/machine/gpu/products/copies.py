"""How the threads of a block copy a tile of one factor to shared memory.

The tile has ``depth`` terms of ``size`` rows or columns and lies in shared memory as
``[term][position]``.  It is cut into chunks of ``width`` elements that lie side by side
in global memory, along the terms or along the positions; chunk n belongs to thread
``n mod threads``.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from math import gcd

from gpucodegen.tiling.machine.gpu.devices import SECTOR
from gpucodegen.tiling.machine.gpu.limits import WARP
from gpucodegen.tiling.machine.gpu.products.banks import wavefronts
from gpucodegen.tiling.machine.gpu.products.lanes import Number

ROW = 16
"""Bytes of which the rows of a tile in shared memory are multiples."""


@dataclass(frozen=True, slots=True)
class TileCopy:
    """``along_depth``: chunks lie along the terms, and are turned on the way.

    Chunks are numbered: first ``lanes`` along the terms (1 where chunks lie along the
    positions), then all positions, then the rest of the terms.  ``lead`` is the
    distance of terms in shared memory.
    """

    size: int
    depth: int
    threads: int
    along_depth: bool
    width: int
    lanes: int
    lead: int

    @property
    def chunks(self) -> int:
        """Chunks of the tile."""
        return self.size * self.depth // self.width

    @property
    def per_thread(self) -> int:
        """Chunks that the busiest thread copies."""
        return -(-self.chunks // self.threads)

    @property
    def positions(self) -> int:
        """Chunks side by side along the positions."""
        return self.size if self.along_depth else self.size // self.width

    def place(self, chunk: Number) -> tuple[Number, Number]:
        """The first term and position of a chunk."""
        low, rest = chunk % self.lanes, chunk // self.lanes
        position, high = rest % self.positions, rest // self.positions
        term = high * self.lanes + low
        if self.along_depth:
            return term * self.width, position
        return term, position * self.width

    def moved(self, number: int) -> tuple[int, int] | None:
        """How far a thread's chunk of a number lies from its first one.

        None where that is not the same for all threads.

        >>> tile_copy(128, 16, 256, True, 4, 4).moved(1)
        (8, 0)
        """
        apart = {
            (term - first, at - start)
            for thread in range(self.threads)
            for first, start in [self.place(thread)]
            for term, at in [self.place(thread + number * self.threads)]
        }
        return apart.pop() if len(apart) == 1 else None

    def turns(self, element: int) -> int:
        """Wavefronts of the stores of a warp's first chunks, of elements of bytes.

        >>> TileCopy(128, 16, 256, False, 4, 1, 128).turns(4)
        4
        """
        lanes = min(WARP, self.threads, self.chunks)
        places = [self.place(chunk) for chunk in range(lanes)]
        starts = [(term * self.lead + at) * element for term, at in places]
        if not self.along_depth:
            return wavefronts(starts, self.width * element)
        row = self.lead * element
        return sum(
            wavefronts([start + n * row for start in starts], element)
            for n in range(self.width)
        )


@cache
def tile_copy(
    size: int, depth: int, threads: int, along_depth: bool, width: int, element: int
) -> TileCopy:
    """The copy whose stores to shared memory take the fewest turns.

    ``width``: most elements that one access may move; ``element``: bytes of each.
    Distances of terms and numbers of neighbouring lanes along the terms are tried out.
    Lanes along the terms read whole sectors of global memory where the tile has them.

    >>> tile_copy(128, 16, 256, True, 4, 4)  # doctest: +ELLIPSIS
    TileCopy(size=128, depth=16, threads=256, ..., width=4, lanes=2, lead=132)
    >>> tile_copy(128, 16, 256, False, 4, 4).lead
    128
    """
    chunk = gcd(width, depth if along_depth else size)
    unit = max(1, ROW // element)
    step = unit if size % unit == 0 else 1
    leads = range(size, size + (8 * step if along_depth else 0) + 1, step)
    most = depth // chunk if along_depth else 1
    least = min(most, max(1, SECTOR // (chunk * element)))
    counts = [n for n in range(least, most + 1) if most % n == 0]
    tried = [
        TileCopy(size, depth, threads, along_depth, chunk, lanes, lead)
        for lead in leads
        for lanes in counts
    ]
    return min(tried, key=lambda copy: (copy.turns(element), copy.lead))
