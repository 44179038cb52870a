"""How register tiles read a right factor in place, rows of it several at once.

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

from gpucodegen.tiling.machine.facts import MEMORY
from gpucodegen.tiling.machine.model import Level, Share
from gpucodegen.tiling.machine.products.candidates import InPlace
from gpucodegen.tiling.machine.products.tiling import TileRequest


@dataclass(frozen=True, slots=True)
class Streaming:
    """``steps`` rows at once, in panels of ``columns``.

    ``next_panel``: those of the next panel are fetched; ``ahead``: those of so many
    steps later, into the second cache.
    """

    columns: int
    steps: int
    next_panel: bool = False
    ahead: int = 0


def in_place(request: TileRequest) -> InPlace | None:
    """The kernel that reads the right factor in place, if so few row tiles do.

    Rows of the factor that are long are streamed.
    """
    if not request.reads_in_place:
        return None
    if not request.problem.right_is_wide:
        return InPlace(request.tiling())
    stream = streaming(request)
    columns = request.sizes.columns or stream.columns
    tiling = request.tiling(columns, stream.steps)
    is_last = tiling.k_position == len(request.problem.reduction) - 1
    return InPlace(tiling, stream.ahead if is_last else 0, stream.next_panel)


def streaming(request: TileRequest) -> Streaming:
    """How a tile reads a right factor of long rows in place.

    >>> from gpucodegen.tiling.machine.model import Machine
    >>> from gpucodegen.tiling.machine.products.candidates import TileSizes
    >>> from gpucodegen.tiling.machine.products.problem import Problem
    >>> from gpucodegen.tiling.machine.vector_unit import VectorUnit
    >>> vector = Problem(1, 4096, (4096,), 1, 32, True, False)
    >>> for first in (32 << 10, 48 << 10):
    ...     machine = Machine(1, VectorUnit(512, 32), first=first)
    ...     print(streaming(TileRequest.of(vector, machine, TileSizes())))
    Streaming(columns=64, steps=8, next_panel=False, ahead=8)
    Streaming(columns=128, steps=16, next_panel=True, ahead=0)
    """
    problem, machine, tile = request.problem, request.machine, request.tile
    ways = MEMORY.ways
    near, line = problem.right_is_near(machine), problem.rows == 1
    if problem.readers(tile.rows) > 1 or (near and not line):
        return Streaming(tile.columns, 2 * ways)
    if machine.ways > ways:
        return Streaming(tile.columns, ways if near else 2 * ways, line)
    vectors = -(-machine.unit.latency // tile.rows)
    panel = min(tile.columns, vectors * request.lanes)
    if near:
        return Streaming(panel, ways // 2)
    waiting = ways * problem.columns * problem.element_bits // 8
    stay = machine.fits(waiting, Level.SECOND, Share.HALF)
    return Streaming(panel, ways, ahead=ways if stay else 0)
