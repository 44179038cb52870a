"""A nest in words: loops and why they are so, bands, fronts, memory, schedule tree."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import TypeVar

from gpucodegen.report.schedule_tree import Tree, Verdicts, effects, schedule_tree
from gpucodegen.report.strides import element_bytes, walks
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
from gpucodegen.tiling.model.isl_forms import set_text
from gpucodegen.tiling.model.scop import Loop
from gpucodegen.tiling.proof.bands import Band
from gpucodegen.tiling.proof.bounds.bounds import Violation, needs
from gpucodegen.tiling.proof.dependences import Dependence
from gpucodegen.tiling.proof.loops import LoopKind, LoopVerdict
from gpucodegen.tiling.proof.values.undefined import UndefinedRead
from gpucodegen.tiling.schedule.footprint import footprints
from gpucodegen.tiling.schedule.fronts import front

Found = TypeVar("Found", Violation, UndefinedRead)

TILE = 32
"""Iterations per loop of the tile whose footprint is shown."""
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
    yield from section("extents of arguments need", _needs(subject, nest))
    yield from section("accesses not proven right", _suspects(subject, nest))


def nest_tree(nest: Nest) -> Tree:
    """The schedule tree of a nest as written."""
    domains = {
        instances.name: nest.model.solver.ask(
            lambda i=instances: set_text(
                i.values.range(), i.name, [loop.name for loop in i.loops]
            ),
            instances.name,
        )
        for instances in nest.statements
    }
    starts = {band.names[0]: band for band in nest.bands}
    body = (nest.loop,)
    verdicts = Verdicts(starts, lambda l: _at_once(nest, l), domains, effects(body))
    return schedule_tree(body, verdicts)


def _at_once(nest: Nest, loop: Loop) -> bool:
    return nest.verdict(loop).kind is LoopKind.PARALLEL


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
    """Bands of several loops, and what ends a band too early."""
    for band in nest.bands:
        if len(band.names) > 1 or band.ended_by is not None:
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
    """Neighbouring loops that are not parallel, but have parallel fronts."""
    for outer, inner in pairwise(_alone(nest.loop)):
        kinds = {nest.verdict(outer).kind, nest.verdict(inner).kind}
        if kinds != {LoopKind.SEQUENTIAL}:
            continue
        depth = len(nest.verdict(outer).outer)
        factors = front(nest.model, nest.dependences, depth, depth + 1)
        if factors is not None:
            a, b = (f"{n}*" if n > 1 else "" for n in factors)
            name = f"{a}{outer.name} + {b}{inner.name}"
            yield f"iterations with one value of {name} may run at once"


def _alone(loop: Loop) -> Iterator[Loop]:
    """A loop and those that are nested in it with nothing beside them."""
    yield loop
    if len(loop.body) == 1 and isinstance(loop.body[0], Loop):
        yield from _alone(loop.body[0])


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


def tile_sizes(nest: Nest) -> dict[str, int]:
    """The tile whose footprint is shown: the loops of the longest band."""
    longest = max(nest.bands, key=lambda band: len(band.loops))
    return {loop.name: min(TILE, _trips(loop) or TILE) for loop in longest.loops}


def _trips(loop: Loop) -> int | None:
    """How often a loop runs, where its bounds are numbers."""
    bounds = (*loop.lowers, *loop.uppers)
    if len(bounds) != 2 or not all(bound.isdigit() for bound in bounds):
        return None
    return -(-(int(bounds[1]) - int(bounds[0])) // loop.step)


def _tile_name(nest: Nest) -> str:
    sizes = tile_sizes(nest)
    return f"a tile of {box(list(sizes.values()))} iterations ({', '.join(sizes)})"


def _footprints(nest: Nest) -> Lines:
    """Boxes of the statements inside the tiled loops."""
    sizes = tile_sizes(nest)
    inside = tuple(
        i for i in nest.statements if set(sizes) <= {loop.name for loop in i.loops}
    )
    built = replace(nest.model, everything=inside)
    rows: list[tuple[str, str, str]] = []
    for name in dict.fromkeys(a.array for i in inside for a in i.accesses):
        array = built.array(name)
        if array.register or not array.shape:
            continue
        each = element_bytes(nest.arrays[name])
        for found in footprints(built, name, sizes):
            total = None if found.cells is None else found.cells * each
            rows.append((name, box(found.extent), size(total)))
    yield from table(rows) if rows else ()


def _of(nest: Nest, found: Iterable[Found]) -> list[Found]:
    """Those that are about statements of a nest."""
    mine = {instances.name for instances in nest.statements}
    return [one for one in found if one.reference.instances.name in mine]


def _needs(subject: Subject, nest: Nest) -> Lines:
    """What keeps accesses inside that only extents decide about."""
    if found := needs(nest.model, _of(nest, subject.violations)):
        yield found


def _suspects(subject: Subject, nest: Nest) -> Lines:
    """Accesses that may leave their array, reads that may find nothing."""
    outside = [v for v in _of(nest, subject.violations) if not v.needed]
    found = [*outside, *_of(nest, subject.undefined)]
    yield from map(str, found[:FEW])
    if len(found) > FEW:
        yield f"and {len(found) - FEW} more"
