"""A mapping in words: grid and block, what a block and a thread touch, the proof."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen.ir.locations import Location, file_location
from gpucodegen.passes.analysis.launches import HostLoop, KernelLaunches
from gpucodegen.report.kernels import MappedKernel, Mapping, WorkShare
from gpucodegen.report.subjects import Nest, location_of
from gpucodegen.report.wording import Lines, box, distances, section, size, table
from gpucodegen.tiling.proof.liveness import LoopKind, LoopVerdict


def mapping_lines(mapping: Mapping, nests: Sequence[Nest]) -> Lines:
    """The launches and all kernels of a function of these nests on one target."""
    if mapping.refusal:
        yield f"not compiled: {mapping.refusal}"
    elif not mapping.kernels:
        yield "no kernels: everything runs on the host"
    yield from section("launches", launch_lines(mapping.launches, nests))
    for kernel in mapping.kernels:
        yield from section(_head(kernel), _kernel(kernel))


def _head(kernel: MappedKernel) -> str:
    first, last = kernel.lines or (0, 0)
    where = f"line {first}" if first == last else f"lines {first} to {last}"
    return f"{kernel.name}{f', made from {where}' if first else ''}"


def _kernel(kernel: MappedKernel) -> Lines:
    yield workers(kernel)
    if kernel.vectors:
        yield f"vectors: {', '.join(kernel.vectors)}"
    one = "block" if kernel.block else "parallel iteration"
    if not kernel.block and kernel.workers is None:
        one = "run"
    yield from section(
        f"the first {one} touches", table([_share(s) for s in kernel.shares])
    )
    yield from kernel.updates
    objection = kernel.objection
    yield f"races: {f'not excluded: {objection}' if objection else 'proven absent'}"
    yield from section("schedule tree, as mapped", kernel.tree.lines())


def workers(kernel: MappedKernel) -> str:
    """Who runs a kernel."""
    if kernel.block:
        grid = box(_trimmed(kernel.grid))
        return f"grid of {grid} blocks, each of {box(_trimmed(kernel.block))} threads"
    if kernel.workers is None:
        return "one CPU thread"
    return f"{kernel.workers} parallel iterations on the CPU threads"


def _trimmed(extents: tuple[int | None, ...]) -> tuple[int | None, ...]:
    """x, y, z without trailing ones."""
    count = max((i + 1 for i, n in enumerate(extents) if n != 1), default=1)
    return extents[:count]


def _share(share: WorkShare) -> tuple[str, str, str, str, str]:
    count = len(share.threads[0]) if share.threads else 0
    threads = f"{count} by its first thread" if count else ""
    return (
        share.array,
        "writes" if share.writes else "reads",
        f"{box(share.extents)} in {share.memory} memory",
        size(share.size),
        threads,
    )


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
