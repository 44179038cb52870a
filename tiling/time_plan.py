"""Which time loops to tile on a CPU, and into tiles of which sizes.

Comes in: a `Nest`, its `Band` and the host. Goes out: sizes for `wavefront`, or None
where the loops had better stay as they are.

Of n_1 positions of the first space loop, at most n_1 / (z_1 + f * z_0) tiles are on one
wavefront, where f is the skew of that loop; nor are there more than the tiles of the
time loop. The sizes keep both counts at that of the threads or above.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from .loops import LoopKind, loop_verdicts
from .schedule import Nest
from .skew import Band

LEAST_POINTS = 4096
"""Points of a tile below which threads cost more than they save."""
TIME_STEPS, ROWS, PLANES, LINE = 8, 32, 16, 1024
"""Usual sizes: time steps, rows of a plane, planes of a volume, points of a line.

More rows of a plane are slow where they are computed along diagonals: the stores of
earlier rows, a page apart, look like those of the cells that are read.
"""
NARROWEST = 64
"""Points of a row's tile below which its vectors do not pay for its bounds."""


@dataclass(frozen=True, slots=True)
class Host:
    """Threads, and bytes of the cache that each has for itself."""

    threads: int = 2
    cache: int = 1 << 20


@dataclass(frozen=True, slots=True)
class TimePlan:
    """Sizes of the tiles, and the time steps without which they do not pay."""

    sizes: tuple[int, ...]
    least_steps: int


def plan_time_tiles(
    nest: Nest, band: Band, element_bytes: Mapping[str, int], host: Host
) -> TimePlan | None:
    """Sizes for a nest; ``element_bytes`` per array.

    A nest with parallel loops is tiled if its sweeps do not fit the cache and reach
    their neighbours, so that waves of tiles reuse what they load; one without is tiled
    for its parallelism alone.
    """
    extents = _extents(nest)
    if extents is None or not extents:
        return None
    bytes_per_point = _bytes_per_point(nest, element_bytes, len(extents))
    points = prod(extents)
    inner = loop_verdicts(nest.model, nest.dependences)[1:]
    parallel = any(verdict.kind is LoopKind.PARALLEL for verdict in inner)
    reuse = band.skewed and points * bytes_per_point > host.cache // 2
    if parallel and not reuse:
        return None
    slopes = [row[0] for row in band.factors[1:]]
    steps, first = _front(extents, slopes[0], host.threads)
    if steps * first * prod(extents[1:]) < LEAST_POINTS:
        return None
    sizes = _within_cache(
        (steps, first), extents, slopes, host.cache // 2 // bytes_per_point
    )
    return TimePlan(sizes, steps * host.threads if parallel else 0)


def _extents(nest: Nest) -> list[int] | None:
    """The most values that each loop inside the outermost takes; None if unknown."""
    depth = max(len(nest.instances(unit).loops) for unit in nest.units)
    found = [0] * (depth - 1)
    for unit in nest.units:
        values = nest.instances(unit).values.range()
        for at in range(1, len(nest.instances(unit).loops)):
            interval = nest.model.solver.interval(values, at)
            if interval.lower is None or interval.upper is None:
                return None
            found[at - 1] = max(found[at - 1], interval.upper - interval.lower + 1)
    return found


def _bytes_per_point(nest: Nest, element_bytes: Mapping[str, int], rank: int) -> int:
    """Bytes of the arrays that have one element per point."""
    names = {reference.access.array for reference in nest.model.references}
    full = (n for n in names if len(nest.model.array(n).shape) >= rank)
    return sum(element_bytes.get(name, 8) for name in full) or 8


def _front(extents: list[int], slope: int, threads: int) -> tuple[int, int]:
    """Sizes of the time loop and of the first space loop; 0 where none will do."""
    steps = TIME_STEPS if threads <= 4 else TIME_STEPS // 2
    usual = (LINE, ROWS)[len(extents) - 1] if len(extents) <= 2 else PLANES
    if len(extents) == 1:
        usual = min(usual, max(extents[0] // (2 * threads), 1))
        steps = min(max(steps, LINE * 16 // usual), 64)
    first = min(usual, extents[0] // threads - slope * steps)
    return steps, first if first >= min(usual, 4) else 0


def _within_cache(
    front: tuple[int, ...], extents: list[int], slopes: list[int], room: int
) -> tuple[int, ...]:
    """The sizes with as many more loops cut as a tile needs to have ``room`` points."""
    sizes = list(front)
    if len(extents) > 2:
        sizes += [PLANES] * (len(extents) - 2)
    rows = prod(
        size + slope * sizes[0] for size, slope in zip(sizes[1:], slopes, strict=False)
    )
    width = room // rows // NARROWEST * NARROWEST
    last = len(extents) > 1 and extents[-1] > max(width, NARROWEST)
    return (*sizes, max(width, NARROWEST)) if last else tuple(sizes)
