"""Which time loops to tile on a CPU, and into tiles of which sizes.

Comes in: a `UnitNest`, its `SkewedBand` and the machine. Goes out: a plan for
`wavefront`, or None where the loops had better stay as they are. Sizes are searched
with `time_cost`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from itertools import product
from math import inf, prod

from gpucodegen.tiling.machine.loops.time_cost import (
    Sweep,
    TimePlan,
    least_steps,
    time_cost,
    untiled_cost,
)
from gpucodegen.tiling.machine.loops.vector_plan import MOST_ACCESSES
from gpucodegen.tiling.machine.model import Level, Machine
from gpucodegen.tiling.proof.loops import LoopKind, loop_verdicts
from gpucodegen.tiling.schedule.schedule import UnitNest
from gpucodegen.tiling.schedule.skew import SkewedBand
from gpucodegen.tiling.schedule.wavefront import runs_diagonally

WORTH = 0.9
"""Share of the cost of plain loops below which tiles are chosen: as near as both costs
are to what was measured."""
STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Steps of time that tiles may have."""
WIDTHS = tuple(1 << power for power in range(15))
"""Points along an axis of space that they may have."""
ROW_WIDTHS = WIDTHS[6:]
"""Those along rows: the vectors of shorter ones do not pay for their bounds."""
DIAGONAL_ROWS = (32,)
"""More are slow along diagonals: the stores of earlier rows, a page apart, look like
those of the cells that are read."""


def plan_time_tiles(
    nest: UnitNest, band: SkewedBand, element_bytes: Mapping[str, int], machine: Machine
) -> TimePlan | None:
    """Sizes for a nest; ``element_bytes`` per array.

    A nest with parallel loops is tiled if its sweeps do not fit the caches and reach
    their neighbours, so that waves of tiles reuse what they load; one without is tiled
    for its parallelism alone.
    """
    steps, *extents = _extents(nest)
    if not extents or None in extents:
        return None
    inner = loop_verdicts(nest.model, nest.dependences)[1:]
    parallel = any(verdict.kind is LoopKind.PARALLEL for verdict in inner)
    known = tuple(extent for extent in extents if extent is not None)
    bytes_per_point = _bytes_per_point(nest, element_bytes, len(extents))
    slopes = tuple(row[0] for row in band.factors[1:])
    sweep = Sweep(known, slopes, bytes_per_point, steps)
    reuse = band.skewed and not machine.fits(
        prod(known) * bytes_per_point // machine.threads, Level.SECOND
    )
    if parallel and (not reuse or _computes_long(nest)):
        return None
    rows = DIAGONAL_ROWS if runs_diagonally(nest) else WIDTHS
    limit = WORTH * untiled_cost(sweep, machine) if parallel else inf
    sizes = _best(sweep, machine, rows, limit)
    if sizes is None:
        return None
    least = least_steps(sizes[0], machine.threads)
    return TimePlan(sizes, machine.threads, least if parallel else 0)


def _best(
    sweep: Sweep, machine: Machine, rows: tuple[int, ...], limit: float
) -> tuple[int, ...] | None:
    """The cheapest sizes below a limit, without those that cut nothing at the end."""
    best: tuple[int, ...] | None = None
    for sizes in _candidates(sweep, machine, rows):
        cost = time_cost(sweep, sizes, machine)
        if cost < limit:
            best, limit = sizes, cost
    while best and len(best) > 2 and best[-1] >= sweep.extents[len(best) - 2]:
        best = best[:-1]
    return best


def _candidates(
    sweep: Sweep, machine: Machine, rows: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    """Sizes of every loop that fit the cache and give each thread a tile.

    At most three loops are cut: the proofs about more take too long.
    """
    steps = STEPS if sweep.steps is None else [s for s in STEPS if s <= sweep.steps]
    first, *others = sweep.extents
    last = len(others) - 1
    cuts = [
        [w for w in (ROW_WIDTHS if at == last else WIDTHS) if w < extent] + [extent]
        for at, extent in enumerate(others)
    ]
    for sizes in product(steps, rows, *cuts):
        if sum(w < extent for w, extent in zip(sizes[2:], others, strict=True)) > 1:
            continue
        chained = (sizes[1] + sweep.slopes[0] * sizes[0]) * machine.threads <= first
        if chained and machine.fits(sweep.footprint(sizes), Level.SECOND):
            yield sizes


def _extents(nest: UnitNest) -> list[int | None]:
    """The most values that each loop takes; None where that is unknown."""
    depth = max(len(nest.instances(unit).loops) for unit in nest.units)
    found: list[int | None] = [0] * depth
    for unit in nest.units:
        values = nest.instances(unit).values.range()
        for at in range(len(nest.instances(unit).loops)):
            interval = nest.model.solver.interval(values, at)
            if interval.lower is None or interval.upper is None:
                found[at] = None
                continue
            before = found[at]
            if before is not None:
                found[at] = max(before, interval.upper - interval.lower + 1)
    return found


def _computes_long(nest: UnitNest) -> bool:
    """Whether a unit makes so many accesses that they hide what tiles would spare.

    The 27 points of a cube take twice as long as their planes need to come from memory.
    """
    counts = Counter(reference.instances.name for reference in nest.model.references)
    return any(
        sum(counts[name] for name in unit.statements) > MOST_ACCESSES
        for unit in nest.units
    )


def _bytes_per_point(
    nest: UnitNest, element_bytes: Mapping[str, int], rank: int
) -> int:
    """Bytes of the arrays that have one element per point."""
    names = {reference.access.array for reference in nest.model.references}
    full = (n for n in names if len(nest.model.array(n).shape) >= rank)
    return sum(element_bytes.get(name, 8) for name in full) or 8
