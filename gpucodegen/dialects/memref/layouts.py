"""Memref layouts in strided form: an offset and one stride per dimension."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpucodegen.ir.affine import AffineExpr, AffineMap, Binary, Const, Dim, leaves
from gpucodegen.ir.attributes import AffineMapAttr, StridedLayoutAttr
from gpucodegen.ir.types import MemRefType, Shape
from gpucodegen.records import dataclass

Extent = int | None


@dataclass(frozen=True, slots=True)
class Strided:
    """Element ``i`` is ``offset + sum(i[d] * strides[d])``; None is unknown."""

    offset: Extent
    strides: Shape


def strided_form(ty: MemRefType) -> Strided | None:
    """Offset and strides of a memref type; None for any other layout.

    >>> from gpucodegen.ir.types import F32
    >>> strided_form(MemRefType((None, 4), F32))
    Strided(offset=0, strides=(4, 1))
    """
    match ty.layout:
        case None:
            return Strided(0, row_major(ty.shape))
        case StridedLayoutAttr(strides, offset):
            return Strided(offset, strides)
        case AffineMapAttr(layout) if len(layout.results) == 1:
            return _linear(layout)
        case _:
            return None


def open_layout(ty: MemRefType) -> StridedLayoutAttr | None:
    """The strided layout of an argument, also of a linear map with positive factors.

    >>> from gpucodegen.ir.affine import Sym
    >>> from gpucodegen.ir.types import F32
    >>> rows = AffineMap(2, 1, (Dim(0) * Sym(0) + Dim(1),))
    >>> print(open_layout(MemRefType((None, None), F32, AffineMapAttr(rows))))
    strided<[?, 1]>
    """
    if isinstance(ty.layout, StridedLayoutAttr):
        return ty.layout
    if not isinstance(ty.layout, AffineMapAttr) or ty.layout.map.is_identity:
        return None
    form = strided_form(ty)
    if form is None or any(step is not None and step <= 0 for step in form.strides):
        return None
    return StridedLayoutAttr(form.strides, form.offset)


def with_strides(ty: MemRefType, shape: Shape, form: Strided) -> MemRefType:
    """The memref type with another shape and a strided layout."""
    layout = StridedLayoutAttr(form.strides, form.offset)
    return replace(ty, shape=shape, layout=layout)


def is_row_major(ty: MemRefType) -> bool:
    """Whether the layout is the identity map."""
    is_unit = ty.rank == 1 and ty.layout == StridedLayoutAttr((1,), 0)
    return ty.layout is None or is_unit


def symbols_of(ty: MemRefType) -> int:
    """Number of symbols of the layout, which an allocation must bind."""
    match ty.layout:
        case AffineMapAttr(layout):
            return layout.num_syms
        case StridedLayoutAttr(strides, offset):
            return (*strides, offset).count(None)
        case _:
            return 0


def row_major(shape: Shape) -> Shape:
    """Strides of elements in row-major order."""
    strides: list[Extent] = []
    step: Extent = 1
    for extent in reversed(shape):
        strides.append(step)
        step = times(step, extent)
    return tuple(reversed(strides))


def product(extents: Iterable[Extent]) -> Extent:
    """The product of extents, None if a factor is unknown."""
    result: Extent = 1
    for extent in extents:
        result = times(result, extent)
    return result


def times(a: Extent, b: Extent) -> Extent:
    """``a * b``, None if either is unknown."""
    return None if a is None or b is None else a * b


def plus(a: Extent, b: Extent) -> Extent:
    """``a + b``, None if either is unknown."""
    return None if a is None or b is None else a + b


def _linear(layout: AffineMap) -> Strided | None:
    steps: list[Extent] = [0] * (layout.num_dims + 1)
    if not _accumulate(layout.results[0], 1, steps):
        return None
    return Strided(steps[-1], tuple(steps[:-1]))


def _accumulate(expr: AffineExpr, factor: Extent, steps: list[Extent]) -> bool:
    """Add ``factor * expr`` to ``steps``: one stride per dimension, the offset last."""
    match expr:
        case Dim(position):
            steps[position] = plus(steps[position], factor)
        case Const(value):
            steps[-1] = plus(steps[-1], times(factor, value))
        case Binary("+", lhs, rhs):
            return _accumulate(lhs, factor, steps) and _accumulate(rhs, factor, steps)
        case Binary("*", lhs, Const(value)):
            return _accumulate(lhs, times(factor, value), steps)
        case Binary("*", lhs, rhs) if not _has_dims(rhs):
            return _accumulate(lhs, None, steps)
        case Binary("*", lhs, rhs) if not _has_dims(lhs):
            return _accumulate(rhs, None, steps)
        case _:
            steps[-1] = None
            return not _has_dims(expr)
    return True


def _has_dims(expr: AffineExpr) -> bool:
    return any(isinstance(leaf, Dim) for leaf in leaves(expr))
