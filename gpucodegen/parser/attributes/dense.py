"""Dense literals: nested lists, splats, hexadecimal blobs and strings."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from gpucodegen import errors
from gpucodegen.ir.attributes import DenseElementsAttr
from gpucodegen.ir.data.packing import code_of, element_size, join, part_type
from gpucodegen.ir.types import (
    I1,
    ComplexType,
    FloatType,
    MemRefType,
    TensorType,
    Type,
    VectorType,
)
from gpucodegen.parser.attributes import numbers
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.tokens.strings import unquote

Item = tuple[str, int]
"""A written element: its text and where it starts."""

Shaped = TensorType | VectorType | MemRefType

_LIMIT = 1 << 24
_OLD_TYPE = ("tensor", "vector", "memref")


def parse_dense(p: Parser, ty: Type | None) -> DenseElementsAttr:
    """``dense<literal> : type``; old text writes ``dense<type, literal>``."""
    p.advance()
    p.expect("<")
    if p.token in _OLD_TYPE:
        ty = p.type()
        p.expect(",")
    items: list[Item] = []
    begin = p.start
    shape = () if p.token == ">" else parse_literal(p, items)
    p.close("<", ">")
    if p.token == ":":
        p.advance()
        ty = p.type()
    return elements(p, static_shaped(p, ty, begin), items, shape, begin)


def static_shaped(p: Parser, ty: Type | None, start: int) -> Shaped:
    """The type, which must give every extent."""
    if isinstance(ty, Shaped) and None not in ty.shape:
        return ty
    raise errors.InvalidAttribute(
        p.location(start),
        problem="a dense literal needs a vector or tensor type of static shape",
        hint="Write dense<...> : tensor<4xf32>",
    )


def extents(ty: Shaped) -> tuple[int, ...]:
    """The extents of a type of static shape."""
    return tuple(extent or 0 for extent in ty.shape)


# -- reading ---------------------------------------------------------------------------


def parse_literal(p: Parser, items: list[Item]) -> tuple[int, ...]:
    """Collect the elements; returns the shape of the nesting."""
    if p.token == "[":
        with p.nested():
            return _list(p, items)
    items.append(_item(p))
    if len(items) > _LIMIT:
        raise errors.TooLarge(
            p.location(), what="a dense literal", size=len(items), limit=_LIMIT
        )
    return ()


def _list(p: Parser, items: list[Item]) -> tuple[int, ...]:
    begin = p.start
    shapes = p.listed("[", "]", lambda: parse_literal(p, items))
    if not shapes:
        return (0,)
    if any(shape != shapes[0] for shape in shapes):
        raise errors.InvalidAttribute(
            p.location(begin),
            problem="the rows of this literal differ in shape",
            hint="Give every row as many elements",
        )
    return (len(shapes), *shapes[0])


def _item(p: Parser) -> Item:
    start = p.start
    if p.token == "(":
        return p.balanced(), start
    if p.token == "-":
        p.advance()
        if not p.token[:1].isdigit():
            raise p.unexpected("a number")
        return f"-{p.advance()}", start
    if p.token[:1] == '"' or p.token in ("true", "false") or p.token[:1].isdigit():
        return p.advance(), start
    raise p.unexpected("an element of a dense literal")


# -- meaning ---------------------------------------------------------------------------


def elements(
    p: Parser, ty: Shaped, items: Sequence[Item], shape: tuple[int, ...], start: int
) -> DenseElementsAttr:
    """The literal of these items, nested as ``shape`` tells."""
    count = math.prod(extents(ty))
    is_splat = len(items) == 1 and shape == ()
    fits = shape == ty.shape if shape else not count
    if not is_splat and not fits:
        shown = "x".join(map(str, shape or (0,)))
        raise errors.ShapeMismatch(p.location(start), actual=shown, type=ty)
    if not element_size(ty.element):
        return _strings(p, ty, items)
    if is_splat and items[0][0].startswith('"0x'):
        return _blob(p, items[0], ty, count)
    data = packed(p, items, ty.element)
    return DenseElementsAttr.of_bytes(data if count else b"", ty, ty.element)


def _strings(p: Parser, ty: Shaped, items: Sequence[Item]) -> DenseElementsAttr:
    for text, start in items:
        if text[0] != '"':
            raise _wrong_kind(p, text, ty.element, start, '"text"')
    values = tuple(unquote(text) for text, _ in items)
    is_splat = len(set(values)) == 1
    return DenseElementsAttr(values[:1] if is_splat else values, ty, ty.element)


def packed(p: Parser, items: Sequence[Item], element: Type) -> bytes:
    """The bytes of written elements."""
    part = part_type(element)
    if isinstance(element, ComplexType):
        items = [half for item in items for half in _halves(p, item, element)]
    return join([_code(p, text, start, part) for text, start in items], part)


def _code(p: Parser, text: str, start: int, part: Type) -> int:
    """The bits of one number."""
    if text in ("true", "false") and part == I1:
        return int(text == "true")
    if text[0] in '"(tf':
        raise _wrong_kind(p, text, part, start, "a number")
    negative = text[0] == "-"
    token = text.lstrip("-")
    if isinstance(part, FloatType):
        return numbers.float_bits(p, token, part, start, negative=negative)
    value = numbers.literal_value(p, token, part, start, negative=negative)
    return code_of(value, part)


def _wrong_kind(
    p: Parser, text: str, ty: Type, start: int, example: str
) -> errors.ParseError:
    return errors.LiteralTypeMismatch(
        p.location(start), literal=text, type=ty, example=example
    )


_NUMBER = r"(-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d*(?:[eE][-+]?\d+)?)?)|true|false)"
_PAIR = re.compile(rf"\(\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\)", re.ASCII)


def _halves(p: Parser, item: Item, ty: ComplexType) -> list[Item]:
    text, start = item
    match = _PAIR.fullmatch(text)
    if match is None:
        raise _wrong_kind(p, text, ty, start, "(1.0, 0.0)")
    return [(match[1], start), (match[2], start)]


def _blob(p: Parser, item: Item, ty: Shaped, count: int) -> DenseElementsAttr:
    """Little-endian elements from a hexadecimal string."""
    text, start = item
    size = element_size(ty.element)
    data = hex_bytes(text[1:-1])
    if data is None or len(data) not in (size * min(count, 1), size * count):
        given = "This text" if data is None else f"{len(data)} bytes"
        raise errors.InvalidAttribute(
            p.location(start),
            problem=f"{given} cannot make a {ty}",
            hint="Give the little-endian bytes of every element, or of one",
        )
    return DenseElementsAttr.of_bytes(data, ty, ty.element)


def hex_bytes(text: str) -> bytes | None:
    """The bytes that ``0x0A1B`` spells, if it does."""
    try:
        return bytes.fromhex(text[2:]) if text.startswith("0x") else None
    except ValueError:
        return None
