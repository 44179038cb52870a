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

Where sets hold more lines, those of the next panel are fetched by one row instead, and
stay there beside those that are read.
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.tiling.cpu_problem import WAYS, CpuModel, Problem

STREAMED_STEPS = 16
"""Rows of B that are read at once by several row tiles, or by one that fetches."""


@dataclass(frozen=True, slots=True)
class Streaming:
    """``steps`` rows at once, in panels of ``columns``.

    ``beside``: those of the next panel are fetched.
    """

    columns: int
    steps: int
    beside: bool = False


def streaming(problem: Problem, model: CpuModel, rows: int, columns: int) -> Streaming:
    """How tiles of ``rows x columns`` read a right factor of long rows in place.

    >>> from gpucodegen.tiling.register_tile import VectorUnit
    >>> model = CpuModel(1, VectorUnit(512, 32))
    >>> vector = Problem(1, 4096, (4096,), 1, 32, True, False)
    >>> streaming(vector, model, 1, 128)
    Streaming(columns=64, steps=8, beside=False)
    >>> streaming(vector, CpuModel(1, VectorUnit(512, 32), first_cache=49152), 1, 128)
    Streaming(columns=128, steps=16, beside=True)
    """
    near, line = problem.right_is_near(model), problem.rows == 1
    if problem.readers(rows) > 1 or (near and not line):
        return Streaming(columns, STREAMED_STEPS)
    if model.ways > WAYS:
        return Streaming(columns, WAYS if near and line else STREAMED_STEPS, line)
    vectors = -(-model.unit.latency // rows)
    narrow = vectors * model.unit.lanes(problem.element_bits)
    return Streaming(min(columns, narrow), WAYS // 2 if near else WAYS)
