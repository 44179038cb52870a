"""Loops that stream from memory to memory in several places at once.

A core fetches ahead of a few reads that go on line by line, and in one page of 4 KiB
each; one such read does not fill the time that memory takes to answer.  So a loop runs
in several strips of its range at once, two lines of each in turn.  Copies of 256 MiB on
an Ice Lake server, GB/s: in one place 20.5, in two 22.5, four 24, eight 25, and 28 with
fetches in front; scaled copies 20.5 and 23.5; sums of two arrays 19.2, in four places
21, in eight 18; fills the same.  (The C library's copy of long arrays runs in four
places, after the same thought: 23.)  Reductions read several rows at once likewise.

Not all cores are so.  A Zen 4 follows one read far ahead and across pages, and several
not as far: copies of 256 MiB in one place 38.4, in eight 33.7, sums of two arrays apart
from a third 36.2 and 30.0, maxima of 4096 x 4096 f32 by one row 38, by two 24, four 26,
eight 25-28.  How far a core reads ahead nobody tells; `SEVERAL` parts those measured.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.tiling.machine.loops.streaming_stores import (
    BEYOND,
    LINE,
    SEVERAL,
    SHARED,
)
from gpucodegen.tiling.machine.loops.vector_plan import InnerLoop
from gpucodegen.tiling.machine.products.register_tile import VectorUnit

READS = 8
"""Lines of reads that a core follows well."""
LONGEST = 1 << 14
"""Bytes of a strip."""
SHORTEST = 1 << 12
"""Bytes of a strip below which its ends cost what it gains: a page."""
LINES = 2
"""Lines of a strip at a time: they are fetched in pairs."""
FETCHED = 8
"""Lines ahead that are fetched: behind the end of a page nobody else does."""
FEW = 4
"""Operations of an iteration beyond which time is not that of the memory."""


@dataclass(frozen=True, slots=True)
class Strips:
    """How many places, and iterations: of a strip, of a step in it, fetched ahead."""

    count: int
    length: int
    step: int
    ahead: int

    @property
    def width(self) -> int:
        """Iterations of all strips.

        >>> Strips(8, 4096, 32, 128).width
        32768
        """
        return self.count * self.length


def plan_strips(
    loop: InnerLoop,
    reads: int,
    operations: int,
    unit: VectorUnit,
    first_cache: int = SEVERAL,
) -> Strips | None:
    """The strips of a loop that streams; None leaves it in one place.

    ``reads``: arrays that it reads, ``operations``: those of an iteration.  All values
    of a step are in half of the registers.  ``first_cache``: its bytes.

    >>> unit = VectorUnit(512, 32)
    >>> plan_strips(InnerLoop(1 << 26, frozenset({32})), 1, 0, unit)
    Strips(count=8, length=4096, step=32, ahead=128)
    >>> plan_strips(InnerLoop(30000, frozenset({64})), 2, 1, unit)
    Strips(count=4, length=1872, step=16, ahead=64)
    >>> plan_strips(InnerLoop(1 << 26, frozenset({32})), 0, 0, unit) is None
    True
    >>> plan_strips(InnerLoop(1 << 20, frozenset({32})), 1, 0, VectorUnit(256, 16))
    Strips(count=2, length=4096, step=32, ahead=128)
    """
    if first_cache < SEVERAL or not reads or operations > FEW or loop.trips is None:
        return None
    narrowest, widest = loop.narrowest, max(loop.bits)
    line = 8 * LINE // narrowest
    held = LINES * line * widest // unit.bits
    count = min(READS // reads, unit.registers // 2 // (held * reads))
    if count < 2:
        return None
    rounds = -(-loop.trips // (count * LONGEST * 8 // narrowest))
    length = loop.trips // (count * rounds) // (LINES * line) * (LINES * line)
    if length * narrowest < 8 * SHORTEST:
        return None
    return Strips(count, length, LINES * line, FETCHED * line)


def plan_rows(
    loop: InnerLoop,
    rows: int,
    reads: int,
    operations: int,
    unit: VectorUnit,
    caches: tuple[int, int, int],
) -> int:
    """How many rows are reduced at once; 1 leaves them one by one.

    ``loop``: along a row; ``reads``: arrays of such rows; ``caches``: bytes of the
    first and second level of a core, and of the one that cores share.  Totals take a
    quarter of the registers.  Maxima of 4096 x 4096 f32 on an Ice Lake server, GB/s:
    rows one by one 12, two 13.5, four 15, eight 16.5, sixteen the same; eight rows of
    200 at once take 1.2 times as long as one by one, and so do those of 10 MB in all.

    >>> unit, caches = VectorUnit(512, 32), (SEVERAL, 1 << 20, 48 << 20)
    >>> row = InnerLoop(4096, frozenset({32}))
    >>> [plan_rows(row, rows, 1, 1, unit, caches) for rows in (4096, 64)]
    [8, 1]
    """
    first, own, shared = caches
    if first < SEVERAL or not reads or operations > FEW or loop.trips is None:
        return 1
    row = loop.trips * max(loop.bits) // 8
    count = min(READS // reads, unit.registers // 4)
    footprint, kept = rows * row * reads, max(BEYOND * own, shared // SHARED)
    pays = footprint > kept and row >= SHORTEST and rows >= 2 * count
    return max(1, count) if pays else 1
