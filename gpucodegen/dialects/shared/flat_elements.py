"""Memrefs of vectors as memrefs of what the vectors hold.

``memref<4xvector<2x8xf32>>`` lies in memory as ``memref<4x2x8xf32>``: the dimensions of
the vector follow those of the memref and lie without gaps.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod

from gpucodegen.ir.affine.expressions import Dim
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, StridedLayoutAttr
from gpucodegen.ir.types import MemRefType, TensorType, Type, VectorType


def vector_in(ty: Type) -> VectorType | None:
    """The vector that is the element of a memref or tensor, if it has a fixed shape."""
    element = ty.element if isinstance(ty, MemRefType | TensorType) else None
    is_vector = isinstance(element, VectorType) and not any(element.scalable)
    return element if is_vector and isinstance(element, VectorType) else None


def elements_of(vector: VectorType | None) -> int:
    """How many numbers a vector holds; one without a vector."""
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
    """The memref of numbers that a memref of vectors is; other types are themselves.

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
    """A map with further dimensions that it leaves as they are, after the others."""
    total = map_.num_dims + count
    more = tuple(Dim(i) for i in range(map_.num_dims, total))
    return AffineMap(total, map_.num_syms, (*map_.results, *more))
