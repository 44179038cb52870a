"""Literals that are checked and kept as text: sparse, distinct, resources, opaque."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.ir.attributes import Attribute, OpaqueAttr
from gpucodegen.ir.types import TensorType, Type, VectorType
from gpucodegen.parser.dense import Item, parse_literal

if TYPE_CHECKING:
    from gpucodegen.parser.parser import Parser


def opaque(p: Parser, ty: Type | None = None) -> Attribute:
    """``opaque<..> : type``; the type is written, so ``ty`` is not asked."""
    ty = None
    begin = p.start
    p.advance()
    while p.token in ("<", "["):
        p.balanced()
    stop = p.previous_end
    if p.token == ":":
        p.advance()
        ty = p.type()
        stop = p.previous_end
    return OpaqueAttr(p.text[begin:stop], ty)


def distinct(p: Parser, ty: Type | None = None) -> Attribute:
    """``distinct[0]<attribute>``; one number stands for one attribute."""
    start = p.start
    p.advance()
    p.expect("[")
    number = p.integer()
    p.close("[", "]")
    body = p.start
    text = p.balanced() if p.token == "<" else "<>"
    if p.distinct.setdefault(number, text) != text:
        raise errors.InvalidAttribute(
            p.location(body + 1),
            problem=f"distinct[{number}] is {p.distinct[number][1:-1]} elsewhere",
            hint="Use another number",
        )
    p.move_to(start)
    return opaque(p, ty)


def dense_resource(p: Parser, ty: Type | None = None) -> Attribute:
    """``dense_resource<key> : type``."""
    start = p.start
    p.advance()
    p.expect("<")
    if p.token[:1] == '"':
        p.string()
    else:
        p.keyword("the key of a resource")
    p.close("<", ">")
    p.expect(":")
    place = p.start
    shaped = p.type()
    if not isinstance(shaped, VectorType | TensorType):
        raise errors.InvalidAttribute(
            p.location(place),
            problem=f"a resource is of no type {shaped}",
            hint="Write a tensor type",
        )
    p.move_to(start)
    return opaque(p, ty)


# -- sparse ----------------------------------------------------------------------------


def sparse(p: Parser, ty: Type | None = None) -> Attribute:
    """``sparse<indices, values> : type``: indices inside the shape, a value each."""
    start = p.start
    _check_sparse(p)
    p.move_to(start)
    return opaque(p, ty)


def _check_sparse(p: Parser) -> None:
    """Read the literal; ``sparse<type, indices, values>`` is not looked at."""
    p.advance()
    p.expect("<")
    if p.token in ("tensor", "vector", ">"):
        return
    indices: list[Item] = []
    index_start, index_shape = p.start, parse_literal(p, indices)
    p.expect(",")
    value_start, value_shape = p.start, parse_literal(p, [])
    p.close("<", ">")
    p.expect(":")
    shape = _static_shape(p)
    count = index_shape[0] if index_shape else 1
    if value_shape not in ((), (count,)):
        raise _wrong(p, value_start, f"there are not {count} values for {count} places")
    if index_shape[1:] not in ((), (len(shape),)):
        raise _wrong(p, index_start, f"each place needs {len(shape)} indices")
    _check_inside(p, indices, shape)


def _static_shape(p: Parser) -> tuple[int, ...]:
    start = p.start
    ty = p.type()
    if isinstance(ty, TensorType | VectorType) and None not in ty.shape:
        return tuple(extent or 0 for extent in ty.shape)
    raise _wrong(p, start, f"{ty} is not a vector or tensor of static shape")


def _check_inside(p: Parser, indices: list[Item], shape: tuple[int, ...]) -> None:
    for i, (text, start) in enumerate(indices):
        extent = shape[i % len(shape)] if shape else 1
        if not text.isdigit() or not int(text) < extent:
            raise _wrong(p, start, f"index {text} is outside [0, {extent})")


def _wrong(p: Parser, start: int, problem: str) -> errors.ParseError:
    return errors.InvalidAttribute(
        p.location(start),
        problem=problem,
        hint="Write sparse<[[0, 1], [2, 3]], [1, 2]> : tensor<3x4xi32>",
    )
