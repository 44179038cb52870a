"""Wavefronts of tiles: the schedule that tiles a time loop together with its space.

Comes in: a `UnitNest`, its `SkewedBand` and tile sizes. Goes out: a `Schedule`. With P
the positions of the band, z the sizes, t_k = floor(P_k / z_k) and c the chains, an
instance runs at

    (floor(P_0 / (c * z_0)), t_2, .., t_n, t_0 + t_1, t_0, its place inside the tile).

No dependence lets a position of the band decrease, so none lets a t_k decrease: tiles
with equal t_0 + t_1 and different t_0 are not dependent, and run in parallel. The tiles
with one t_0 are a chain: t_1 is a step, which leaves most of the cells of the tile
before in the cache of the thread. Without a number of chains, all of them are begun
together, and the first position is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from gpucodegen.tiling.proof.legality import Refusal
from gpucodegen.tiling.schedule.schedule import Schedule, UnitNest, compact, padded
from gpucodegen.tiling.schedule.skew import LARGEST_FACTOR, SkewedBand


def wavefront(
    nest: UnitNest, band: SkewedBand, sizes: Sequence[int], chains: int = 0
) -> Schedule | Refusal:
    """Tile the first ``len(sizes)`` positions of the band, at least two.

    >>> from gpucodegen.tiling.proof.dependences import dependences
    >>> from gpucodegen.tiling.model.relations import model
    >>> from gpucodegen.tiling.schedule.schedule import Unit
    >>> from gpucodegen.tiling.model.scop import Array, Loop, Scop, Statement, nest
    >>> from gpucodegen.tiling.model.scop import read, write
    >>> from gpucodegen.tiling.schedule.skew import find_band
    >>> reads = read("A", "i - 1"), read("A", "i + 1")
    >>> relax = Statement("S", (*reads, write("A", "i")))
    >>> chain = [Loop("t", "0", "T"), Loop("i", "1", "99")]
    >>> built = model(Scop(("T",), (), (Array("A", (100,)),), nest(chain, (relax,))))
    >>> line = UnitNest(built, dependences(built), (Unit(("S",)),))
    >>> schedule = wavefront(line, find_band(line), (8, 32))
    >>> schedule.times["S"][:2]
    ('floor((t)/8) + floor((i + t)/32)', 'floor((t)/8)')
    >>> schedule.names, sorted(schedule.parallel)
    (('wave', 't_tile', 't', 'i'), [1])
    >>> wavefront(line, find_band(line), (8, 32), chains=2).times["S"][:2]
    ('floor((t)/16)', 'floor((t)/8) + floor((i + t)/32)')
    """
    if len(sizes) < 2:
        return Refusal("a wavefront needs a size for the time loop and for one more")
    if any(len(positions) < len(sizes) for positions in band.positions.values()):
        return Refusal(f"its band has fewer than {len(sizes)} loops")
    diagonal = _diagonal(nest)
    inside = diagonal or nest.original
    tiles = {name: _tiles(p, sizes, chains) for name, p in band.positions.items()}
    times = compact(padded({n: (*tiles[n], *inside[n]) for n in tiles}))
    names = _names(nest, len(sizes), chains)
    schedule = nest.schedule(times, names, frozenset({len(names) - 1}))
    last = len(schedule.names) - 1
    return replace(schedule, strided=frozenset({last})) if diagonal else schedule


def _names(nest: UnitNest, tiled: int, chains: int) -> tuple[str, ...]:
    deepest = max((nest.instances(unit).loops for unit in nest.units), key=len)
    time, _, *others = (f"{loop.name}_tile" for loop in deepest[:tiled])
    rounds = [f"{deepest[0].name}_round"] if chains else []
    return (*rounds, *others, "wave", time)


def _tiles(
    positions: Sequence[str], sizes: Sequence[int], chains: int
) -> tuple[str, ...]:
    time, first, *others = (
        f"floor(({position})/{size})"
        for position, size in zip(positions, sizes, strict=False)
    )
    rounds = [f"floor(({positions[0]})/{chains * sizes[0]})"] if chains else []
    return (*rounds, *others, f"{time} + {first}", time)


def runs_diagonally(nest: UnitNest) -> bool:
    """Whether the points of a tile run along diagonals, not along rows."""
    return _diagonal(nest) is not None


def _diagonal(nest: UnitNest) -> dict[str, tuple[str, ...]] | None:
    """An order inside the tile whose innermost loop is parallel, in place of a chain.

    A single unit of three or more loops, whose innermost one, j, carries a dependence,
    runs along (.., f*i + j, i) in place of (.., i, j), if some f makes i parallel
    there: its instances then need not wait for each other.
    """
    unit, *others = nest.units
    loops = [loop.name for loop in nest.instances(unit).loops]
    if others or len(loops) < 3 or not _chained(nest, loops[-1]):
        return None
    *outer, i, j = loops
    for factor in range(1, LARGEST_FACTOR + 1):
        hyperplane = (*outer, f"{j} + {factor}*{i}")
        if nest.check({unit.name: hyperplane}) is None:
            return {unit.name: (*hyperplane, i)}
    return None


def _chained(nest: UnitNest, loop: str) -> bool:
    carriers = (dependence.carrier for dependence in nest.dependences)
    return any(carrier and carrier.name == loop for carrier in carriers)
