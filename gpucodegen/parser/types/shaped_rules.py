"""Rules of shaped types: what they may hold, how large they are, which layouts fit."""

from __future__ import annotations

from collections.abc import Mapping

from gpucodegen import errors
from gpucodegen.ir.attributes import AffineMapAttr, Attribute, StridedLayoutAttr
from gpucodegen.ir.types import (
    ComplexType,
    DialectType,
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    Type,
    UnrankedMemRefType,
    VectorType,
)
from gpucodegen.parser.parser import Parser

_SCALARS = (IntegerType, IndexType, FloatType, DialectType)
_ELEMENTS: Mapping[str, tuple[type[Type], ...]] = {
    "vector": _SCALARS,
    "tensor": (*_SCALARS, ComplexType, VectorType),
    "memref": (*_SCALARS, ComplexType, VectorType, MemRefType, UnrankedMemRefType),
}
_MAX_EXTENT = (1 << 63) - 1


def check_element(p: Parser, kind: str, element: Type, start: int) -> None:
    """The type may be an element of a vector, tensor or memref."""
    if not isinstance(element, _ELEMENTS[kind]):
        raise errors.InvalidType(
            p.location(start),
            problem=f"{element} cannot be the element of a {kind}",
            hint="Use an integer, a float or index",
        )


def check_extent(p: Parser, extent: int, start: int) -> None:
    """The extent fits 64 bits."""
    if extent > _MAX_EXTENT:
        raise errors.TooLarge(
            p.location(start), what="an extent", size=extent, limit=_MAX_EXTENT
        )


def no_layout(p: Parser, space: Attribute | None, start: int) -> None:
    """What stands for the memory space of an unranked memref is no layout."""
    if isinstance(space, AffineMapAttr | StridedLayoutAttr):
        raise errors.InvalidType(
            p.location(start),
            problem="an unranked memref has no layout",
            hint="Remove it, or give the memref a rank",
        )


def check_layout(p: Parser, layout: Attribute | None, rank: int, start: int) -> None:
    """The layout is of the memref's rank."""
    if layout is not None and _rank_of(layout) != rank:
        raise errors.LayoutMismatch(p.location(start), layout=layout, rank=rank)


def _rank_of(layout: Attribute) -> int | None:
    if isinstance(layout, StridedLayoutAttr):
        return len(layout.strides)
    return layout.map.num_dims if isinstance(layout, AffineMapAttr) else None
