"""How many threads walk a program of steps: the team of least estimated clocks.

A step ends with a barrier, which costs more among blocks than within one.  Its parallel
iterations are dealt out to the threads.  A round of them takes a multiprocessor

    max(threads operations / lanes, latency + DEPENDENT operations)

clocks: what it issues, or what one thread waits for.  Nothing in it was measured by
this project.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil

from gpucodegen.tiling.machine.gpu.devices import SCHEDULERS, GpuDevice
from gpucodegen.tiling.machine.gpu.estimate import BARRIER, LATENCY_L2
from gpucodegen.tiling.machine.gpu.limits import WARP
from gpucodegen.tiling.machine.gpu.products.plan import DEFAULT
from gpucodegen.tiling.machine.menu import Choose, least

MEETING = 1500
"""Nanoseconds of a barrier of the grid with one block on each multiprocessor; published
for V100 (Zhang et al., "A study of single and multi-device synchronization methods in
NVIDIA GPUs", 2020), assumed for the others."""
DEPENDENT = 4
"""Clocks of an operation that waits for the one before."""
THREADS = (32, 64, 128, 256, 512)
"""More threads of a block would leave each less than 128 registers."""
UNKNOWN = 1 << 16
"""Iterations of a step whose extents are not known."""


@dataclass(frozen=True, slots=True)
class StepTeam:
    """``blocks`` of ``threads``; several blocks are all resident at once."""

    blocks: int
    threads: int


@dataclass(frozen=True, slots=True)
class Step:
    """``iterations`` that may run at once, None if not known, of some operations.

    ``varies``: these are a mean, of steps of any number of iterations.
    """

    iterations: int | None
    operations: int
    varies: bool = False


def mean_step(steps: Sequence[Step]) -> Step:
    """A step as it is in the mean over these.

    >>> mean_step([Step(30, 4), Step(10, 4)])
    Step(iterations=20, operations=4, varies=True)
    """
    counts = [step.iterations for step in steps]
    known = [count for count in counts if count is not None]
    operations = sum(step.operations for step in steps) // len(steps)
    mean = sum(known) // len(known) if len(known) == len(counts) else None
    return Step(mean, operations, len(set(counts)) > 1)


def plan_steps(
    steps: Sequence[Step], *, device: GpuDevice = DEFAULT, choose: Choose = least
) -> StepTeam:
    """Who runs these steps in turn, again and again.

    >>> plan_steps([Step(100, 10)]), plan_steps([Step(1000, 10)])
    (StepTeam(blocks=1, threads=128), StepTeam(blocks=1, threads=512))
    >>> plan_steps([Step(1000000, 10)])
    StepTeam(blocks=132, threads=512)
    """
    counts = [1, *(1 << n for n in range(1, 16) if 1 << n < device.processors)]
    teams = [
        StepTeam(blocks, threads)
        for blocks in (*counts, device.processors)
        for threads in THREADS
    ]
    return choose(teams, lambda team: _all_clocks(team, steps, device))


def step_clocks(steps: Sequence[Step], *, device: GpuDevice = DEFAULT) -> float:
    """Estimated clocks of these steps by their best team, once."""
    return _all_clocks(plan_steps(steps, device=device), steps, device)


def _all_clocks(team: StepTeam, steps: Sequence[Step], device: GpuDevice) -> float:
    return sum(_clocks(team, step, device) for step in steps)


def _clocks(team: StepTeam, step: Step, device: GpuDevice) -> float:
    iterations = UNKNOWN if step.iterations is None else step.iterations
    rounds = _rounds(iterations / (team.blocks * team.threads), varies=step.varies)
    issued = team.threads * step.operations / (SCHEDULERS * WARP)
    waited = LATENCY_L2 + DEPENDENT * step.operations
    barrier = BARRIER if team.blocks == 1 else MEETING * device.clock
    return barrier + rounds * max(issued, waited)


def _rounds(full: float, *, varies: bool) -> float:
    """Rounds for so many full ones; the last round of steps that vary is half full."""
    return max(1.0, full + 0.5) if varies else ceil(full)
