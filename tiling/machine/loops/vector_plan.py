"""Whether an innermost loop becomes vectors, and of how many lanes.

A loop whose iterations do not depend on each other runs ``lanes`` of them at once:
full vectors, then what is left in one shorter or masked vector.  Elements below 32 bits
are left to LLVM, which packs more of them into a register, unless they
are only moved, past the caches.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.tiling.machine.facts import MEMORY
from gpucodegen.tiling.machine.products.register_tile import split_evenly
from gpucodegen.tiling.machine.vector_unit import FEWEST_LANES, VectorUnit

NARROWEST = 32
"""Bits of the elements that count as one lane, whatever is narrower beside them."""


@dataclass(frozen=True, slots=True)
class InnerLoop:
    """An innermost loop as far as its plan depends on it.

    ``trips``: its iterations, None if not known.  ``bits``: widths of the elements
    that it loads, computes and stores.  ``moves``: it computes nothing.
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
    """Lanes of the loop's vectors; 0 leaves the loop as it is.

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
    """How many rows of neighbours a loop keeps in registers: three vectors of each.

    ``vectors``: full ones of a row, None if not known; ``bits``: of one; ``accesses``:
    loads and stores along rows.  A vector that fills a cache line touches two
    where it begins beside one; loads of neighbours always do.  Narrower ones do so less
    often, and their masks are dear.

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
"""Iterations that a thread takes at a time where their number is not known."""


def thread_block(loop: InnerLoop, threads: int) -> int:
    """Iterations of a parallel loop for one thread: whole cache lines, all equal.

    >>> thread_block(InnerLoop(1000, frozenset({32})), 2)
    512
    """
    if loop.trips is None:
        return BLOCK
    line = 8 * MEMORY.line // loop.narrowest
    return split_evenly(loop.trips, -(-loop.trips // threads), line)


def transposed_side(bits: int, lanes: int) -> int:
    """Rows and columns of a block of a transposition: four cache lines of elements.

    Its rows are in as many pages: as the first translation buffer holds.

    >>> transposed_side(32, 16), transposed_side(64, 8)
    (64, 32)
    """
    return max(lanes, 4 * 8 * MEMORY.line // bits // lanes * lanes)
