"""Facts about a nest for explanations: strides, fronts, footprints, suspect accesses.

The functions take a `Nest` and return plain values for all renderers. `walks` gives the
distance in memory per step of each loop: 0 elements is reuse; 1 is contiguous, so a
vector or a warp is served by one transaction; any other distance takes as many
transactions as lanes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from math import prod
from typing import TypeVar

from gpucodegen.ir.attributes import AffineMapAttr, StridedLayoutAttr
from gpucodegen.ir.number_formats import FORMATS
from gpucodegen.ir.operation import Value
from gpucodegen.ir.types import (
    ComplexType,
    FloatType,
    IntegerType,
    MemRefType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.records import dataclass
from gpucodegen.report.schedule_tree import Tree, Verdicts, effects, schedule_tree
from gpucodegen.report.subjects import Nest, Subject
from gpucodegen.tiling.machine.contraction import index_coefficients
from gpucodegen.tiling.model.isl_forms import set_text
from gpucodegen.tiling.model.relations import Reference
from gpucodegen.tiling.model.scop import Array, Loop
from gpucodegen.tiling.proof.array_bounds import Violation, needs
from gpucodegen.tiling.proof.flow import UndefinedRead
from gpucodegen.tiling.proof.legality import Band
from gpucodegen.tiling.proof.liveness import LoopKind
from gpucodegen.tiling.schedule.promotion import footprints
from gpucodegen.tiling.schedule.skewing import front

Extent = int | str | None
Factors = tuple[str, ...]
Distance = Mapping[Factors, int]
"""A sum of products: how often each product of parameters is taken."""


@dataclass(frozen=True, slots=True)
class AccessWalk:
    """One access and, per loop around it, the elements that a step moves it.

    A distance is None where the index or the layout is not linear.
    """

    reference: Reference
    distances: Mapping[str, str | None]

    @property
    def name(self) -> str:
        """The access as the program writes it: ``A[i, k]``."""
        access = self.reference.access
        indices = ("?" if index is None else index for index in access.indices)
        return f"{access.array}[{', '.join(indices)}]"


def walks(nest: Nest) -> tuple[AccessWalk, ...]:
    """Every access of single elements of memory, without loop-carried values."""
    references = (
        Reference(instances, position)
        for instances in nest.statements
        for position in range(len(instances.accesses))
    )
    return tuple(
        _walk(nest, reference)
        for reference in references
        if not nest.model.array(reference.access.array).register
        and not reference.access.span
    )


def element_bytes(value: Value) -> int:
    """Bytes of one element of a buffer; ``index`` takes 8.

    >>> from gpucodegen.ir.types import BF16
    >>> element_bytes(Value(MemRefType((4,), BF16)))
    2
    """
    return max(1, _bits(element_type(value.type)) // 8)


def _bits(ty: Type) -> int:
    match ty:
        case IntegerType():
            return ty.width
        case FloatType():
            return FORMATS[ty.name].width
        case ComplexType(element):
            return 2 * _bits(element)
        case VectorType(shape, element):
            return prod(shape) * _bits(element)
        case _:
            return 64


def _walk(nest: Nest, reference: Reference) -> AccessWalk:
    instances, access = reference.instances, reference.access
    rows = index_coefficients(nest.model, instances, access)
    value = nest.arrays.get(access.array)
    steps = _strides(nest.model.array(access.array), value)
    distances = {
        loop.name: None
        if rows is None or steps is None
        else _text(_distance(rows, steps, loop.name, loop.step))
        for loop in instances.loops
    }
    return AccessWalk(reference, distances)


def _distance(
    rows: Sequence[Mapping[str, int]], steps: Sequence[Distance], loop: str, step: int
) -> Distance:
    """Sum over dimensions of coefficient times stride times step."""
    total: Counter[Factors] = Counter()
    for row, stride in zip(rows, steps, strict=True):
        for factors, count in stride.items():
            total[factors] += row.get(loop, 0) * count * step
    return {factors: count for factors, count in total.items() if count}


def _strides(array: Array, value: Value | None) -> list[Distance] | None:
    """Elements per step of each dimension; None for layouts without strides."""
    layout = value.type.layout if value and isinstance(value.type, MemRefType) else None
    match layout:
        case None:
            return _row_major(array.shape)
        case StridedLayoutAttr(strides) if None not in strides:
            return [{(): stride} for stride in strides if stride is not None]
        case AffineMapAttr(map_) if map_.is_identity:
            return _row_major(array.shape)
        case _:
            return None


def _row_major(shape: Sequence[Extent]) -> list[Distance] | None:
    found: list[Distance] = []
    number, factors = 1, ()
    for extent in reversed(shape):
        found.append({tuple(sorted(factors)): number})
        match extent:
            case int():
                number *= extent
            case str():
                factors = (*factors, extent)
            case None:
                return found if len(found) == len(shape) else None
    return found[::-1]


def _text(distance: Distance) -> str:
    """``4*N + 1``."""
    terms = (_product(factors, count) for factors, count in distance.items())
    return " + ".join(terms) or "0"


def _product(factors: Factors, count: int) -> str:
    shown = [f"({f})" if " " in f else f for f in factors]
    return "*".join([*([str(count)] if count != 1 or not shown else []), *shown])


Found = TypeVar("Found", Violation, UndefinedRead)

TILE = 32
"""Iterations per loop of the tile whose footprint is shown."""


@dataclass(frozen=True, slots=True)
class Footprint:
    """The box of an array that a tile touches; None: it is unbounded."""

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
    """Bands of several loops, and those that end before the nest does."""
    return [b for b in nest.bands if len(b.names) > 1 or b.ended_by is not None]


def fronts(nest: Nest) -> Iterator[dict[str, int]]:
    """Fronts of neighbouring loops that are not parallel.

    Each front is a factor by loop: iterations with one weighted sum are independent.
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
    """A loop and the perfectly nested loops in it."""
    yield loop
    if len(loop.body) == 1 and isinstance(loop.body[0], Loop):
        yield from _alone(loop.body[0])


def tile_sizes(nest: Nest) -> dict[str, int]:
    """The tile whose footprint is shown: the loops of the longest band."""
    longest = max(nest.bands, key=lambda band: len(band.loops))
    return {loop.name: min(TILE, _trips(loop) or TILE) for loop in longest.loops}


def _trips(loop: Loop) -> int | None:
    """The trip count of a loop with constant bounds."""
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
    """The condition on extents that keeps accesses inside their arrays; "": none."""
    return needs(nest.model, _of(nest, subject.violations))


def suspects(subject: Subject, nest: Nest) -> list[str]:
    """Accesses that may leave their array, and reads that may be undefined."""
    outside = [v for v in _of(nest, subject.violations) if not v.needed]
    return [str(one) for one in (*outside, *_of(nest, subject.undefined))]


def _of(nest: Nest, found: Iterable[Found]) -> list[Found]:
    """The findings about statements of a nest."""
    mine = {instances.name for instances in nest.statements}
    return [one for one in found if one.reference.instances.name in mine]
