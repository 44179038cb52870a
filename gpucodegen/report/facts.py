"""What else is found of a nest: its tree, fronts, footprints, accesses in doubt.

Comes in: a `Nest`. Goes out: plain values, which every face shows.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TypeVar

from gpucodegen.report.schedule_tree import Tree, Verdicts, effects, schedule_tree
from gpucodegen.report.strides import element_bytes
from gpucodegen.report.subjects import Nest, Subject
from gpucodegen.tiling.model.isl_forms import set_text
from gpucodegen.tiling.model.scop import Loop
from gpucodegen.tiling.proof.array_bounds import Violation, needs
from gpucodegen.tiling.proof.flow import UndefinedRead
from gpucodegen.tiling.proof.legality import Band
from gpucodegen.tiling.proof.liveness import LoopKind
from gpucodegen.tiling.schedule.promotion import footprints
from gpucodegen.tiling.schedule.skewing import front

Found = TypeVar("Found", Violation, UndefinedRead)

TILE = 32
"""Iterations per loop of the tile whose footprint is shown."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """The box of an array that a tile touches; None: it has no bound."""

    array: str
    extents: tuple[int | None, ...]
    size: int | None
    """Bytes."""


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


def telling_bands(nest: Nest) -> list[Band]:
    """Bands of several loops, and those that something ends too early."""
    return [b for b in nest.bands if len(b.names) > 1 or b.ended_by is not None]


def fronts(nest: Nest) -> Iterator[dict[str, int]]:
    """Of neighbouring loops that are not parallel: sums whose iterations run at once.

    Each sum is a factor by loop: iterations with one value of it are independent.
    """
    for outer, inner in pairwise(_alone(nest.loop)):
        kinds = {nest.verdict(outer).kind, nest.verdict(inner).kind}
        if kinds != {LoopKind.SEQUENTIAL}:
            continue
        depth = len(nest.verdict(outer).outer)
        factors = front(nest.model, nest.dependences, depth, depth + 1)
        if factors is not None:
            yield dict(zip((outer.name, inner.name), factors, strict=True))


def _alone(loop: Loop) -> Iterator[Loop]:
    """A loop and those that are nested in it with nothing beside them."""
    yield loop
    if len(loop.body) == 1 and isinstance(loop.body[0], Loop):
        yield from _alone(loop.body[0])


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


def tile_footprints(nest: Nest) -> Iterator[Footprint]:
    """Boxes that the statements inside the loops of the tile touch."""
    sizes = tile_sizes(nest)
    inside = tuple(
        i for i in nest.statements if set(sizes) <= {loop.name for loop in i.loops}
    )
    built = replace(nest.model, everything=inside)
    for name in dict.fromkeys(a.array for i in inside for a in i.accesses):
        array = built.array(name)
        if array.register or not array.shape:
            continue
        each = element_bytes(nest.arrays[name])
        for found in footprints(built, name, sizes):
            total = None if found.cells is None else found.cells * each
            yield Footprint(name, found.extent, total)


def extents_needed(subject: Subject, nest: Nest) -> str:
    """What keeps accesses inside that only extents decide about; "": nothing."""
    return needs(nest.model, _of(nest, subject.violations))


def suspects(subject: Subject, nest: Nest) -> list[str]:
    """Accesses that may leave their array, reads that may find nothing."""
    outside = [v for v in _of(nest, subject.violations) if not v.needed]
    return [str(one) for one in (*outside, *_of(nest, subject.undefined))]


def _of(nest: Nest, found: Iterable[Found]) -> list[Found]:
    """Those that are about statements of a nest."""
    mine = {instances.name for instances in nest.statements}
    return [one for one in found if one.reference.instances.name in mine]
