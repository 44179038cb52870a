"""A time loop as numbers, and the tiles that make several of its steps at once.

Comes in: slopes and margins of `proof.reach`, what each sweep reads and writes.  Goes
out: `TimeTiles` of a size, with their halo, threads and the padding of their rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from math import ceil, gcd, prod

from gpucodegen.tiling.machine.gpu.limits import WARP
from gpucodegen.tiling.proof.reach import Sides

USUAL = 4096
"""Cells along a dimension of unknown extent, for planes; fewer for cubes."""
THREADS = (128, 192, 256, 384, 512)
"""Threads of which a block may have about as many, a chunk for each."""
ACROSS = 4
"""Cells of which tiles are multiples along rows."""
WORD, BANKS = 4, 32
"""Bytes of a bank of shared memory, and how many there are."""
MOST_PADDING = 7
"""Unused cells of a row, at most."""


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

    @cached_property
    def rim(self) -> tuple[Sides, ...]:
        """Cells around those that are computed that may be read, per dimension."""
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
    """Steps of a launch; cells that a block computes, and a thread at once.

    ``rim``: cells around them that may be read.  ``halo``: cells around the tile that
    is stored, to the edge of the rim.
    """

    steps: int
    core: tuple[int, ...]
    chunk: tuple[int, ...]
    rim: tuple[Sides, ...]
    halo: tuple[Sides, ...]
    threads: int
    padding: int

    @property
    def stored(self) -> tuple[int, ...]:
        """Extents of a local array."""
        return (*self.box[:-1], self.box[-1] + self.padding)

    @property
    def turns(self) -> int:
        """Turns of shared memory in which a warp reaches a word of each chunk."""
        return turns(
            self.core[-1] // self.chunk[-1],
            self.chunk[-1],
            prod(self.chunk[-2:-1]) * self.stored[-1] % BANKS,
        )

    @property
    def box(self) -> tuple[int, ...]:
        """Cells of a local array: the computed ones and their rim."""
        pairs = zip(self.core, self.rim, strict=True)
        return tuple(extent + rim.below + rim.above for extent, rim in pairs)

    @property
    def tile(self) -> tuple[int, ...]:
        """Cells that a block stores, per dimension."""
        pairs = zip(self.box, self.halo, strict=True)
        return tuple(extent - halo.below - halo.above for extent, halo in pairs)

    @property
    def chunks(self) -> int:
        """Chunks of a block."""
        return prod(map(ceil_div, self.core, self.chunk))


def tiles_of(
    problem: TimeProblem, steps: int, core: Sequence[int], chunk: Sequence[int]
) -> TimeTiles | None:
    """The tiles of cores of at least so many cells, or None if those are all halo.

    >>> tiles_of(jacobi_1d(), 4, (254,), (1,)).tile
    (240,)
    """
    halo, rim = list(problem.halo(steps)), problem.rim
    whole = tuple(ceil_div(e, c) * c for e, c in zip(core, chunk, strict=True))
    box = [e + r.below + r.above for e, r in zip(whole, rim, strict=True)]
    tile = [e - s.below - s.above for e, s in zip(box, halo, strict=True)]
    rounded = tile[-1] // ACROSS * ACROSS
    if min(*tile, rounded) < 1:
        return None
    halo[-1] = Sides(halo[-1].below, halo[-1].above + tile[-1] - rounded)
    chunks = prod(map(ceil_div, whole, chunk))
    rounds = ceil_div(chunks, THREADS[-1])
    threads = ceil_div(ceil_div(chunks, rounds), WARP) * WARP
    padded = (
        TimeTiles(steps, whole, tuple(chunk), rim, tuple(halo), threads, padding)
        for padding in range(MOST_PADDING + 1 if len(chunk) > 1 else 1)
    )
    return min(padded, key=lambda tiles: tiles.turns)


@cache
def turns(columns: int, width: int, next_row: int) -> int:
    """Turns in which a warp reaches words of chunks in rows of so many.

    Neighbouring chunks are ``width`` words apart, and ``next_row`` the rows of chunks.

    >>> turns(32, 3, 0), turns(32, 4, 0), turns(22, 3, 0), turns(24, 3, 8)
    (1, 4, 2, 1)
    """
    most = 0
    for first in range(0, columns, gcd(columns, WARP)):
        words = (
            lane // columns * next_row + lane % columns * width
            for lane in range(first, first + WARP)
        )
        most = max(most, *Counter(word % BANKS for word in words).values())
    return most


def ceil_div(extent: int, part: int) -> int:
    """How many parts of a size cover an extent."""
    return -(-extent // part)
