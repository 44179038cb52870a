"""Parser of number literals and of constants of a shaped type.

Constants are dense (nested lists, splats, hexadecimal blobs, strings), sparse,
resources or opaque; distinct attributes are read here too.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from fractions import Fraction

from gpucodegen import errors
from gpucodegen.ir.attributes import (
    Attribute,
    DenseElementsAttr,
    FloatAttr,
    IntegerAttr,
    TypeAttr,
)
from gpucodegen.ir.constants import (
    DenseResourceAttr,
    DistinctAttr,
    OpaqueElementsAttr,
    SparseElementsAttr,
)
from gpucodegen.ir.literals import code_of, element_size, join, part_type, wrapped
from gpucodegen.ir.number_formats import FORMATS, FloatFormat, of_bits, to_bits
from gpucodegen.ir.types import (
    F64,
    I1,
    I64,
    ComplexType,
    FloatType,
    IndexType,
    IntegerType,
    MemRefType,
    TensorType,
    Type,
    VectorType,
    element_type,
)
from gpucodegen.parser import definitions
from gpucodegen.parser.lexer import unquote
from gpucodegen.parser.parser import Parser


def parse_number(p: Parser, ty: Type | None = None) -> Attribute:
    """``-1.5 : f32``, ``42``, ``0x7F800000 : f32``; ``ty`` if none is written."""
    start = p.start
    negative = p.accept("-")
    token = p.token
    if not token[:1].isdigit():
        raise p.unexpected("a number")
    p.advance()
    if p.accept(":"):
        ty = p.type()
    if ty is None:
        ty = F64 if "." in token else I64
    if isinstance(ty, FloatType):
        return float_attribute(float_bits(p, token, ty, start, negative=negative), ty)
    return IntegerAttr(int(literal_value(p, token, ty, start, negative=negative)), ty)


def float_attribute(bits: int, ty: FloatType) -> FloatAttr:
    value = of_bits(bits, ty.name)
    is_exact = to_bits(value, ty.name) == bits
    return FloatAttr(value, ty, None if is_exact else bits)


def parse_scalar(p: Parser, ty: Type) -> int | float:
    """The bare literal at a known scalar type."""
    start = p.start
    if p.token in ("true", "false"):
        if ty != I1:
            raise _wrong_number(p, p.token, ty, start)
        return int(p.advance() == "true")
    negative = p.accept("-")
    token = p.token
    if not token[:1].isdigit():
        raise p.unexpected(f"a literal of type {ty}")
    p.advance()
    return literal_value(p, token, ty, start, negative=negative)


def literal_value(
    p: Parser, token: str, ty: Type, start: int, *, negative: bool = False
) -> int | float:
    """Value of a number token at a type, checked against the type's range."""
    if isinstance(ty, FloatType):
        return of_bits(float_bits(p, token, ty, start, negative=negative), ty.name)
    if not isinstance(ty, IntegerType | IndexType):
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=token, type=ty, example="a number of that type"
        )
    if "." in token:
        raise _wrong_number(p, token, ty, start)
    value = -p.to_int(token) if negative else p.to_int(token)
    return _in_range(p, value, ty, start)


def _wrong_number(p: Parser, token: str, ty: Type, start: int) -> errors.ParseError:
    example = "1.0" if isinstance(ty, FloatType) else "1"
    return errors.LiteralTypeMismatch(
        p.location(start), literal=token, type=ty, example=example
    )


def _in_range(p: Parser, value: int, ty: IntegerType | IndexType, start: int) -> int:
    """The value as its type stores it: signless ``255 : i8`` is -1."""
    if isinstance(ty, IndexType):
        width, signedness = 64, "s"
    else:
        width, signedness = ty.width, ty.signedness
    half = 1 << width >> 1
    low = 0 if signedness == "u" else -half
    high = half - 1 if signedness == "s" else (1 << width) - 1
    if not low <= value <= high:
        raise errors.LiteralOutOfRange(p.location(start), literal=value, type=ty)
    return value & 1 if ty == I1 else wrapped(value, width, signedness)


def float_bits(
    p: Parser, token: str, ty: FloatType, start: int, *, negative: bool
) -> int:
    if token.startswith("0x"):
        if negative:
            raise _wrong_number(p, f"-{token}", ty, start)
        return _written_bits(p, token, ty, start)
    if "." not in token:
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=token, type=ty, example=f"{token}.0"
        )
    if negative and not FORMATS[ty.name].is_signed:
        raise errors.LiteralOutOfRange(p.location(start), literal=f"-{token}", type=ty)
    value = _exact(token, ty)
    return to_bits(-value if negative else value, ty.name)


def _exact(token: str, ty: FloatType) -> float | Fraction:
    """A decimal number, exact where double rounding could change the result."""
    value = float(token)
    if ty == F64 or _is_safe(value, FORMATS[ty.name]) or not token.strip("0."):
        return value
    exponent = token.lower().partition("e")[2]
    is_sane = len(exponent) < _EXPONENT_DIGITS and len(token) < _EXACT_DIGITS
    return Fraction(token) or value if is_sane else value


def _is_safe(value: float, format_: FloatFormat) -> bool:
    """Whether a second rounding is safe: no halfway point, no limit of the format."""
    dropped = FORMATS["f64"].fraction - format_.fraction
    tail = to_bits(value, "f64") & ((1 << max(dropped, 0)) - 1)
    is_halfway = dropped < 1 or tail == 1 << (dropped - 1)
    return not is_halfway and 2.0**format_.low <= abs(value) < math.inf


# Longer literals are not evaluated exactly: they keep the value of the double.
_EXPONENT_DIGITS = 6
_EXACT_DIGITS = 200


def _written_bits(p: Parser, token: str, ty: FloatType, start: int) -> int:
    bits = p.to_int(token)
    if bits >> FORMATS[ty.name].width:
        raise errors.LiteralOutOfRange(p.location(start), literal=token, type=ty)
    return bits


Item = tuple[str, int]
"""A written element: its text and offset."""

Shaped = TensorType | VectorType | MemRefType

_LIMIT = 1 << 24  # elements of a dense literal
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
    if p.accept(":"):
        ty = p.type()
    return elements(p, static_shaped(p, ty, begin), items, shape, begin)


def static_shaped(p: Parser, ty: Type | None, start: int) -> Shaped:
    """The type, which must have static extents only."""
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
    """Collect the elements; return the shape of the nested lists."""
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
    if p.accept("-"):
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
    """The literal with these items, nested as ``shape`` tells."""
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
    part = part_type(element)
    if isinstance(element, ComplexType):
        items = [half for item in items for half in _halves(p, item, element)]
    return join([_code(p, text, start, part) for text, start in items], part)


def _code(p: Parser, text: str, start: int, part: Type) -> int:
    if text in ("true", "false") and part == I1:
        return int(text == "true")
    if text[0] in '"(tf':
        raise _wrong_kind(p, text, part, start, "a number")
    negative = text[0] == "-"
    token = text.lstrip("-")
    if isinstance(part, FloatType):
        return float_bits(p, token, part, start, negative=negative)
    value = literal_value(p, token, part, start, negative=negative)
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
    """The bytes of ``0x0A1B``, None for other text."""
    try:
        return bytes.fromhex(text[2:]) if text.startswith("0x") else None
    except ValueError:
        return None


_SHAPED = ("tensor", "vector", "memref")


def _stated(p: Parser, ty: Type | None) -> tuple[Type, int]:
    """``: type`` and its position, or the type known from the context."""
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
    places: list[Item] = []
    values: list[Item] = []
    begin = value_begin = p.start
    shape, value_shape = (0,), (0,)
    if p.token != ">":
        shape = parse_literal(p, places)
        p.expect(",")
        value_begin = p.start
        value_shape = parse_literal(p, values)
    p.close("<", ">")
    ty, type_start = _stated(p, ty)
    whole = static_shaped(p, ty, type_start)
    found = _places(p, places, shape, extents(whole), begin)
    count = len(found)
    if value_shape not in ((), (count,)):
        problem = f"there are not {count} values for {count} places"
        raise _wrong_sparse(p, value_begin, problem)
    listed = TensorType((count,), whole.element)
    given = elements(p, listed, values, value_shape, value_begin)
    return SparseElementsAttr(tuple(found), given, whole)


def _places(
    p: Parser,
    items: list[Item],
    written: tuple[int, ...],
    shape: tuple[int, ...],
    start: int,
) -> list[tuple[int, ...]]:
    """The indices of the given elements; a single number stands for all indices."""
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
    """``dense_resource<key> : type``, with data from the file's resource section."""
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
    data = definitions.blob(p, key)
    if data is not None:
        _check_size(p, len(data), ty, begin)
    return DenseResourceAttr(key, ty, data)


def _check_size(p: Parser, given: int, ty: Type, start: int) -> None:
    """The data have the size of the type or of one element."""
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
    if hex_bytes(text) is None:
        raise errors.InvalidAttribute(
            p.location(start),
            problem="opaque elements are a hexadecimal string",
            hint='Write "0x" and two digits per byte',
        )
    return OpaqueElementsAttr(dialect, text, _stated(p, ty)[0])


def parse_distinct(p: Parser, _: Type | None) -> Attribute:
    """``distinct[0]<attribute>``; one number stands for one attribute."""
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
