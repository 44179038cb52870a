"""A host program in words: how often it launches what, and which dependence forces it.

Nothing is said of kernels that are launched once with several threads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen.ir.locations import Location, file_location
from gpucodegen.report.host_program import HostLoop, KernelLaunches
from gpucodegen.report.subjects import Nest, location_of
from gpucodegen.report.wording import Lines, distances
from gpucodegen.tiling.proof.loops import LoopKind, LoopVerdict


def launch_lines(launches: Sequence[KernelLaunches], nests: Sequence[Nest]) -> Lines:
    """Launches in loops of the host, and kernels of one thread."""
    for launch in launches:
        if launch.loops:
            names = ", ".join(name for name, _ in launch.loops)
            times = _count(launch.launches, "launches")
            yield f"{launch.kernel}: {times} in a loop of the host over {names}"
            yield from _reasons(launch.loops, nests)
        if launch.is_alone:
            work = _count(launch.operations, "operations")
            yield f"{launch.kernel}: one thread runs about {work}"
            yield from _reasons(launch.inside, nests)


def _count(number: int | None, what: str) -> str:
    return f"{number:,} {what}" if number is not None else f"an unknown count of {what}"


def _reasons(loops: Sequence[HostLoop], nests: Sequence[Nest]) -> Iterator[str]:
    """Why loops are not parallel, where the program as written tells."""
    for name, location in loops:
        for verdict in _verdicts(location, nests):
            found = verdict.decisive
            if verdict.kind is LoopKind.PARALLEL or found is None:
                continue
            what = f"{found.kind.value} on {found.source.access.array}"
            far = distances(found.distance)
            yield f"  {name} is {verdict.kind.value}: {what}, distance {far}"


def _verdicts(location: Location, nests: Sequence[Nest]) -> Iterator[LoopVerdict]:
    place = file_location(location)
    for nest in nests:
        for verdict in nest.verdicts:
            if place is not None and file_location(location_of(verdict.loop)) == place:
                yield verdict
