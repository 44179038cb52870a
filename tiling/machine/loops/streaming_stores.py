"""When stores go past the caches: lines are neither fetched first nor kept.

Such a store fills whole cache lines.  It pays where a nest touches far more than the
caches keep, and where it writes long runs: the lines at both ends of a run are written
in parts, under masks, as all others would be without.
"""

from __future__ import annotations

LINE = 64
"""Bytes of a cache line."""
BEYOND = 4
"""Second-level caches of data after which a loop nest finds nothing of it any more."""
SHARED = 2
"""The part of its share of the common cache that a kernel finds its data in later: the
rest holds what came between."""
SLOW_SHARED = 3 << 14
"""Bytes of the first cache of a core whose shared cache is no faster than memory.

Copies on an Ice Lake server with 48 MiB of it and 1.25 MiB for each core: of 1 MiB at
0.7, of 8 MiB at 0.5 of the rate of streaming stores.
"""
FEWEST_LINES = 24
"""Lines of a run below which its ends cost what it gains."""
FEWEST_TILED = 4
"""The same of runs that begin all alike, so that tiles of registers write their lines.

Tiles that are transposed gain more: their rows lie apart, and what is fetched for each
crowds the caches (batches of 64x128 f64 on a Zen 4: 1.3 to 1.9 of other stores).
"""


def kept_bytes(own: int, shared: int = 0, first: int = SLOW_SHARED) -> int:
    """Bytes that a core finds again after it has touched so many.

    ``own``: bytes of the second level of a core.  ``shared``: bytes that the threads of
    a kernel may count on of the cache of all cores, 0 where that is not known.
    ``first``: bytes of the first level, by which `SLOW_SHARED` knows a core.

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
    near = BEYOND * own
    return near if first >= SLOW_SHARED else max(near, shared // SHARED)


def goes_past_caches(
    footprint: int, kept: int, run: int | None = None, fewest: int = FEWEST_LINES
) -> bool:
    """Whether what a nest writes, and does not read, is better not kept in caches.

    ``footprint``: bytes of all arrays that the nest touches; ``kept``: bytes that a
    core finds again (`kept_bytes`); ``run``: bytes that the nest writes one after the
    other, None if there are many, which must fill ``fewest`` lines.

    Rates of permutations of 25 to 50 MB on a Zen 4, of streaming over other stores:
    runs of 2 lines 0.68, of 4 0.54 to 0.6, of 8 1.04, of 19 0.75 to 0.92, of 38 1.0; of
    half a line 1/150.

    >>> goes_past_caches(16 << 20, 4 << 20), goes_past_caches(16 << 20, 4 << 20, 256)
    (True, False)
    >>> goes_past_caches(4 << 20, 4 << 20)
    False
    """
    is_long = run is None or run >= fewest * LINE
    return is_long and footprint > kept
