"""Text of explanations: nests (loops, bands, memory, tree) and mapped kernels."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen.ir.locations import Location, file_location
from gpucodegen.passes.analysis.work import HostLoop, KernelLaunches
from gpucodegen.passes.outlining.host_accesses import ElementAccesses
from gpucodegen.report.access_facts import (
    extents_needed,
    fronts,
    nest_tree,
    suspects,
    telling_bands,
    tile_footprints,
    tile_sizes,
    walks,
)
from gpucodegen.report.kernels import MappedKernel, Mapping, WorkShare
from gpucodegen.report.subjects import Nest, Subject, location_of
from gpucodegen.report.wording import (
    Lines,
    SourceLine,
    box,
    distances,
    indented,
    section,
    size,
    table,
)
from gpucodegen.tiling.machine.contraction import ContractionShape, OperandAccess
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.legality import Band
from gpucodegen.tiling.proof.liveness import LoopKind, LoopVerdict


def mapping_lines(mapping: Mapping, nests: Sequence[Nest]) -> Lines:
    """The launches and all kernels of a function on one target."""
    if mapping.refusal:
        yield f"not compiled: {mapping.refusal}"
    elif not mapping.kernels:
        yield "no kernels: everything runs on the host"
    yield from section("launches", launch_lines(mapping.launches, nests))
    yield from section("left on the host", map(element_line, mapping.elements))
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
    """The workers of a kernel: blocks and threads, or parallel iterations."""
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
    """Launches in host loops, and kernels of one thread."""
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


def element_line(found: ElementAccesses) -> str:
    """A loop of the host that accesses device memory element by element."""
    name, location = found.loop
    place = file_location(location)
    where = f" of line {place.line}" if place else ""
    return f"the loop over {name}{where} {found.action}: {found.reason}"


def _count(number: int | None, what: str) -> str:
    return f"{number:,} {what}" if number is not None else f"an unknown count of {what}"


def _reasons(loops: Sequence[HostLoop], nests: Sequence[Nest]) -> Iterator[str]:
    """Why loops are not parallel, from the verdicts on the program as written."""
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


FEW = 3
"""Accesses that may be wrong are many or none."""


def nest_lines(subject: Subject, nest: Nest, source: SourceLine) -> Lines:
    """All facts about a nest as written."""
    yield f"{source.quote(nest.location)}"
    yield from indented(_nest_sections(subject, nest, source))


def copy_lines(subject: Subject, source: SourceLine) -> Lines:
    """The tensors that are copied before they are updated, with their locations."""

    def lines() -> Iterator[str]:
        for copied in subject.copies:
            yield copied.message
            yield f"  at {source.quote(copied.location)}"
            for place, note in copied.notes:
                yield f"  {note}: {source.quote(place)}"

    return section("copies of tensors", list(lines()))


def _nest_sections(subject: Subject, nest: Nest, source: SourceLine) -> Lines:
    yield from section("loops", _loops(nest, source))
    yield from section("bands", _bands(nest))
    yield from section("fronts", _fronts(nest))
    yield from section("values", _values(nest))
    yield from section("contraction", _contractions(nest.contractions))
    yield from section("elements moved per step of a loop", _walks(nest))
    yield from section(f"footprint of {_tile_name(nest)}", _footprints(nest))
    yield from section("schedule tree, as written", nest_tree(nest).lines())
    needed = extents_needed(subject, nest)
    yield from section("extents of arguments need", [needed] if needed else [])
    found = suspects(subject, nest)
    yield from section("accesses not proven right", _few(found))


def _loops(nest: Nest, source: SourceLine) -> Lines:
    for verdict in nest.verdicts:
        depth = 2 * len(verdict.outer)
        yield f"{' ' * depth}{verdict.loop.name}: {_kind(verdict)}"
        if verdict.loop.opaque:
            yield f"{' ' * depth}  not affine: how often it runs is not known"
        elif verdict.kind is not LoopKind.PARALLEL and verdict.decisive:
            yield from indented(why_not(verdict.decisive, source), depth + 2)


def _kind(verdict: LoopVerdict) -> str:
    operators = f" ({', '.join(verdict.operators)})" if verdict.operators else ""
    order = ", any order of the terms" if verdict.reassociable else ""
    return f"{verdict.description}{operators}{order}"


def why_not(dependence: Dependence, source: SourceLine) -> Lines:
    """A dependence: kind, distance, iterations, and both source lines."""
    array = dependence.source.access.array
    far = distances(dependence.distance)
    yield f"{dependence.kind.value} on {array}, distance {far}"
    yield str(dependence.witness or "assumed: not decided within the limit")
    for end in (dependence.source, dependence.sink):
        verb = end.access.kind.value
        yield f"{verb}s at {source.quote(location_of(end.access))}"


def _bands(nest: Nest) -> Lines:
    for band in telling_bands(nest):
        yield _band(band)
        if band.ended_by is not None:
            yield f"  ends there: {band.ended_by}"


def _band(band: Band) -> str:
    names = f"({', '.join(band.names)})"
    if len(band.names) == 1:
        return f"{names} alone"
    shape = "" if band.rectangular else "; bounds depend on each other, not a rectangle"
    return f"{names} permutable: may be tiled and interchanged{shape}"


def _fronts(nest: Nest) -> Lines:
    for factors in fronts(nest):
        terms = (f"{n}*{loop}" if n > 1 else loop for loop, n in factors.items())
        yield f"iterations with one value of {' + '.join(terms)} may run at once"


def _values(nest: Nest) -> Lines:
    for part in nest.parts:
        yield f"read from before: {', '.join(part.live_in) or 'none'}"
        yield f"used afterwards: {', '.join(part.live_out) or 'none'}"


def _contractions(found: Sequence[ContractionShape]) -> Lines:
    for contraction in found:
        operands = (contraction.output, contraction.left, contraction.right)
        output, left, right = map(_operand, operands)
        yield f"{output} += {left} * {right}"
        parts = {
            "batch": contraction.roles.batch,
            "M": contraction.roles.m,
            "N": contraction.roles.n,
            "K": contraction.roles.k,
        }
        yield ", ".join(
            f"{name}: {', '.join(loop.name for loop in loops)}"
            for name, loops in parts.items()
            if loops
        )


def _operand(operand: OperandAccess) -> str:
    indices = ", ".join(str(index) for index in operand.access.indices)
    return f"{operand.array}[{indices}]"


def _walks(nest: Nest) -> Lines:
    found = walks(nest)
    names = list(dict.fromkeys(loop for walk in found for loop in walk.distances))
    if not names:
        return
    rows = [("", "", *names)]
    for walk in found:
        cells = (
            (walk.distances[name] or "?") if name in walk.distances else ""
            for name in names
        )
        rows.append((walk.reference.access.kind.value, walk.name, *cells))
    yield from table(rows)
    yield "0: reused; 1: neighbours, one transaction; else: one transaction per lane"


def _tile_name(nest: Nest) -> str:
    sizes = tile_sizes(nest)
    return f"a tile of {box(list(sizes.values()))} iterations ({', '.join(sizes)})"


def _footprints(nest: Nest) -> Lines:
    rows = [
        (found.array, box(found.extents), size(found.size))
        for found in tile_footprints(nest)
    ]
    yield from table(rows) if rows else ()


def _few(found: Sequence[str]) -> Lines:
    yield from found[:FEW]
    if len(found) > FEW:
        yield f"and {len(found) - FEW} more"
