"""When stores go past the caches: lines are neither fetched first nor kept.

Such a store fills whole cache lines.  It pays where a nest touches far more than the
caches keep, and where it writes long runs: the lines at both ends of a run are written
in parts, under masks, as all others would be without.
"""

from __future__ import annotations

from gpucodegen.tiling.machine.facts import MEMORY
from gpucodegen.tiling.machine.model import Machine

FEWEST_LINES = 24
"""Lines of a run below which its ends cost what it gains."""
FEWEST_TILED = 4
"""The same of runs that begin all alike, so that tiles of registers write their lines.

Tiles that are transposed gain more: their rows lie apart, and what is fetched for each
crowds the caches (batches of 64x128 f64 on a Zen 4: 1.3 to 1.9 of other stores).
"""


def goes_past_caches(
    footprint: int,
    machine: Machine,
    run: int | None = None,
    fewest: int = FEWEST_LINES,
) -> bool:
    """Whether what a nest writes, and does not read, is better not kept in caches.

    ``footprint``: bytes of all arrays that the nest touches; ``run``: bytes that it
    writes one after the other, None if there are many, which must fill ``fewest``
    lines.

    Rates of permutations of 25 to 50 MB on a Zen 4, of streaming over other stores:
    runs of 2 lines 0.68, of 4 0.54 to 0.6, of 8 1.04, of 19 0.75 to 0.92, of 38 1.0; of
    half a line 1/150.

    >>> machine = Machine(kept=4 << 20)
    >>> [goes_past_caches(16 << 20, machine, run) for run in (None, 256)]
    [True, False]
    >>> goes_past_caches(4 << 20, machine)
    False
    """
    is_long = run is None or run >= fewest * MEMORY.line
    return is_long and machine.streams(footprint)
