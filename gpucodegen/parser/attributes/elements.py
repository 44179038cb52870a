"""Constants of a shaped type that are not dense lists, and distinct attributes."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.ir.attributes import Attribute, TypeAttr
from gpucodegen.ir.constants.elements import (
    DenseResourceAttr,
    DistinctAttr,
    OpaqueElementsAttr,
    SparseElementsAttr,
)
from gpucodegen.ir.data.packing import element_size
from gpucodegen.ir.types import TensorType, Type, element_type
from gpucodegen.parser.attributes import dense
from gpucodegen.parser.definitions import resources
from gpucodegen.parser.parser import Parser

_SHAPED = ("tensor", "vector", "memref")


def _stated(p: Parser, ty: Type | None) -> tuple[Type, int]:
    """``: type`` and where it stands, or the type that is known anyway."""
    if ty is None or p.token == ":":
        p.expect(":")
        start = p.start
        return p.type(), start
    return ty, p.previous_end


# -- sparse ----------------------------------------------------------------------------


def parse_sparse(p: Parser, ty: Type | None) -> Attribute:
    """``sparse<indices, values> : type``; old text writes the type first."""
    p.advance()
    p.expect("<")
    if p.token in _SHAPED:
        ty = p.type()
        p.expect(",")
    places: list[dense.Item] = []
    values: list[dense.Item] = []
    begin = value_begin = p.start
    shape, value_shape = (0,), (0,)
    if p.token != ">":
        shape = dense.parse_literal(p, places)
        p.expect(",")
        value_begin = p.start
        value_shape = dense.parse_literal(p, values)
    p.close("<", ">")
    ty, type_start = _stated(p, ty)
    whole = dense.static_shaped(p, ty, type_start)
    found = _places(p, places, shape, dense.extents(whole), begin)
    count = len(found)
    if value_shape not in ((), (count,)):
        problem = f"there are not {count} values for {count} places"
        raise _wrong_sparse(p, value_begin, problem)
    listed = TensorType((count,), whole.element)
    given = dense.elements(p, listed, values, value_shape, value_begin)
    return SparseElementsAttr(tuple(found), given, whole)


def _places(
    p: Parser,
    items: list[dense.Item],
    written: tuple[int, ...],
    shape: tuple[int, ...],
    start: int,
) -> list[tuple[int, ...]]:
    """The indices of every element that is given; one number stands for all."""
    rank = len(shape)
    if written == ():
        items = items * rank
    elif items and written[1:] != (rank,) and (written[1:], rank) != ((), 1):
        raise _wrong_sparse(p, start, f"each place needs {rank} indices")
    for i, (text, place) in enumerate(items):
        extent = shape[i % rank] if rank else 1
        if not text.isdigit() or not int(text) < extent:
            raise _wrong_sparse(p, place, f"index {text} is outside [0, {extent})")
    indices = [int(text) for text, _ in items]
    return [tuple(indices[i : i + rank]) for i in range(0, len(indices), rank or 1)]


def _wrong_sparse(p: Parser, start: int, problem: str) -> errors.ParseError:
    return errors.InvalidAttribute(
        p.location(start),
        problem=problem,
        hint="Write sparse<[[0, 1], [2, 3]], [1, 2]> : tensor<3x4xi32>",
    )


# -- resources and opaque data ---------------------------------------------------------


def parse_dense_resource(p: Parser, ty: Type | None) -> Attribute:
    """``dense_resource<key> : type``, with the data from the file's last section."""
    begin = p.start
    p.advance()
    p.expect("<")
    key = p.string() if p.token[:1] == '"' else p.keyword("the key of a resource")
    p.close("<", ">")
    ty, place = _stated(p, ty)
    if element_type(ty) is ty:
        raise errors.InvalidAttribute(
            p.location(place),
            problem=f"a resource is of no type {ty}",
            hint="Write a tensor type",
        )
    data = resources.blob(p, key)
    if data is not None:
        _check_size(p, len(data), ty, begin)
    return DenseResourceAttr(key, ty, data)


def _check_size(p: Parser, given: int, ty: Type, start: int) -> None:
    """The data are as long as the type asks, or one element long."""
    size = element_size(element_type(ty))
    shape: tuple[int | None, ...] = getattr(ty, "shape", (None,))
    count = 1
    for extent in shape:
        count *= -1 if extent is None else extent
    if size and count >= 0 and given not in (size, size * count):
        raise errors.InvalidAttribute(
            p.location(start),
            problem=f"the resource has {given} bytes, {ty} has {size * count}",
            hint="Correct the type or the data",
        )


def parse_opaque(p: Parser, ty: Type | None) -> Attribute:
    """``opaque<"dialect", "0x01"> : type``, the type first in old text; or a type."""
    begin = p.start
    p.advance()
    p.expect("<")
    dialect = p.string()
    p.expect(",")
    if p.token in _SHAPED:
        ty = p.type()
        p.expect(",")
    start, text = p.start, p.string()
    p.close("<", ">")
    if ty is None and p.token != ":":
        p.move_to(begin)
        return TypeAttr(p.type())
    if dense.hex_bytes(text) is None:
        raise errors.InvalidAttribute(
            p.location(start),
            problem="opaque elements are a hexadecimal string",
            hint='Write "0x" and two digits per byte',
        )
    return OpaqueElementsAttr(dialect, text, _stated(p, ty)[0])


def parse_distinct(p: Parser, ty: Type | None) -> Attribute:
    """``distinct[0]<attribute>``; one number stands for one attribute."""
    del ty
    p.advance()
    p.expect("[")
    if not p.token[:1].isdigit():
        raise p.unexpected("a number")
    number = p.integer()
    p.close("[", "]")
    p.expect("<")
    body = p.start
    attribute = None if p.token == ">" else p.attribute()
    p.close("<", ">")
    known = p.distinct.setdefault(number, DistinctAttr(number, attribute))
    if known.attribute != attribute:
        raise errors.InvalidAttribute(
            p.location(body),
            problem=f"distinct[{number}] is {known.attribute} elsewhere",
            hint="Use another number",
        )
    return known
