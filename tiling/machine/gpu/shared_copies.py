"""Copies of operand tiles to shared memory, and shared-memory bank conflicts.

`tile_copy` and `fragment_copy` plan how the threads of a block copy a tile of A or B.
The tile has ``depth`` terms of K and ``size`` rows or columns; it lies in shared memory
as ``[term][position]``, or as ``[position][term]`` where fragments are read.  It is cut
into chunks of ``width`` elements that are contiguous in global memory, along the terms
or the positions; thread ``n mod threads`` copies chunk n.

`wavefronts` counts the wavefronts of one warp access.  Shared memory has 32 banks of 4
bytes; a wavefront serves one word of each bank, and equal words together. Accesses of 8
bytes go by half a warp, of 16 by a quarter.  Two of these wavefronts merge if all lanes
t and t ^ 1, or all t and t ^ 2, share their addresses: a rule measured by the
community, not documented.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from functools import cache, lru_cache
from math import ceil, gcd
from typing import Any

import numpy as np

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.gpu.devices import SECTOR, WARP
from gpucodegen.tiling.machine.gpu.product_tiles import Number

BANKS, WORD = 32, 4


def wavefronts(addresses: Sequence[int], width: int, *, merged: bool = True) -> int:
    """Wavefronts of an access of ``width`` bytes at the lanes' addresses in bytes.

    ``merged``: apply the rule for lanes that share their addresses.

    >>> wavefronts([4 * lane for lane in range(32)], 4)
    1
    >>> wavefronts([128 * lane for lane in range(32)], 4)
    32
    >>> wavefronts([16 * lane for lane in range(32)], 16)
    4
    >>> pairs = [lane // 2 % 4 * 16 for lane in range(32)]
    >>> wavefronts(pairs, 16), wavefronts(pairs, 16, merged=False)
    (2, 4)
    """
    return _wavefronts(tuple(addresses), width, merged=merged)


@lru_cache(maxsize=1 << 12)
def _wavefronts(addresses: tuple[int, ...], width: int, *, merged: bool) -> int:
    phases = max(width // WORD, 1)
    if merged and phases > 1 and any(_shared(addresses, by) for by in (1, 2)):
        phases //= 2
    lanes = max(1, 32 // phases)
    parts = (addresses[n : n + lanes] for n in range(0, len(addresses), lanes))
    return sum(_turns(part, width) for part in parts)


def _shared(addresses: Sequence[int], by: int) -> bool:
    """Whether each lane has the address of its partner."""
    return all(
        lane ^ by < len(addresses) and address == addresses[lane ^ by]
        for lane, address in enumerate(addresses)
    )


def _turns(addresses: Sequence[int], width: int) -> int:
    words = {
        address // WORD + n for address in addresses for n in range(max(width // 4, 1))
    }
    return max(Counter(word % BANKS for word in words).values(), default=0)


ROW = 16
"""Bytes of which the rows of a tile in shared memory are multiples."""
OCTET = 8
"""Rows of shared memory that one tile of a fragment is read from, `ROW` of each."""
DOUBLE = 8
"""Bytes of an element that is loaded alone: ``ldmatrix`` has no such elements."""
EITHER_WAY = {2, DOUBLE}
"""Bytes of elements whose fragments are read from rows of terms or of positions."""
LINE = 4
"""Lanes that copy terms of the same position."""


@dataclass(frozen=True, slots=True)
class TileCopy:
    """A copy of a tile; ``along_depth``: chunks lie along K, and are transposed.

    Chunks are numbered: first ``lanes`` along the terms (1 where chunks lie along the
    positions), then all positions, then the rest of the terms.  ``lead`` is the stride
    of the rows of shared memory, which are ``by_position`` or by term.  Of eight
    positions, ``ways`` that lie apart are neighbours in that order.
    """

    size: int
    depth: int
    threads: int
    along_depth: bool
    width: int
    lanes: int
    lead: int
    by_position: bool = False
    ways: int = 1

    @property
    def is_turned(self) -> bool:
        """Whether elements of a chunk go to different rows of shared memory."""
        return self.along_depth != self.by_position

    @property
    def shape(self) -> tuple[int, int]:
        """Rows in shared memory, and their stride."""
        return (self.size if self.by_position else self.depth), self.lead

    @property
    def cells(self) -> int:
        """Elements of the tile in shared memory, padding included."""
        rows, lead = self.shape
        return rows * lead

    def cell(self, term: Number, position: Number) -> tuple[Number, Number]:
        """The row and column of an element in shared memory."""
        return (position, term) if self.by_position else (term, position)

    @property
    def chunks(self) -> int:
        return self.size * self.depth // self.width

    @property
    def per_thread(self) -> int:
        """The most chunks that one thread copies."""
        return -(-self.chunks // self.threads)

    @property
    def positions(self) -> int:
        """Chunks side by side along the positions."""
        return self.size if self.along_depth else self.size // self.width

    def place(self, chunk: Number, *, is_first: bool = False) -> tuple[Number, Number]:
        """The first term and position of a chunk; ``is_first``: one of each thread's.

        >>> tile_copy(128, 16, 32, False, 4, 4).place(5, is_first=True)
        (0, 20)
        """
        low, rest = chunk % self.lanes, chunk // self.lanes
        if is_first and self.threads <= self.positions * self.lanes:
            term, position = low, rest
        else:
            position, high = rest % self.positions, rest // self.positions
            term = high * self.lanes + low
        if self.along_depth and self.ways > 1:
            apart, inner = OCTET // self.ways, position % OCTET
            first = position // OCTET * OCTET
            position = first + inner % self.ways * apart + inner // self.ways
        if self.along_depth:
            return term * self.width, position
        return term, position * self.width

    def moved(self, number: int) -> tuple[int, int] | None:
        """The distance of a thread's chunk of this number from its first chunk.

        None where it is not the same for all threads.

        >>> tile_copy(128, 16, 256, True, 4, 4).moved(1)
        (8, 0)
        """
        threads: Any = np.arange(self.threads)
        first = self.place(threads)
        later = self.place(threads + number * self.threads)
        term, at = (each - start for each, start in zip(later, first, strict=True))
        is_same = bool(np.all(term == term[0]) and np.all(at == at[0]))
        return (int(term[0]), int(at[0])) if is_same else None

    @property
    def apart(self) -> tuple[int, int] | None:
        """The common distance of consecutive chunks of each thread.

        None where a thread has one chunk, or where distances vary.

        >>> fragment_copy(128, 32, 128, True, 8, 2).apart
        (0, 32)
        """
        if self.per_thread < 2 or self.chunks % self.threads:
            return None
        first = self.moved(1)
        if first is None:
            return None
        term, at = first
        steps = range(1, self.per_thread)
        return (
            first if all(self.moved(n) == (n * term, n * at) for n in steps) else None
        )

    def turns(self, element: int) -> int:
        """Wavefronts of a warp's stores of its first chunks; ``element`` in bytes.

        >>> TileCopy(128, 16, 256, False, 4, 1, 128).turns(4)
        4
        """
        return _store_turns(self, element)

    def touched(self, unit: int, element: int, grain: int) -> float:
        """The mean number of ``unit`` bytes, sectors or lines, that the copies request.

        Adjacent chunks form a run.  ``grain``: a divisor in bytes of the offsets of
        rows; runs that begin inside a unit touch one unit more.

        >>> copy = TileCopy(64, 16, 128, True, 1, 16, 68)
        >>> copy.touched(32, 4, 16), copy.touched(32, 4, 4)
        (128.0, 184.0)
        """
        lanes = self.lanes if self.along_depth else min(WARP, self.positions)
        run = lanes * self.width * element
        each = -(-run // unit) if grain >= ROW else (run + unit - grain) / unit
        return self.chunks / lanes * each


@lru_cache(maxsize=1 << 12)
def _store_turns(copy: TileCopy, element: int) -> int:
    lanes = min(WARP, copy.threads, copy.chunks)
    places = [copy.place(chunk) for chunk in range(lanes)]
    rows = [copy.cell(term, at) for term, at in places]
    starts = [(row * copy.lead + at) * element for row, at in rows]
    if not copy.is_turned:
        return wavefronts(starts, copy.width * element)
    row = copy.lead * element
    return sum(
        wavefronts([start + n * row for start in starts], element)
        for n in range(copy.width)
    )


def copied_width(width: int, *, turned: bool, is_direct: bool) -> int:
    """Elements per access of ``cp.async``, which cannot transpose chunks.

    >>> [copied_width(4, turned=True, is_direct=way) for way in (False, True)]
    [4, 1]
    """
    return 1 if turned and is_direct else width


@cache
def tile_copy(
    size: int, depth: int, threads: int, along_depth: bool, width: int, element: int
) -> TileCopy:
    """The copy whose stores to shared memory take the fewest wavefronts.

    ``width``: most elements of one access; ``element``: bytes of each. Strides of terms
    and numbers of neighbouring lanes along the terms are searched. Lanes along the
    terms read whole sectors of global memory where the tile has them; for single
    elements, which may begin anywhere in one, they cover all terms of the tile.

    >>> tile_copy(128, 16, 256, True, 4, 4)  # doctest: +ELLIPSIS
    TileCopy(size=128, depth=16, threads=256, ..., width=4, lanes=2, lead=132, ...)
    >>> tile_copy(128, 16, 256, False, 4, 4).lead
    128
    """
    chunk = gcd(width, depth if along_depth else size)
    unit = max(1, ROW // element)
    step = unit if size % unit == 0 else 1
    leads = range(size, size + (8 * step if along_depth else 0) + 1, step)
    most = depth // chunk if along_depth else 1
    least = min(most, max(1, SECTOR // (chunk * element))) if chunk > 1 else most
    counts = [n for n in range(least, most + 1) if most % n == 0]
    tried = [
        TileCopy(size, depth, threads, along_depth, chunk, lanes, lead)
        for lead in leads
        for lanes in counts
    ]
    return min(tried, key=lambda copy: (copy.turns(element), copy.lead))


def by_position(along_depth: bool, element: int) -> bool:
    """Whether the terms of a position are contiguous where fragments are read.

    Elements of 16 bits may lie either way, for ``ldmatrix`` can transpose them, and
    those of 64 bits, which are read one by one: they lie as in global memory.

    >>> [by_position(False, element) for element in (1, 2, 4, 8)]
    [True, False, True, False]
    """
    return along_depth or element not in EITHER_WAY


@cache
def fragment_copy(
    size: int, depth: int, threads: int, along_depth: bool, width: int, element: int
) -> TileCopy:
    """The copy to where fragments are read, with the fewest wavefronts for both.

    Strides of rows and orders of rows are searched.

    >>> copy = fragment_copy(128, 32, 128, True, 8, 2)
    >>> copy.lead, copy.ways, copy.turns(2), read_turns(copy, 2)
    (40, 2, 4, 1)
    >>> copy = fragment_copy(128, 32, 128, False, 8, 2)
    >>> copy.shape, copy.turns(2), read_turns(copy, 2)
    ((32, 136), 4, 1)
    """
    rows_are_positions = by_position(along_depth, element)
    chunk = gcd(width, depth if along_depth else size)
    unit = ROW // element
    row = depth if rows_are_positions else size
    lanes = depth // chunk if along_depth else 1
    tried = [
        TileCopy(
            *(size, depth, threads, along_depth, chunk, lanes, lead),
            *(rows_are_positions, ways),
        )
        for lead in range(row, row + 8 * unit + 1, unit)
        for ways in ((1, 2, 4) if along_depth else (1,))
    ]

    def turns(copy: TileCopy) -> tuple[int, int, int, int]:
        read = read_turns(copy, element)
        return read, copy.turns(element), copy.lead, copy.ways

    return min(tried, key=turns)


def read_turns(copy: TileCopy, element: int) -> int:
    """Wavefronts for one tile of a fragment: each of eight lanes reads a row.

    Elements that are read alone are one per lane, two tiles at once.
    """
    if element == DOUBLE:
        places = [copy.cell(lane % LINE, lane // LINE) for lane in range(WARP)]
        starts = [(row * copy.lead + at) * element for row, at in places]
        return ceil(wavefronts(starts, element) / 2)
    return wavefronts([row * copy.lead * element for row in range(OCTET)] * 4, ROW) // 4
