"""The machine that plans are made for: its threads, vector unit and caches.

Each question that a plan asks about a processor is asked here: does something stay in a
cache (`Machine.fits`), is it streamed from memory (`Machine.streams`), is work worth
waking threads (`Machine.pays_threads`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from math import gcd

from gpucodegen.tiling.machine.facts import COSTS, MEMORY
from gpucodegen.tiling.machine.vector_unit import VectorUnit


class Level(Enum):
    """A cache of a core."""

    FIRST = "first"
    SECOND = "second"


class Share(Enum):
    """The part of a cache that data may fill and be found there again."""

    WHOLE = 1.0
    """Nothing else passes through the cache in between."""
    NEARLY = 0.8
    """Little else passes through it: some panels."""
    MOST = 0.65
    """The rest is for what streams past."""
    HALF = 0.5
    """As much of something else stays beside it."""
    QUARTER = 0.25
    """More than that stays beside it."""


CACHE_LINE = 64
"""Bytes that caches exchange, which no two threads should write at a time."""
PARALLEL_WORK = 2_000_000
"""Multiply-adds of 32 bits below which waking threads costs more than they save."""
AWAKE = 4
"""The part of it that pays where threads are awake already."""


@dataclass(frozen=True, slots=True)
class Machine:
    """A processor as far as plans depend on it.

    ``first``, ``second``: bytes of the caches of a core, of data.  ``kept``: bytes that
    a core finds again in any cache after it has touched so many (`kept_bytes`).
    ``shared``: bytes of the cache that all cores share, 0 where none is known.
    """

    threads: int = 2
    unit: VectorUnit = field(default_factory=VectorUnit)
    second: int = 1 << 20
    first: int = 1 << 15
    kept: int = 1 << 22
    shared: int = 0

    def room(self, level: Level, share: Share = Share.WHOLE) -> int:
        """Bytes of a share of a cache.

        >>> Machine().room(Level.SECOND, Share.HALF) >> 10
        512
        """
        size = self.first if level is Level.FIRST else self.second
        return int(size * share.value)

    def fits(self, size: int, level: Level, share: Share = Share.WHOLE) -> bool:
        """Whether so many bytes stay in a share of a cache.

        >>> machine = Machine(second=1 << 20)
        >>> [machine.fits(600_000, Level.SECOND, s) for s in (Share.MOST, Share.HALF)]
        [True, False]
        """
        return size <= self.room(level, share)

    def streams(self, size: int) -> bool:
        """Whether so many bytes come from memory each time, and go there.

        >>> [Machine(kept=4 << 20).streams(size << 20) for size in (1, 16)]
        [False, True]
        """
        return size > self.kept

    @property
    def ways(self) -> int:
        """Lines that a set of the first cache holds, if a page's offset chooses it.

        >>> Machine(first=48 << 10).ways
        12
        """
        return self.first // MEMORY.page

    def pays_threads(self, work: float, *, awake: bool = False) -> bool:
        """Whether so many multiply-adds of 32 bits are worth waking threads.

        ``awake``: they are at work already.

        >>> [Machine().pays_threads(600_000, awake=awake) for awake in (False, True)]
        [False, True]
        """
        return work >= PARALLEL_WORK // (AWAKE if awake else 1)

    def threads_for(self, work: float) -> int:
        """Threads that pay for so many multiply-adds of 32 bits.

        >>> Machine(4).threads_for(1_000), Machine(4).threads_for(1 << 30)
        (1, 4)
        """
        return self.threads if self.pays_threads(work) else 1


def kept_bytes(second: int, shared: int = 0, first: int = MEMORY.slow_shared) -> int:
    """Bytes that a core finds again after it has touched so many.

    ``second``: bytes of the second level of a core.  ``shared``: bytes that the threads
    of a kernel may count on of the cache of all cores, 0 where that is not known.
    ``first``: bytes of the first level, that knows a core whose shared cache is slow.

    On a Zen 4 whose two cores share 32 MiB, doubled copies of f32 in one thread run
    at 1.5 of it at 4 MiB, 1.5 at 8, 1.2 at 11, 1.0 at 16, 0.9 at 22, and 0.7 at 50;
    in two at 1.4 at 4 MiB and 8, 1.4 at 11, 1.25 at 16, 1.2 at 22, 0.9 at 32.
    Transposed ones in one thread at 1.0 at 8 MiB, 0.8 at 11; in two at 1.4 at 11
    and 1.0 at 16.  While others use the cache, all of this holds for half as much.

    >>> kept_bytes(1 << 20, 32 << 20, 1 << 15) == 16 << 20
    True
    >>> kept_bytes(5 << 18, 48 << 20, 3 << 14) == 5 << 20
    True
    """
    near = MEMORY.kept_second * second
    slow = first >= MEMORY.slow_shared
    return near if slow else max(near, shared // MEMORY.kept_shared)


def clashes(lines: int, stride: int) -> bool:
    """Whether so many lines, ``stride`` bytes apart, crowd sets of the first cache.

    lines / (different sets that they fall into) > ways; they evict each other.

    >>> clashes(16, 4096), clashes(16, 4160)
    (True, False)
    """
    return lines * gcd(stride, MEMORY.page) > MEMORY.ways * MEMORY.page


def product_work(extents: tuple[int, int, int], outer: int, element_bits: int) -> int:
    """What threads share of products: multiply-adds of 32 bits, or fetches as long.

    ``extents``: rows, columns and steps of a product, of which there are ``outer``.

    >>> product_work((100, 100, 100), 1, 32), product_work((100, 1, 100), 1, 64)
    (1000000, 102000)
    """
    rows, columns, steps = extents
    elements = rows * steps + steps * columns + rows * columns
    each = max(rows * columns * steps, COSTS.fetch * elements)
    return outer * each * element_bits // 32
