"""A nest in words: loops and why they are so, bands, fronts, memory, schedule tree."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpucodegen.report.facts import (
    extents_needed,
    fronts,
    nest_tree,
    suspects,
    telling_bands,
    tile_footprints,
    tile_sizes,
)
from gpucodegen.report.strides import walks
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

FEW = 3
"""Accesses that may be wrong are many or none."""


def nest_lines(subject: Subject, nest: Nest, source: SourceLine) -> Lines:
    """All that is known of a nest as written."""
    yield f"{source.quote(nest.location)}"
    yield from indented(_nest_sections(subject, nest, source))


def copy_lines(subject: Subject, source: SourceLine) -> Lines:
    """The tensors that are copied before they are updated, with the places."""

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
    """A dependence: what, how far, which iterations, and both source lines."""
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
