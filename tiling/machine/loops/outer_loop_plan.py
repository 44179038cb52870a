"""Outer-loop vectorization: an iteration of the outer loop, a row, in each lane.

The inner loops run in order, so each row keeps the order of its operations.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.tiling.machine.loops.vector_plan import NARROWEST
from gpucodegen.tiling.machine.model import Level, Machine, Share, clashes
from gpucodegen.tiling.machine.vector_unit import FEWEST_LANES

FEW = 4
"""Operations of an iteration up to which its time is that of its loads."""


@dataclass(frozen=True, slots=True)
class OuterLoopShape:
    """A loop over rows, as far as its plan depends on it; its inner loops run in order.

    ``rows``, ``columns``: iterations, None if not known.  ``bits``: of the elements.
    ``arrays``: how many arrays have such rows; so many ``passes`` go over them.
    ``operations``: of an iteration of the inner loops.
    """

    rows: int | None
    columns: int | None
    bits: int
    arrays: int
    passes: int = 1
    operations: int = FEW + 1


def outer_lanes(loop: OuterLoopShape, machine: Machine) -> int:
    """How many rows run at once, one in each lane; 0 leaves them one by one.

    A register holds the most.  Fewer do where the rows of all arrays would not stay in
    half of a second cache from one pass to the next, where some of the threads that
    share the loop had no rows, or where lines of so many rows crowd a set of the first
    cache and the loop does little else than to read them (sums of 1024 x 1024 f32 on a
    Zen 4: 26 GB/s by sixteen rows, 36 by eight).

    >>> from gpucodegen.tiling.machine.vector_unit import VectorUnit
    >>> one, two = (Machine(threads, VectorUnit(512, 32)) for threads in (1, 2))
    >>> outer_lanes(OuterLoopShape(4096, 4096, 32, 1), one)
    16
    >>> outer_lanes(OuterLoopShape(64, 30000, 32, 2, passes=3), two)
    4
    >>> outer_lanes(OuterLoopShape(64, 30000, 32, 1), two)
    16
    >>> outer_lanes(OuterLoopShape(1024, 1024, 32, 1, operations=1), one)
    8
    >>> outer_lanes(OuterLoopShape(1, 4096, 32, 1), one)
    0
    """
    lanes = machine.unit.lanes(max(NARROWEST, loop.bits))
    if loop.rows is not None and loop.rows < 2:
        return 0
    row = (loop.columns or 0) * loop.bits // 8
    line = row * loop.arrays

    def is_too_many(lanes: int) -> bool:
        if row and loop.operations <= FEW and clashes(lanes, row):
            return True
        stays = machine.fits(line * lanes, Level.SECOND, Share.HALF)
        if loop.passes > 1 and not stays:
            return True
        rows, threads = loop.rows, machine.threads
        return rows is not None and (lanes // 2 >= rows or -(-rows // lanes) < threads)

    while lanes > FEWEST_LANES and is_too_many(lanes):
        lanes //= 2
    return lanes


SHORT = 2
"""Vectors of a row up to which lanes take rows, though its order is free.

Maxima of rows of 8, 16 and 30 f32 take 0.35, 0.7 and 0.55 of the time then, a softmax
of 30 about 0.8; with 64 they take 1.6 times as long, for the order binds them.
"""


def is_short_inner_loop(rows: int | None, columns: int | None, lanes: int) -> bool:
    """Whether lanes better take rows than the few elements of a row.

    >>> [is_short_inner_loop(rows, 32, 16) for rows in (1000, 8)]
    [True, False]
    >>> is_short_inner_loop(1000, 64, 16)
    False
    """
    enough = rows is None or rows >= lanes
    return enough and columns is not None and columns <= SHORT * lanes
