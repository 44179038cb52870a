"""What time tiles of given sizes cost on a CPU.

Comes in: a `Sweep`, sizes and the `Machine`. Goes out: a number that grows with the
time of one point. Its unit is the time in which a thread moves one byte into its cache.

A chain of tiles (`wavefront`) takes z_1 planes further with each tile; it loads and
stores each cell once in z_0 steps of time, and those at the edges of the tiles, which
move by f_k * z_0, once more for the neighbour.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from statistics import fmean

from gpucodegen.tiling.machine.facts import SWEEP
from gpucodegen.tiling.machine.model import Machine

USUAL_STEPS = (20, 50, 100, 200)
"""Taken for time loops whose duration is unknown."""


@dataclass(frozen=True, slots=True)
class TimePlan:
    """Sizes of the tiles, time tiles at once, and the least time steps that pay."""

    sizes: tuple[int, ...]
    chains: int
    least_steps: int


@dataclass(frozen=True, slots=True)
class TimeTiles:
    """What may be chosen for a time loop: tiles, or none.

    ``steps`` of time in a tile, and its ``width`` along each axis of space.
    """

    tiled: bool
    steps: int = 0
    width: tuple[int, ...] = ()

    @property
    def sizes(self) -> tuple[int, ...]:
        """Those of every loop, the time loop's first."""
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
        """Bytes that a tile touches; sizes of the time loop and of every other.

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
    """Steps that give every chain a time tile; fewer run without tiles.

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
