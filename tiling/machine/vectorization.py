"""CPU vectorization: lanes, rows per register, accumulators, non-temporal stores.

`plan_lanes` decides whether an innermost loop becomes vectors: iterations without
mutual dependences run ``lanes`` at a time, the rest in one shorter or masked vector.
Elements below 32 bits are left to LLVM, which packs more of them into a register,
unless they are only moved with non-temporal stores. `outer_lanes` vectorizes an outer
loop: each lane runs the inner loops of one row in order, so rows keep their order of
operations.  `split_accumulators`: a chain of combinations takes ``latency`` cycles a
step; as many chains as the unit starts operations in that time keep it busy, fewer if
other operations fill part of the time. `goes_past_caches`: a non-temporal store neither
fetches nor keeps lines.  It pays where a nest touches far more than the caches keep and
writes long runs, since the partial lines at both ends of a run are written under masks.
"""

from __future__ import annotations

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.processor import (
    FEWEST_LANES,
    MEMORY,
    Level,
    Machine,
    Share,
    VectorUnit,
    clashes,
)
from gpucodegen.tiling.machine.register_tiles import split_evenly

FEWEST_LINES = 24
"""Lines of a run below which its ends cost what it gains."""
FEWEST_TILED = 4
"""As `FEWEST_LINES`, for equally aligned runs, whose lines register tiles write.

Tiles that are transposed gain more: their rows lie apart, and what is fetched for each
crowds the caches (batches of 64x128 f64 on a Zen 4: 1.3 to 1.9 of other stores).
"""


def goes_past_caches(
    footprint: int,
    machine: Machine,
    run: int | None = None,
    fewest: int = FEWEST_LINES,
) -> bool:
    """Whether written, unread data of a nest is better stored non-temporally.

    ``footprint``: bytes of all arrays that the nest touches; ``run``: contiguous bytes
    that it writes, None if there are many, which must fill ``fewest`` lines.

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


def split_accumulators(vectors: int | None, operations: int, unit: VectorUnit) -> int:
    """Accumulators for a row of ``vectors``, None if their number is unknown.

    ``operations``: vector operations for each vector, the combination included.

    >>> unit = VectorUnit(512, 32)
    >>> split_accumulators(None, 1, unit), split_accumulators(4, 2, unit)
    (8, 4)
    >>> split_accumulators(None, 30, unit), split_accumulators(1, 1, unit)
    (1, 1)
    """
    wanted = -(-unit.latency * unit.fma_per_cycle // operations)
    fitting = min(wanted, unit.registers // 4)
    return max(1, fitting if vectors is None else min(fitting, vectors))


NARROWEST = 32
"""Bits of the elements that count as one lane, whatever is narrower beside them."""


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """An innermost loop as far as its plan depends on it.

    ``trips``: its trip count, None if unknown.  ``bits``: widths of the elements that
    it loads, computes and stores.  ``moves``: it computes nothing.
    """

    trips: int | None
    bits: frozenset[int]
    moves: bool = False

    @property
    def narrowest(self) -> int:
        """Bits of a lane.

        >>> InnerLoop(9, frozenset({8, 64})).narrowest
        32
        >>> InnerLoop(9, frozenset({8}), moves=True).narrowest
        8
        """
        return max(8 if self.moves else NARROWEST, min(self.bits))


def plan_lanes(loop: InnerLoop, unit: VectorUnit) -> int:
    """Lanes of the loop's vectors; 0 leaves the loop scalar.

    The narrowest element fills a register, wider ones take several.

    >>> unit = VectorUnit(512, 32)
    >>> plan_lanes(InnerLoop(None, frozenset({32})), unit)
    16
    >>> plan_lanes(InnerLoop(1000, frozenset({64})), unit)
    8
    >>> plan_lanes(InnerLoop(7, frozenset({32, 64})), unit)
    7
    >>> plan_lanes(InnerLoop(None, frozenset({8})), unit)
    0
    >>> plan_lanes(InnerLoop(None, frozenset({8}), moves=True), unit)
    64
    """
    if not loop.bits or max(loop.bits) < loop.narrowest:
        return 0
    lanes = unit.lanes(loop.narrowest)
    trips = lanes if loop.trips is None else loop.trips
    return min(lanes, trips) if min(lanes, trips) >= min(FEWEST_LANES, lanes) > 1 else 0


SHORTEST = 8
"""Vectors of a row below which its ends cost more than it spares."""
ALONGSIDE = 5
"""Registers that a loop of neighbours needs beside those."""


MOST_ACCESSES = 20
"""Accesses of a body that may be there three times: longer proofs reach their limit."""


def rows_in_registers(
    vectors: int | None, bits: int, accesses: int, unit: VectorUnit
) -> int:
    """Rows of neighbours that a loop keeps in registers: three vectors of each.

    ``vectors``: full ones of a row, None if unknown; ``bits``: of one; ``accesses``:
    loads and stores along rows.  A vector as wide as a cache line touches two lines
    where it is misaligned; loads of neighbours always are.  Narrower ones cross lines
    less often, and their masks are costly.

    >>> unit = VectorUnit(512, 32)
    >>> rows_in_registers(15, 512, 8, unit), rows_in_registers(4, 512, 8, unit)
    (9, 0)
    >>> rows_in_registers(15, 256, 8, VectorUnit(256, 16))
    0
    """
    fills_lines = bits == unit.bits == 8 * MEMORY.line
    long = vectors is None or vectors >= SHORTEST
    pays = fills_lines and long and accesses <= MOST_ACCESSES
    return (unit.registers - ALONGSIDE) // 3 if pays else 0


BLOCK = 1 << 14
"""Iterations of a thread's block where the trip count is unknown."""


def thread_block(loop: InnerLoop, threads: int) -> int:
    """Iterations of a parallel loop per thread: whole cache lines, all equal.

    >>> thread_block(InnerLoop(1000, frozenset({32})), 2)
    512
    """
    if loop.trips is None:
        return BLOCK
    line = 8 * MEMORY.line // loop.narrowest
    return split_evenly(loop.trips, -(-loop.trips // threads), line)


def transposed_side(bits: int, lanes: int) -> int:
    """Rows and columns of a block of a transposition: four cache lines of elements.

    Its rows lie in as many pages, which the first-level TLB holds.

    >>> transposed_side(32, 16), transposed_side(64, 8)
    (64, 32)
    """
    return max(lanes, 4 * 8 * MEMORY.line // bits // lanes * lanes)


FEW = 4
"""Operations of an iteration up to which its time is that of its loads."""


@dataclass(frozen=True, slots=True)
class OuterLoopShape:
    """A loop over rows, as far as its plan depends on it; its inner loops run in order.

    ``rows``, ``columns``: trip counts, None if unknown.  ``bits``: of the elements.
    ``arrays``: the number of arrays with such rows; ``passes``: sweeps over them.
    ``operations``: of an iteration of the inner loops.
    """

    rows: int | None
    columns: int | None
    bits: int
    arrays: int
    passes: int = 1
    operations: int = FEW + 1


def outer_lanes(loop: OuterLoopShape, machine: Machine) -> int:
    """Rows that run at once, one per lane; 0 leaves them one by one.

    A full register has the most.  Fewer are used where the rows of all arrays would not
    stay in half of an L2 cache from one pass to the next, where some of the threads
    would have no rows, or where lines of so many rows conflict in a set of the L1 cache
    and the loop does little else than to read them (sums of 1024 x 1024 f32 on a Zen 4:
    26 GB/s by sixteen rows, 36 by eight).

    >>> from gpucodegen.tiling.machine.processor import VectorUnit
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


def chains_side_by_side(loop: OuterLoopShape, lanes: int, machine: Machine) -> int:
    """Registers of rows whose chains run at once, so that one's latency is hidden.

    At least as many as of `split_accumulators`, up to twice as many where they divide
    the rows better; fewer where some of the threads would have no rows.

    >>> from dataclasses import replace
    >>> from gpucodegen.tiling.machine.processor import VectorUnit
    >>> machine = Machine(1, VectorUnit(256, 16))
    >>> product = OuterLoopShape(128, 128, 64, 1, operations=3)
    >>> chains_side_by_side(product, 4, machine)
    4
    >>> chains_side_by_side(replace(product, rows=24), 4, machine)
    3
    >>> chains_side_by_side(replace(product, operations=8), 4, machine)
    1
    """
    unit = machine.unit
    count = split_accumulators(None, loop.operations, unit)
    if loop.rows is None or count == 1:
        return count
    vectors = -(-loop.rows // lanes)
    most = max(1, min(2 * count, unit.registers // 4, vectors // machine.threads))
    counts = range(min(count, most), most + 1)
    return min(counts, key=lambda n: -(-vectors // n) * n)


SHORT = 2
"""Vectors of a row up to which lanes take rows, though its order is free.

Maxima of rows of 8, 16 and 30 f32 take 0.35, 0.7 and 0.55 of the time then, a softmax
of 30 about 0.8; with 64 they take 1.6 times as long, for the order binds them.
"""


def is_short_inner_loop(rows: int | None, columns: int | None, lanes: int) -> bool:
    """Whether lanes are better used for rows than for the few elements of a row.

    >>> [is_short_inner_loop(rows, 32, 16) for rows in (1000, 8)]
    [True, False]
    >>> is_short_inner_loop(1000, 64, 16)
    False
    """
    enough = rows is None or rows >= lanes
    return enough and columns is not None and columns <= SHORT * lanes
