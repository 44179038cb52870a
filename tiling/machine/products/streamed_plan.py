"""How a register tile reads rows of a right factor in place, several at once.

    for rows of B by steps, panels of columns:
      for each of the rows: acc += a * its columns in the panel

Each row is a stream of its own, which the processor fetches ahead once it sees it go
on.  Streams of the rows of a tile that reads B alone may be as many as a set of the
first cache holds lines, since they may lie a power of two apart; from a cache half of
them, since what is fetched ahead comes before it is used.  Narrow panels are read
fastest then: each row goes on soon.  The sums of a tile must still be enough to hide
the latency of their additions:

    rows * columns >= latency * lanes

The processor fetches ahead within a page, and each of these rows begins a page of its
own: tiles fetch from memory what those of the next block will read, into the second
cache, unless rows are so long that it does not stay there.

Where sets hold more lines, those of the next panel are fetched by one row instead, and
stay there beside those that are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.tiling.machine.products.problem import WAYS, CpuModel, Problem

STREAMED_STEPS = 16
"""Rows of B that are read at once by several row tiles, or by one that fetches."""
AHEAD_SHARE = 0.5
"""Share of the second cache that rows which wait there for the next block may fill."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """``steps`` rows at once, in panels of ``columns``.

    ``beside``: those of the next panel are fetched; ``ahead``: those of so many steps
    later, into the second cache.
    """

    columns: int
    steps: int
    beside: bool = False
    ahead: int = 0


def streaming(problem: Problem, model: CpuModel, rows: int, columns: int) -> Streaming:
    """How tiles of ``rows x columns`` read a right factor of long rows in place.

    >>> from gpucodegen.tiling.machine.products.register_tile import VectorUnit
    >>> model = CpuModel(1, VectorUnit(512, 32))
    >>> vector = Problem(1, 4096, (4096,), 1, 32, True, False)
    >>> streaming(vector, model, 1, 128)
    Streaming(columns=64, steps=8, beside=False, ahead=8)
    >>> streaming(vector, CpuModel(1, VectorUnit(512, 32), first_cache=49152), 1, 128)
    Streaming(columns=128, steps=16, beside=True, ahead=0)
    """
    near, line = problem.right_is_near(model), problem.rows == 1
    if problem.readers(rows) > 1 or (near and not line):
        return Streaming(columns, STREAMED_STEPS)
    if model.ways > WAYS:
        return Streaming(columns, WAYS if near and line else STREAMED_STEPS, line)
    vectors = -(-model.unit.latency // rows)
    narrow = vectors * model.unit.lanes(problem.element_bits)
    panel = min(columns, narrow)
    if near:
        return Streaming(panel, WAYS // 2)
    waiting = WAYS * problem.columns * problem.element_bits // 8
    stay = waiting <= AHEAD_SHARE * model.cache
    return Streaming(panel, WAYS, ahead=WAYS if stay else 0)
