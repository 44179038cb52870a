"""Tasks of a contraction on a CPU: blocks of rows times stripes of columns.

A task copies its stripe of the right factor, which then stays in the second cache, and
streams its rows past it, so tasks share nothing and need no barrier.  Copying costs as
much as some more rows, streaming as much as some more columns:

    cost of a task = (rows + pack_stripe) (columns + fetch_rows)

Threads get the same number of tasks, up to one.  The grid of the least

    sum of all costs / threads + wait cost of a task

wins: at the end a thread waits for the last task of another one, longer where tasks do
not divide evenly, and longest where they differ (a triangle).
"""

from __future__ import annotations

from dataclasses import dataclass

from gpucodegen.tiling.machine.facts import COSTS

FEWEST_ROWS = 4
"""Register tiles, one below the other, of the smallest task."""


@dataclass(frozen=True, slots=True)
class TaskGrid:
    """``row_block`` rows of a task; ``stripes`` of columns."""

    row_block: int
    stripes: int


def choose_task_grid(
    extents: tuple[int, int],
    tile: tuple[int, int],
    widest: int,
    threads: int,
    *,
    uneven: bool = False,
) -> TaskGrid:
    """The grid of least modelled time for an ``extents`` (rows, columns) result.

    ``widest``: columns of the right factor that the second cache holds.  ``uneven``:
    rows differ in how many of the columns they have.

    >>> choose_task_grid((2048, 2048), (8, 24), 208, threads=2)
    TaskGrid(row_block=1024, stripes=11)
    >>> choose_task_grid((4096, 64), (8, 32), 1000, threads=2)
    TaskGrid(row_block=416, stripes=1)
    >>> choose_task_grid((2048, 2048), (8, 24), 208, threads=1)
    TaskGrid(row_block=2048, stripes=11)
    >>> choose_task_grid((1200, 1200), (8, 24), 443, threads=2, uneven=True)
    TaskGrid(row_block=200, stripes=10)
    """
    tiles, panels = (-(-e // t) for e, t in zip(extents, tile, strict=True))
    packed, fetched = COSTS.pack_stripe, COSTS.fetch_rows

    def time(rows: int, columns: int) -> float:
        down, across = -(-tiles // rows), -(-panels // columns)
        total = (extents[0] + down * packed) * (extents[1] + across * fetched)
        task = (rows * tile[0] + packed) * (columns * tile[1] + fetched)
        alike = COSTS.wait_uneven if down * across % threads else COSTS.wait_even
        wait = COSTS.wait_different if uneven else alike
        wait = wait if threads > 1 else 0
        return total / threads + wait * task

    fitting = range(1, max(1, min(panels, widest // tile[1])) + 1)
    parts = range(1, (tiles if threads > 1 else 1) + 1)
    usable = {tiles} | {n for n in (-(-tiles // p) for p in parts) if n >= FEWEST_ROWS}
    rows, columns = min(
        ((r, c) for r in usable for c in fitting),
        key=lambda each: (time(*each), each),
    )
    return TaskGrid(rows * tile[0], -(-panels // columns))
