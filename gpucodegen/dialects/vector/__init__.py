"""The vector dialect: shapes, typed views and builders.

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
    OpaqueAttr,
)
from gpucodegen.ir.locations import UNKNOWN, Location
from gpucodegen.ir.operation import Operation, Value
from gpucodegen.ir.types import I64, Type, VectorType, element_type

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


ADD_KIND = OpaqueAttr("#vector.kind<add>")


def load(
    memref: Value,
    indices: Sequence[Value],
    ty: VectorType,
    *,
    name: str = "",
    location: Location = UNKNOWN,
) -> Operation:
    """``vector.load``: consecutive elements of the last dimensions."""
    return _op("vector.load", (memref, *indices), ty, name, location)


def store(
    vector: Value,
    memref: Value,
    indices: Sequence[Value],
    *,
    location: Location = UNKNOWN,
) -> Operation:
    """``vector.store``."""
    return Operation("vector.store", (vector, memref, *indices), location=location)


def broadcast(
    source: Value, ty: VectorType, *, name: str = "", location: Location = UNKNOWN
) -> Operation:
    """``vector.broadcast``."""
    return _op("vector.broadcast", (source,), ty, name, location)


def from_elements(
    elements: Sequence[Value],
    ty: VectorType,
    *,
    name: str = "",
    location: Location = UNKNOWN,
) -> Operation:
    """``vector.from_elements``: scalars to a vector, row-major."""
    return _op("vector.from_elements", elements, ty, name, location)


def fma(
    lhs: Value, rhs: Value, acc: Value, *, name: str = "", location: Location = UNKNOWN
) -> Operation:
    """``vector.fma``: ``lhs * rhs + acc``."""
    return _op("vector.fma", (lhs, rhs, acc), acc.type, name, location)


def outerproduct(
    lhs: Value, rhs: Value, acc: Value, *, name: str = "", location: Location = UNKNOWN
) -> Operation:
    """``vector.outerproduct``: ``acc + lhs (x) rhs``."""
    kind: dict[str, Attribute] = {"kind": ADD_KIND}
    return _op("vector.outerproduct", (lhs, rhs, acc), acc.type, name, location, kind)


def extract(
    vector: Value,
    position: Sequence[int],
    *,
    name: str = "",
    location: Location = UNKNOWN,
) -> Operation:
    """``vector.extract`` at a static position."""
    ty = _sub_type(vector.type, len(position))
    return _op(
        "vector.extract", (vector,), ty, name, location, _static_position(position)
    )


def insert(
    value: Value,
    vector: Value,
    position: Sequence[int],
    *,
    name: str = "",
    location: Location = UNKNOWN,
) -> Operation:
    """``vector.insert`` at a static position."""
    return _op(
        "vector.insert",
        (value, vector),
        vector.type,
        name,
        location,
        _static_position(position),
    )


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


def _static_position(entries: Sequence[int]) -> dict[str, Attribute]:
    return {"static_position": DenseArrayAttr(I64, tuple(entries))}


def _sub_type(ty: Type, depth: int) -> Type:
    if not isinstance(ty, VectorType):
        return ty
    return VectorType(ty.shape[depth:], ty.element) if ty.shape[depth:] else ty.element


def _op(
    op: str,
    operands: Sequence[Value],
    ty: Type,
    name: str,
    location: Location,
    attributes: dict[str, Attribute] | None = None,
) -> Operation:
    result = Value(ty, name, location)
    return Operation(
        op, tuple(operands), (result,), attributes or {}, location=location
    )
