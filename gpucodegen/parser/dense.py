"""Dense literals: nested lists, splats, hexadecimal blobs and strings."""

from __future__ import annotations

import re
import struct
from typing import TYPE_CHECKING

from gpucodegen import errors
from gpucodegen.ir.attributes import Attribute, DenseElementsAttr, Scalar
from gpucodegen.ir.types import (
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    TensorType,
    Type,
    VectorType,
)
from gpucodegen.parser import numbers

if TYPE_CHECKING:
    from gpucodegen.parser.parser import Parser

Item = tuple[str, int]
"""A written element: its text and where it starts."""

_LIMIT = 1 << 24
_OLD_TYPE = ("tensor", "vector", "memref")


def parse_dense(p: Parser, ty: Type | None) -> Attribute:
    """``dense<literal> : type``; old text writes ``dense<type, literal>``."""
    p.advance()
    p.expect("<")
    if p.token in _OLD_TYPE:
        ty = p.type()
        p.expect(",")
    items: list[Item] = []
    begin = p.start
    shape = () if p.token == ">" else parse_literal(p, items)
    is_empty = not items and shape == ()
    p.close("<", ">")
    if p.token == ":":
        p.advance()
        ty = p.type()
    return _elements(
        p, _shaped(p, ty, begin), items, (0,) if is_empty else shape, begin
    )


_Shaped = TensorType | VectorType


def _shaped(p: Parser, ty: Type | None, begin: int) -> _Shaped:
    if isinstance(ty, VectorType) or (
        isinstance(ty, TensorType) and None not in ty.shape
    ):
        return ty
    raise errors.InvalidAttribute(
        p.location(begin),
        problem="a dense literal needs a vector or tensor type of static shape",
        hint="Write dense<...> : tensor<4xf32>",
    )


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


def _elements(
    p: Parser, ty: _Shaped, items: list[Item], shape: tuple[int, ...], begin: int
) -> Attribute:
    element = ty.element
    is_string = len(items) == 1 and items[0][0].startswith('"0x')
    is_blob = is_string and isinstance(element, FloatType | IntegerType | IndexType)
    if is_blob and shape == ():
        return DenseElementsAttr(_blob(p, items[0], ty), ty, element)
    if shape not in ((), ty.shape):
        raise errors.ShapeMismatch(p.location(begin), actual=_shown(shape), type=ty)
    values = tuple(_value(p, item, element) for item in items)
    if len(values) > 1 and all(repr(v) == repr(values[0]) for v in values):
        values = values[:1]
    return DenseElementsAttr(values, ty, element)


def _shown(shape: tuple[int, ...]) -> str:
    return "x".join(map(str, shape))


def _value(p: Parser, item: Item, element: Type) -> Scalar:
    text, start = item
    is_number = isinstance(element, FloatType | IntegerType | IndexType)
    if is_number and text[0] in '"(':
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=text, type=element, example="a number"
        )
    if text[0] == '"':
        from gpucodegen.parser.lexer import unquote

        return unquote(text)
    if isinstance(element, ComplexType):
        return _complex(p, item, element)
    if text in ("true", "false"):
        is_bool = isinstance(element, IntegerType) and element.width == 1
        if not is_bool:
            raise errors.LiteralTypeMismatch(
                p.location(start), literal=text, type=element, example="a number"
            )
        return int(text == "true")
    negative = text[0] == "-"
    return numbers.literal_value(p, text.lstrip("-"), element, start, negative=negative)


_NUMBER = r"(-?(?:0x[0-9a-fA-F]+|\d+(?:\.\d*(?:[eE][-+]?\d+)?)?))"
_PAIR = re.compile(rf"\(\s*{_NUMBER}\s*,\s*{_NUMBER}\s*\)", re.ASCII)


def _complex(p: Parser, item: Item, ty: ComplexType) -> complex:
    text, start = item
    match = _PAIR.fullmatch(text)
    if match is None:
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=text, type=ty, example="(1.0, 0.0)"
        )
    real, imaginary = (
        float(_value(p, (part, start), ty.element))  # type: ignore[arg-type]
        for part in match.groups()
    )
    return complex(real, imaginary)


_LAYOUTS = {"f16": "e", "f32": "f", "f64": "d"}


def _blob(p: Parser, item: Item, ty: _Shaped) -> tuple[Scalar, ...]:
    """Little-endian elements from a hexadecimal string."""
    text, start = item
    try:
        data = bytes.fromhex(text[3:-1])
    except ValueError:
        data = b""
    count = 1
    for extent in ty.shape:
        count *= extent or 0
    values = _unpacked(data, ty.element)
    if values is None or len(values) not in (1, count) or not values:
        raise errors.InvalidAttribute(
            p.location(start),
            problem=f"{len(data)} bytes do not make a {ty}",
            hint="Give the little-endian bytes of every element, or of one",
        )
    is_splat = all(repr(v) == repr(values[0]) for v in values)
    return values[:1] if is_splat else values


def _unpacked(data: bytes, element: Type) -> tuple[Scalar, ...] | None:
    if isinstance(element, FloatType):
        code = _LAYOUTS.get(element.name)
        size = 2 if element.name == "bf16" else struct.calcsize(code or "B")
        if len(data) % size:
            return None
        if element.name == "bf16":
            halves = struct.unpack(f"<{len(data) // 2}H", data)
            return tuple(
                struct.unpack("<f", struct.pack("<I", bits << 16))[0] for bits in halves
            )
        return struct.unpack(f"<{len(data) // size}{code}", data) if code else None
    width = element.width if isinstance(element, IntegerType) else 64
    size = max(1, (width + 7) // 8)
    if len(data) % size:
        return None
    return tuple(
        int.from_bytes(data[i : i + size], "little", signed=width > 1)
        for i in range(0, len(data), size)
    )
