"""Shapes of vectors, some of whose extents grow with the machine's registers."""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.ir.attributes import ArrayAttr, Attribute, DenseArrayAttr, IntegerAttr
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, VectorType, element_type

Extent = tuple[int, bool]
"""How many, and whether that many times the machine's factor."""


def extents(ty: Type) -> tuple[Extent, ...]:
    """Of each dimension; none for a scalar.

    >>> from gpucodegen.ir.types import INDEX
    >>> extents(VectorType((4, 8), INDEX, (False, True)))
    ((4, False), (8, True))
    """
    if not isinstance(ty, VectorType):
        return ()
    flags = ty.scalable or (False,) * len(ty.shape)
    return tuple(zip(ty.shape, flags, strict=True))


def vector_of(dims: Sequence[Extent], element: Type) -> VectorType:
    """The vector type of these extents."""
    flags = tuple(scales for _, scales in dims)
    shape = tuple(count for count, _ in dims)
    return VectorType(shape, element, flags if any(flags) else ())


def vector_or_scalar(dims: Sequence[Extent], element: Type) -> Type:
    """The vector type, or the element if there are no dimensions."""
    return vector_of(dims, element) if dims else element


def scalar(ty: Type) -> Type:
    """The innermost element, also of a memref of vectors."""
    return element_type(element_type(ty))


def is_scalable(ty: Type) -> bool:
    """Whether some extent grows with the machine."""
    return any(scales for _, scales in extents(ty))


def integers(o: Operation, name: str) -> tuple[int, ...]:
    """The numbers of an attribute ``array<i64: ..>`` or ``[..]``."""
    value = o.attributes.get(name)
    if isinstance(value, DenseArrayAttr):
        return tuple(map(int, value.values))
    entries = value.values if isinstance(value, ArrayAttr) else ()
    return tuple(e.value for e in entries if isinstance(e, IntegerAttr))


def combines(kind: Attribute | None, element: Type) -> bool:
    """Whether elements of this type can be combined in this way."""
    return of_kind(kind_word(kind), element) is not None
