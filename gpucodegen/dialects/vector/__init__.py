"""The vector dialect: shapes and typed views.

Extents may be scalable: they grow with the machine's vector registers.
"""

from __future__ import annotations

from collections.abc import Sequence

from gpucodegen.dialects.shared.combiners import kind_word, of_kind
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
)
from gpucodegen.ir.operation import Operation
from gpucodegen.ir.types import Type, VectorType, element_type

Extent = tuple[int, bool]
"""An extent, and whether it is scalable (a multiple of ``vscale``)."""


def extents(ty: Type) -> tuple[Extent, ...]:
    """``(extent, is scalable)`` per dimension; empty for a scalar.

    >>> from gpucodegen.ir.types import INDEX
    >>> extents(VectorType((4, 8), INDEX, (False, True)))
    ((4, False), (8, True))
    """
    if not isinstance(ty, VectorType):
        return ()
    flags = ty.scalable or (False,) * len(ty.shape)
    return tuple(zip(ty.shape, flags, strict=True))


def vector_of(dims: Sequence[Extent], element: Type) -> VectorType:
    flags = tuple(scales for _, scales in dims)
    shape = tuple(count for count, _ in dims)
    return VectorType(shape, element, flags if any(flags) else ())


def vector_or_scalar(dims: Sequence[Extent], element: Type) -> Type:
    """The vector type, or the element if there are no dimensions."""
    return vector_of(dims, element) if dims else element


def scalar(ty: Type) -> Type:
    """The innermost element type, also of a memref of vectors."""
    return element_type(element_type(ty))


def is_scalable(ty: Type) -> bool:
    return any(scales for _, scales in extents(ty))


def integers(o: Operation, name: str) -> tuple[int, ...]:
    """The numbers of an attribute ``array<i64: ..>`` or ``[..]``."""
    value = o.attributes.get(name)
    if isinstance(value, DenseArrayAttr):
        return tuple(map(int, value.values))
    entries = value.values if isinstance(value, ArrayAttr) else ()
    return tuple(e.value for e in entries if isinstance(e, IntegerAttr))


def combines(kind: Attribute | None, element: Type) -> bool:
    """Whether the combining kind is valid for elements of this type."""
    return of_kind(kind_word(kind), element) is not None


def position(op: Operation) -> tuple[int, ...]:
    """The static position of an extract or insert."""
    value = op.attributes.get("static_position")
    is_array = isinstance(value, DenseArrayAttr)
    return tuple(int(v) for v in value.values) if is_array else ()


def contraction_maps(op: Operation) -> list[AffineMap]:
    """The indexing map of each operand of a ``vector.contract``."""
    entries = op.entries("indexing_maps")
    return [entry.map for entry in entries if isinstance(entry, AffineMapAttr)]


def contraction_iterators(op: Operation) -> list[str]:
    """Its iterator types, ``parallel`` or ``reduction``; None if they are invalid."""
    entries = map(str, op.entries("iterator_types"))
    return [entry.partition("<")[2].removesuffix(">") for entry in entries]
