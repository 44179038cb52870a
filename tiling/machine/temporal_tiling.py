"""Temporal tiling on CPUs: whether to tile a time loop, tile sizes, and their cost.

`plan_time_tiles` takes a `UnitNest`, its `SkewedBand` and the `Machine`, and returns a
plan for `wavefront`, or None where the loops stay as they are.  `time_cost` compares
the candidates, unless the caller chooses.  Its unit is the time in which a thread moves
one byte into its cache.  A tile has z_0 time steps and z_1 planes of the outermost
space loop, skewed by f_k planes per time step along loop k.  A chain of tiles
(`wavefront`) loads and stores each element once per z_0 time steps; elements at the
edges of tiles, f_k * z_0 of them along loop k, are loaded and stored once more.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from math import prod
from statistics import fmean

from gpucodegen.records import dataclass
from gpucodegen.tiling.machine.plan_space import Choose, least
from gpucodegen.tiling.machine.processor import MEMORY, SWEEP, Level, Machine
from gpucodegen.tiling.machine.vectorization import MOST_ACCESSES
from gpucodegen.tiling.proof.liveness import LoopKind, loop_verdicts
from gpucodegen.tiling.schedule.schedule import UnitNest
from gpucodegen.tiling.schedule.skewing import SkewedBand, runs_diagonally

USUAL_STEPS = (20, 50, 100, 200)
"""Assumed trip counts of time loops of unknown duration."""


@dataclass(frozen=True, slots=True)
class TimePlan:
    """Tile sizes, concurrent chains, and the least number of time steps that pays."""

    sizes: tuple[int, ...]
    chains: int
    least_steps: int


@dataclass(frozen=True, slots=True)
class TimeTiles:
    """A choice for a time loop: tiles, or none.

    ``steps`` of time in a tile, and its ``width`` along each axis of space.
    """

    tiled: bool
    steps: int = 0
    width: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """The sizes of all loops, the time loop's first."""
        return (self.steps, *self.width)


PLAIN = TimeTiles(tiled=False)
"""Each step sweeps over all cells."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """A time loop around space: extents of the space, and its skew by each of them.

    ``bytes_per_point``: of all arrays; ``steps``: of the time loop, None if unknown.
    """

    extents: tuple[int, ...]
    slopes: tuple[int, ...]
    bytes_per_point: int
    steps: int | None = None

    def footprint(self, sizes: tuple[int, ...]) -> int:
        """Bytes that a tile touches; ``sizes`` of the time loop and of all space loops.

        >>> Sweep((4094, 4094), (2, 2), 8).footprint((8, 4, 4094)) >> 10
        639
        """
        time, *widths = sizes
        spread = zip(widths, self.slopes, self.extents, strict=True)
        cells = (min(width + f * time, extent) for width, f, extent in spread)
        return prod(cells) * self.bytes_per_point


def time_cost(sweep: Sweep, sizes: tuple[int, ...], machine: Machine) -> float:
    """Cost of one point and time step, in bytes.

    >>> sweep = Sweep((254, 254, 254), (2, 2, 2), 8)
    >>> machine = Machine(2, second=1_310_720)
    >>> strip, cube = (4, 2, 32, 254), (4, 16, 16, 64)
    >>> time_cost(sweep, strip, machine) < time_cost(sweep, cube, machine)
    True
    """
    time, first, *others = sizes
    cut = zip(others, sweep.slopes[1:], sweep.extents[1:], strict=True)
    again = prod(1 + f * time / width for width, f, extent in cut if width < extent)
    moved = 2 * sweep.bytes_per_point * again / time
    begun = SWEEP.barrier / prod(sizes) + SWEEP.row / sizes[-1]
    idle = (machine.threads - 1) * first / sweep.extents[0]
    cut_rows = len(sizes) > 2 and sizes[-1] < sweep.extents[-1]
    computed = (
        SWEEP.compute_cut if cut_rows else SWEEP.compute
    ) * sweep.bytes_per_point
    tiled = (computed + moved + begun) * (1 + idle)
    plain, least = untiled_cost(sweep, machine), least_steps(time, machine.threads)
    durations = USUAL_STEPS if sweep.steps is None else (sweep.steps,)
    return fmean(
        tiled / _busy(steps, time, machine.threads) if steps >= least else plain
        for steps in durations
    )


def least_steps(time: int, chains: int) -> int:
    """The fewest steps that give every chain a time tile; shorter runs are not tiled.

    >>> least_steps(12, 2)
    13
    """
    return time * (chains - 1) + 1


def untiled_cost(sweep: Sweep, machine: Machine) -> float:
    """Cost of one point and time step where each step sweeps over all cells.

    Long sweeps are prefetched. The share of the arrays that comes from memory grows
    until they fill the shared cache: measured at 8, 16, 32, 64 and 128 MB.

    >>> machine = Machine(2, second=1_310_720, shared=48 << 20)
    >>> for side in (98, 158, 254):
    ...     print(round(untiled_cost(Sweep((side,) * 3, (2, 2, 2), 8), machine), 1))
    7.7
    10.1
    12.2
    """
    begun = SWEEP.barrier / prod(sweep.extents) + SWEEP.row / sweep.extents[-1]
    own = machine.threads * machine.second
    whole = prod(sweep.extents) * sweep.bytes_per_point
    beyond = (whole - own) / max(1, machine.shared - own)
    share = min(1.0, max(0.0, beyond)) if machine.shared else 1.0
    moved = (SWEEP.near + (1 - SWEEP.near) * share) * sweep.bytes_per_point
    return SWEEP.compute * sweep.bytes_per_point + begun + moved


def _busy(steps: int, time: int, chains: int) -> float:
    """Share of the threads that have a time tile."""
    rounds, rest = divmod(steps, time * chains)
    return steps / chains / (rounds * time + min(rest, time))


WORTH = 0.9
"""Share of the cost of plain loops below which tiles are chosen: as near as both costs
are to what was measured."""
STEPS = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64)
"""Steps of time that tiles may have."""
WIDTHS = tuple(1 << power for power in range(15))
"""Candidate tile widths along an axis of space, in points."""
ROW_WIDTHS = WIDTHS[6:]
"""Those along rows: the vectors of shorter ones do not pay for their bounds."""
DIAGONAL_ROWS = (32,)
"""More are slow along diagonals: the stores of earlier rows, a page apart, look like
those of the cells that are read."""


def plan_time_tiles(
    nest: UnitNest,
    band: SkewedBand,
    element_bytes: Mapping[str, int],
    machine: Machine,
    choose: Choose = least,
) -> TimePlan | None:
    """Sizes for a nest; ``element_bytes`` per array.

    A nest with parallel loops is tiled if its sweeps exceed the caches and reach their
    neighbours, so that waves of tiles reuse loaded data; one without is tiled for
    parallelism alone.  ``choose`` may take other tiles, or none; it is not called where
    no tiles are possible, or where the steps of a nest with parallel loops do not reach
    their neighbours.
    """
    sweep = _sweep(nest, band, element_bytes)
    inner = loop_verdicts(nest.model, nest.dependences)[1:]
    parallel = any(verdict.kind is LoopKind.PARALLEL for verdict in inner)
    if sweep is None or (parallel and not band.skewed):
        return None
    pays = not parallel or (_outgrows(sweep, machine) and not _computes_long(nest))
    if choose is least and not pays:
        return None
    rows = DIAGONAL_ROWS if runs_diagonally(nest) else WIDTHS
    tiles = [
        tiles
        for tiles in _candidates(sweep, machine, rows)
        if not parallel or _last_long_enough(tiles, sweep, machine)
    ]
    if not tiles:
        return None
    costs = _costs(sweep, machine, tiles, parallel=parallel, pays=pays)
    chosen = choose(costs, costs.__getitem__)
    return _as_plan(chosen, sweep, machine, parallel=parallel)


def _costs(
    sweep: Sweep,
    machine: Machine,
    tiles: Sequence[TimeTiles],
    *,
    parallel: bool,
    pays: bool,
) -> dict[TimeTiles, float]:
    """Cache lines that a thread moves in the time of each choice, the default's least.

    If plain loops are the default although the model prefers tiles, all tiles are
    scaled by one factor until they cost more.  Plain loops without a parallel loop run
    on one thread.
    """
    whole = prod(sweep.extents) * (sweep.steps or fmean(USUAL_STEPS)) / MEMORY.line
    tiled = {one: whole * time_cost(sweep, one.sizes, machine) for one in tiles}
    best, plain = min(tiled.values()), whole * untiled_cost(sweep, machine)
    if not parallel:
        return {**tiled, PLAIN: max(machine.threads * plain, best)}
    if pays:
        return {PLAIN: plain, **{one: cost / WORTH for one, cost in tiled.items()}}
    dearer = max(1 / WORTH, plain / best)
    return {
        PLAIN: plain,
        **{one: max(plain, dearer * cost) for one, cost in tiled.items()},
    }


def _as_plan(
    chosen: TimeTiles, sweep: Sweep, machine: Machine, *, parallel: bool
) -> TimePlan | None:
    """The sizes, without trailing ones that cut nothing."""
    if not chosen.tiled:
        return None
    sizes, threads = chosen.sizes, machine.threads
    while len(sizes) > 2 and sizes[-1] >= sweep.extents[len(sizes) - 2]:
        sizes = sizes[:-1]
    least = least_steps(chosen.steps, threads) if parallel else 0
    return TimePlan(sizes, threads, least)


def _last_long_enough(tiles: TimeTiles, sweep: Sweep, machine: Machine) -> bool:
    """Whether a time loop of known trip count gives every chain a tile."""
    least = least_steps(tiles.steps, machine.threads)
    return sweep.steps is None or sweep.steps >= least


def _candidates(
    sweep: Sweep, machine: Machine, rows: tuple[int, ...]
) -> Iterator[TimeTiles]:
    """Tiles that fit the cache of a core, with one tile per thread.

    At most three loops are cut: the proofs about more take too long.
    """
    steps = STEPS if sweep.steps is None else [s for s in STEPS if s <= sweep.steps]
    first, *others = sweep.extents
    last = len(others) - 1
    cuts = [
        [w for w in (ROW_WIDTHS if at == last else WIDTHS) if w < extent] + [extent]
        for at, extent in enumerate(others)
    ]
    for time, row, *width in product(steps, rows, *cuts):
        if sum(w < extent for w, extent in zip(width, others, strict=True)) > 1:
            continue
        tiles = TimeTiles(tiled=True, steps=time, width=(row, *width))
        chained = (row + sweep.slopes[0] * time) * machine.threads <= first
        if chained and machine.fits(sweep.footprint(tiles.sizes), Level.SECOND):
            yield tiles


def _sweep(
    nest: UnitNest, band: SkewedBand, element_bytes: Mapping[str, int]
) -> Sweep | None:
    """The time loop with its space; None where an extent of space is unknown."""
    steps, *extents = _extents(nest)
    known = tuple(extent for extent in extents if extent is not None)
    if not extents or len(known) < len(extents):
        return None
    bytes_per_point = _bytes_per_point(nest, element_bytes, len(extents))
    slopes = tuple(row[0] for row in band.factors[1:])
    return Sweep(known, slopes, bytes_per_point, steps)


def _outgrows(sweep: Sweep, machine: Machine) -> bool:
    """Whether the data of a thread's sweep leaves its cache before the next sweep."""
    own = prod(sweep.extents) * sweep.bytes_per_point // machine.threads
    return not machine.fits(own, Level.SECOND)


def _extents(nest: UnitNest) -> list[int | None]:
    """The maximal trip count of each loop; None where it is unknown."""
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
    """Whether a unit makes so many accesses that they hide the saved memory traffic.

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
    """Bytes per point of the arrays that have one element per point."""
    names = {reference.access.array for reference in nest.model.references}
    full = (n for n in names if len(nest.model.array(n).shape) >= rank)
    return sum(element_bytes.get(name, 8) for name in full) or 8
