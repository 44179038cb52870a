"""Memory spaces, allocations, and the memory behind memrefs with special layouts.

A memref of vectors lies in memory as a memref of numbers: ``memref<4xvector<2x8xf32>>``
as ``memref<4x2x8xf32>``. The dimensions of the vector follow those of the memref
without gaps.

A memref whose layout is a map lies in a row-major box that holds the map's image.
Element ``i`` of ``memref<5xf32, (d0) -> (d0 floordiv 2, d0 mod 2)>`` lies at ``[i // 2,
i % 2]`` of a box of 3 x 2 elements, the smallest one from zero that interval arithmetic
proves to hold every element.

Memory spaces of all vintages are numbers, words or gpu attributes. Early MLIR documents
count 0 and 1 as global, 2 as fast memory and 4 as memory of tags; NVVM counts 3 as
shared and 5 as private.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from enum import Enum
from itertools import product
from math import prod

from gpucodegen.ir.affine import (
    AffineExpr,
    AffineMap,
    Binary,
    Const,
    Dim,
    Sym,
    binary,
    linear_form,
    substitute,
)
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, StridedLayoutAttr
from gpucodegen.ir.types import MemRefType, TensorType, Type, VectorType


class MemorySpace(Enum):
    """Visibility of a buffer: all threads, a block, or one thread."""

    GLOBAL = "global"
    SHARED = "shared"
    PRIVATE = "private"
    TAGS = "tags"


_SPELLINGS = {
    MemorySpace.GLOBAL: ("0", "1", "hbm", "global"),
    MemorySpace.SHARED: ("2", "3", "vmem", "shared", "workgroup"),
    MemorySpace.PRIVATE: ("5", "private"),
    MemorySpace.TAGS: ("4",),
}
_MEANINGS = {name: space for space, names in _SPELLINGS.items() for name in names} | {
    f"#gpu{form.format(name)}": space
    for name, space in (
        ("global", MemorySpace.GLOBAL),
        ("workgroup", MemorySpace.SHARED),
        ("private", MemorySpace.PRIVATE),
    )
    for form in (".address_space<{}>", "<address_space {}>")
}
KNOWN = tuple(_MEANINGS)


def meaning(space: Attribute | None) -> MemorySpace | None:
    """The meaning of a memory space, global if there is none; None if unknown.

    >>> from gpucodegen.ir.attributes import StringAttr
    >>> meaning(StringAttr("vmem"))
    <MemorySpace.SHARED: 'shared'>
    """
    if space is None:
        return MemorySpace.GLOBAL
    return _MEANINGS.get(str(getattr(space, "value", space)))


def is_shared(space: Attribute | None) -> bool:
    """Whether a memory space lies in shared memory on a GPU."""
    return meaning(space) is MemorySpace.SHARED


Interval = tuple[AffineExpr, AffineExpr]
Point = tuple[int, ...]

SAMPLE = 4096
"""Number of elements that :func:`collision` checks."""


def stored_by_map(ty: MemRefType) -> AffineMap | None:
    """The map layout of a memref that is no permutation or positive strides, else None.

    >>> from gpucodegen.ir.types import F32
    >>> transposed = AffineMapAttr(AffineMap(2, 0, (Dim(1), Dim(0))))
    >>> stored_by_map(MemRefType((2, 3), F32, transposed)) is None
    True
    """
    match ty.layout:
        case AffineMapAttr(layout) if not (_permutes(layout) or _has_strides(layout)):
            return layout
        case _:
            return None


def _permutes(layout: AffineMap) -> bool:
    dims = {Dim(i) for i in range(layout.num_dims)}
    return len(layout.results) == layout.num_dims and set(layout.results) == dims


def _has_strides(layout: AffineMap) -> bool:
    if len(layout.results) != 1 or layout.num_syms:
        return False
    steps, _ = linear_form(layout.results[0])
    return all(isinstance(t, Dim) and steps[t] >= 0 for t in steps)


def box(layout: AffineMap, extents: Sequence[AffineExpr]) -> list[AffineExpr]:
    """Extents of the memory box, in the symbols of the layout and of ``extents``.

    >>> tiled = AffineMap(1, 0, (Dim(0) // 2, Dim(0) % 2))
    >>> [str(extent) for extent in box(tiled, [Const(5)])]
    ['3', '2']
    """
    highest = [extent - 1 for extent in extents]
    return [_interval(result, highest)[1] + 1 for result in layout.results]


def lowest(layout: AffineMap, extents: Sequence[int]) -> int:
    """The least subscript of the memory; a layout with a negative one is invalid."""
    highest = [Const(extent - 1) for extent in extents]
    bounds = [_interval(result, highest)[0] for result in layout.results]
    return min((b.value for b in bounds if isinstance(b, Const)), default=0)


def _interval(expr: AffineExpr, highest: Sequence[AffineExpr]) -> Interval:
    """A bound of an expression for dimensions from 0 on; divisors are positive."""
    match expr:
        case Dim(position):
            return Const(0), highest[position]
        case Binary("+", lhs, rhs):
            (a, b), (c, d) = _interval(lhs, highest), _interval(rhs, highest)
            return a + c, b + d
        case Binary("*", lhs, rhs):
            factor = rhs if isinstance(rhs, Const | Sym) else lhs
            low, high = _interval(lhs if factor is rhs else rhs, highest)
            if isinstance(factor, Const) and factor.value < 0:
                low, high = high, low
            return binary("*", low, factor), binary("*", high, factor)
        case Binary("mod", lhs, rhs):
            return _remainders(_interval(lhs, highest), rhs)
        case Binary(division, lhs, rhs):
            low, high = _interval(lhs, highest)
            return binary(division, low, rhs), binary(division, high, rhs)
        case _:
            return expr, expr


def _remainders(interval: Interval, divisor: AffineExpr) -> Interval:
    """``[0, divisor)``, or the exact remainders if the interval lies in one period."""
    match (*interval, divisor):
        case Const(low), Const(high), Const(n) if n > 0 and low // n == high // n:
            return Const(low % n), Const(high % n)
        case _:
            return Const(0), divisor - 1


def collision(layout: AffineMap, extents: Sequence[int]) -> tuple[Point, Point] | None:
    """Two elements that a layout maps to one place, among the first few thousand.

    >>> collision(AffineMap(1, 0, (Dim(0) // 2,)), [8])
    ((0,), (1,))
    """
    seen: dict[Point, Point] = {}
    for point in _sample(extents):
        place = tuple(
            _number(substitute(result, [Const(i) for i in point]))
            for result in layout.results
        )
        if place in seen:
            return seen[place], point
        seen[place] = point
    return None


def _number(expr: AffineExpr) -> int:
    assert isinstance(expr, Const)
    return expr.value


def _sample(extents: Sequence[int]) -> Iterator[Point]:
    """All elements of a corner of the box that has at most ``SAMPLE`` elements."""
    sides = list(extents)
    while (largest := max(sides, default=0)) > 1 and _volume(sides) > SAMPLE:
        sides[sides.index(largest)] = largest // 2
    return product(*map(range, sides))


def _volume(sides: Sequence[int]) -> int:
    volume = 1
    for side in sides:
        volume *= side
    return volume


def vector_in(ty: Type) -> VectorType | None:
    """The vector that is the element of a memref or tensor, if it has a fixed shape."""
    element = ty.element if isinstance(ty, MemRefType | TensorType) else None
    is_vector = isinstance(element, VectorType) and not any(element.scalable)
    return element if is_vector and isinstance(element, VectorType) else None


def elements_of(vector: VectorType | None) -> int:
    """Number of elements of a vector type; one for None."""
    return 1 if vector is None else prod(vector.shape)


def steps_of(vector: VectorType) -> tuple[int, ...]:
    """Strides within a vector.

    >>> from gpucodegen.ir.types import F32
    >>> steps_of(VectorType((2, 8), F32))
    (8, 1)
    """
    shape = vector.shape
    return tuple(prod(shape[i + 1 :]) for i in range(len(shape)))


def flat(ty: Type) -> Type:
    """The memref of numbers that shares the memory of a memref of vectors.

    >>> from gpucodegen.ir.types import F32
    >>> print(flat(MemRefType((4, None), VectorType((8,), F32))))
    memref<4x?x8xf32>
    """
    vector = vector_in(ty)
    if vector is None or not isinstance(ty, MemRefType):
        return ty
    shape = (*ty.shape, *vector.shape)
    layout = _layout(ty.layout, vector)
    return replace(ty, shape=shape, element=vector.element, layout=layout)


def _layout(layout: Attribute | None, vector: VectorType) -> Attribute | None:
    match layout:
        case StridedLayoutAttr(strides, offset):
            size = elements_of(vector)
            scaled = tuple(None if s is None else s * size for s in strides)
            start = None if offset is None else offset * size
            return StridedLayoutAttr((*scaled, *steps_of(vector)), start)
        case AffineMapAttr(map_):
            return AffineMapAttr(widened(map_, len(vector.shape)))
        case _:
            return layout


def widened(map_: AffineMap, count: int) -> AffineMap:
    """A map with ``count`` further dimensions that it passes through at the end."""
    total = map_.num_dims + count
    more = tuple(Dim(i) for i in range(map_.num_dims, total))
    return AffineMap(total, map_.num_syms, (*map_.results, *more))


ALLOCATIONS = frozenset({"memref.alloc", "memref.alloca"})
