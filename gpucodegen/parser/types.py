"""Parser of types, with memref layouts of all vintages.

Scalars are looked up in a table; shaped types are read by regular expressions and
cached. Several layouts of a memref are composed to one. Element types, extents and
ranks are validated.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from gpucodegen import errors
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    Attribute,
    IntegerAttr,
    StridedLayoutAttr,
    StringAttr,
)
from gpucodegen.ir.types import (
    INDEX,
    ComplexType,
    DialectType,
    FloatType,
    FunctionType,
    IndexType,
    IntegerType,
    MemRefType,
    NoneType,
    Shape,
    TensorType,
    TupleType,
    Type,
    UnrankedMemRefType,
    UnrankedTensorType,
    VectorType,
)
from gpucodegen.parser import definitions
from gpucodegen.parser.parser import Parser

_SCALAR_CLASSES = (IntegerType, IndexType, FloatType, DialectType)
_ELEMENTS: Mapping[str, tuple[type[Type], ...]] = {
    "vector": _SCALAR_CLASSES,
    "tensor": (*_SCALAR_CLASSES, ComplexType, VectorType),
    "memref": (
        *_SCALAR_CLASSES,
        ComplexType,
        VectorType,
        MemRefType,
        UnrankedMemRefType,
    ),
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
    """Reject a layout in place of the memory space of an unranked memref."""
    if isinstance(space, AffineMapAttr | StridedLayoutAttr):
        raise errors.InvalidType(
            p.location(start),
            problem="an unranked memref has no layout",
            hint="Remove it, or give the memref a rank",
        )


def check_layout(p: Parser, layout: Attribute | None, rank: int, start: int) -> None:
    """The layout has the memref's rank."""
    if layout is not None and _rank_of(layout) != rank:
        raise errors.LayoutMismatch(p.location(start), layout=layout, rank=rank)


def _rank_of(layout: Attribute) -> int | None:
    if isinstance(layout, StridedLayoutAttr):
        return len(layout.strides)
    return layout.map.num_dims if isinstance(layout, AffineMapAttr) else None


_BLANK = r"(?:\s|//[^\n]*\n)*"
_EXTENT = re.compile(rf"{_BLANK}(\?|\d+|\[\s*\d+\s*\]){_BLANK}x", re.ASCII)
UNRANKED = re.compile(rf"{_BLANK}\*{_BLANK}x", re.ASCII)


def parse_extents(p: Parser, offset: int) -> tuple[Shape, tuple[bool, ...]]:
    """``4x?x[8]x`` from a character offset; the element becomes the current token."""
    extents: list[int | None] = []
    scalable: list[bool] = []
    while match := _EXTENT.match(p.text, offset):
        written = match[1]
        place = match.start(1)
        scalable.append(written[0] == "[")
        digits = written.strip("[] \t\n")
        extents.append(None if digits == "?" else p.to_int(digits))
        check_extent(p, extents[-1] or 0, place)
        offset = match.end()
    p.move_to(offset)
    return tuple(extents), tuple(scalable)


def parse_element(p: Parser, kind: str) -> Type:
    """The element type of a vector, tensor or memref."""
    if p.token == "*" or p.token[:1].isdigit() or p.token in (">", "?", ""):
        example = "*xf32" if p.token == "*" else "4xf32"
        advice = f"Write {kind}<{example}>, with 'x' before the element type"
        raise p.unexpected("an element type", advice)
    start = p.start
    element = p.type()
    check_element(p, kind, element, start)
    return element


def parse_vector(p: Parser, offset: int) -> Type:
    """``4x[8]xf32>`` from a character offset."""
    start = p.start
    extents, scalable = parse_extents(p, offset)
    shape = tuple(e for e in extents if e is not None)
    if len(shape) != len(extents) or 0 in shape:
        raise errors.InvalidType(
            p.location(start),
            problem="a vector's extents must be positive numbers",
            hint="Use a tensor or memref for dynamic or empty shapes",
        )
    element = parse_element(p, "vector")
    p.close("<", ">")
    return VectorType(shape, element, scalable if any(scalable) else ())


def parse_tensor(p: Parser, offset: int) -> Type:
    """``4x?xf32, encoding>`` or ``*xf32>`` from a character offset."""
    if match := UNRANKED.match(p.text, offset):
        p.move_to(match.end())
        element = parse_element(p, "tensor")
        p.close("<", ">")
        return UnrankedTensorType(element)
    start = p.start
    shape, scalable = parse_extents(p, offset)
    no_scalable(p, scalable, start)
    element = parse_element(p, "tensor")
    encoding = p.attribute() if p.accept(",") else None
    p.close("<", ">")
    return TensorType(shape, element, encoding)


def no_scalable(p: Parser, scalable: tuple[bool, ...], start: int) -> None:
    """Reject scalable extents ``[4]`` in tensors and memrefs."""
    if any(scalable):
        raise errors.InvalidType(
            p.location(start),
            problem="only vectors scale",
            hint="Use '?' for a dynamic extent",
        )


def parse_memref(p: Parser, offset: int) -> Type:
    """``4x?xf32, layout, space>`` or ``*xf32, space>`` from a character offset."""
    if match := UNRANKED.match(p.text, offset):
        p.move_to(match.end())
        element = parse_element(p, "memref")
        space = _unranked_space(p) if p.accept(",") else None
        p.close("<", ">")
        return UnrankedMemRefType(element, space)
    start = p.start
    shape, scalable = parse_extents(p, offset)
    no_scalable(p, scalable, start)
    element = parse_element(p, "memref")
    begin = p.start
    layouts: list[Attribute] = []
    space: Attribute | None = None
    while p.accept(","):
        begin = begin if layouts else p.start
        layout = _layout(p)
        if layout is not None:
            layouts.append(layout)
            continue
        space = _memory_space(p)
        break
    p.close("<", ">")
    layout = _composed(p, layouts, len(shape))
    check_layout(p, layout, len(shape), begin)
    return MemRefType(shape, element, layout, space)


def _unranked_space(p: Parser) -> Attribute | None:
    start = p.start
    space = _memory_space(p)
    no_layout(p, space, start)
    return space


def parse_bare_memref(p: Parser) -> Type:
    """``<4x?xf32>``: a memref without the word ``memref``."""
    with p.nested():
        return parse_memref(p, p.end)


def _layout(p: Parser) -> Attribute | None:
    """A layout, if one is next: a map, ``strided<..>`` or ``offset:, strides:``."""
    if p.token == "offset":
        return _old_strided(p)
    if p.token == "(":
        return AffineMapAttr(p.affine_map())
    if p.token in ("affine_map", "strided"):
        return p.attribute()
    if p.token[:1] == "#":
        return _layout_alias(p)
    return None


def _layout_alias(p: Parser) -> Attribute | None:
    if p.token not in p.attribute_aliases and "." not in p.token:
        definitions.resolve_ahead(p, p.token)
    value = p.attribute_aliases.get(p.token)
    if not isinstance(value, AffineMapAttr | StridedLayoutAttr):
        return None
    p.advance()
    return value


def _old_strided(p: Parser) -> Attribute:
    """``offset: o, strides: [s0, s1]``."""
    p.expect("offset")
    p.expect(":")
    offset = _dynamic_or_integer(p)
    p.expect(",")
    if p.keyword("'strides'") != "strides":
        raise p.unexpected("'strides'")
    p.expect(":")
    strides = p.listed("[", "]", lambda: _dynamic_or_integer(p))
    return StridedLayoutAttr(tuple(strides), offset)


def parse_strided(p: Parser) -> Attribute:
    """``strided<[s0, s1], offset: o>``."""
    p.expect("strided")
    p.expect("<")
    strides = p.listed("[", "]", lambda: _dynamic_or_integer(p))
    offset: int | None = 0
    if p.accept(","):
        if p.token != "offset":
            raise p.unexpected("'offset'")
        p.advance()
        p.expect(":")
        offset = _dynamic_or_integer(p)
    p.close("<", ">")
    return StridedLayoutAttr(tuple(strides), offset)


def _dynamic_or_integer(p: Parser) -> int | None:
    return None if p.accept("?") else p.integer()


def _memory_space(p: Parser) -> Attribute | None:
    """An attribute, or a bare word of old text; zero is the default space."""
    space = _bare_space(p) if _is_bare_word(p) else p.attribute()
    is_default = isinstance(space, IntegerAttr) and space.value == 0
    return None if is_default else space


def _is_bare_word(p: Parser) -> bool:
    token = p.token
    is_known = (
        token in _CONSTANTS or token in p.type_cache or _INTEGER_TYPE.fullmatch(token)
    )
    return token[:1].isalpha() and not is_known and p.peek() == ">"


_CONSTANTS = ("true", "false", "unit")
_INTEGER_TYPE = re.compile(r"[su]?i\d+")


def _bare_space(p: Parser) -> Attribute:
    """``vmem`` is a name, ``memspace3`` the number 3."""
    word = p.advance()
    number = word.removeprefix("memspace")
    return IntegerAttr(int(number)) if number.isdigit() else StringAttr(word)


def _composed(p: Parser, layouts: list[Attribute], rank: int) -> Attribute | None:
    """One layout from a composition of maps; the identity is no layout."""
    if not layouts:
        return None
    layout = layouts[0]
    for outer in layouts[1:]:
        layout = _compose(p, outer, layout)
    if isinstance(layout, AffineMapAttr) and layout.map.is_identity:
        return None if layout.map.num_dims == rank else layout
    return layout


def _compose(p: Parser, outer: Attribute, inner: Attribute) -> Attribute:
    if isinstance(outer, AffineMapAttr) and isinstance(inner, AffineMapAttr):
        outer_map: AffineMap = outer.map
        if outer_map.num_dims == len(inner.map.results):
            return AffineMapAttr(outer_map.compose(inner.map))
    raise errors.InvalidType(
        p.location(),
        problem="these layouts cannot be composed",
        hint="Each map takes as many dimensions as the one before gives",
    )


FLOATS = (
    "f16 bf16 f32 f64 f80 f128 tf32 f4E2M1FN f6E2M3FN f6E3M2FN f8E3M4 f8E4M3"
    " f8E4M3B11FNUZ f8E4M3FN f8E4M3FNUZ f8E5M2 f8E5M2FNUZ f8E8M0FNU"
).split()
_TENSORFLOW = "complex64 complex128 control f32ref resource string variant".split()
_SCALARS: dict[str, Type] = {
    **{name: FloatType(name) for name in FLOATS},
    "index": INDEX,
    "none": NoneType(),
    # Text of 2018: other names, and TensorFlow's types without their dialect.
    "affineint": INDEX,
    **{f"tf_{name}": DialectType(f"tf.{name}") for name in _TENSORFLOW},
}
_INTEGER = re.compile(r"([su]?)i0*(0|[1-9]\d*)")
_MAX_WIDTH = (1 << 24) - 1  # bits, as MLIR's IntegerType::kMaxWidth
_SIMPLE = re.compile(r"(?:memref|tensor|vector)\s*<[^<>\[#!\"/]*>", re.ASCII)
_SHAPED = ("memref", "tensor", "vector")


def parse_type(p: Parser) -> Type:
    """Any type, a function type included."""
    token = p.token
    cached = p.type_cache.get(token)
    if cached is not None:
        p.advance()
        return cached
    if token in _SHAPED:
        return _parse_shaped(p)
    first = token[:1]
    if first == "!":
        return _parse_named(p)
    if first == "(":
        return parse_function_type(p)
    with p.nested():
        return _parse_other(p)


def scalar_cache() -> dict[str, Type]:
    """The scalar types by token, to initialize a parser's cache."""
    return dict(_SCALARS)


def parse_function_type(p: Parser) -> FunctionType:
    """``(inputs) -> results``."""
    with p.nested():
        inputs = p.listed("(", ")", lambda: parse_type(p))
        p.expect("->")
        return FunctionType(tuple(inputs), tuple(parse_results(p)))


def parse_results(p: Parser) -> list[Type]:
    if p.token != "(":
        return [parse_type(p)]
    return p.listed("(", ")", lambda: parse_type(p))


def _parse_other(p: Parser) -> Type:
    token, start = p.token, p.start
    match = _INTEGER.fullmatch(token)
    if match:
        return _parse_integer(p, match)
    if token == "complex":
        return _parse_complex(p)
    if token == "tuple":
        p.advance()
        return TupleType(tuple(p.listed("<", ">", lambda: parse_type(p))))
    if token == "opaque":
        p.advance()
        return DialectType(f"opaque{p.balanced()}")
    if not token[:1].isalpha():
        raise p.unexpected("a type")
    known = [*_SCALARS, *_SHAPED, "complex", "tuple", "i1", "i8", "i16", "i32", "i64"]
    raise errors.UnknownType(
        p.location(start), name=token, advice=errors.did_you_mean(token, known)
    )


def _parse_integer(p: Parser, match: re.Match[str]) -> Type:
    width = int(match[2]) if len(match[2]) < 9 else _MAX_WIDTH + 1
    if width > _MAX_WIDTH:
        raise errors.InvalidType(
            p.location(),
            problem=f"integer width {match[2]} is beyond {_MAX_WIDTH}",
            hint="Use a narrower integer",
        )
    ty = IntegerType(width, match[1])
    p.type_cache[p.advance()] = ty
    return ty


def _parse_complex(p: Parser) -> Type:
    p.advance()
    p.expect("<")
    start = p.start
    element = parse_type(p)
    if not isinstance(element, FloatType | IntegerType):
        raise errors.InvalidType(
            p.location(start),
            problem=f"complex<{element}> is not a type",
            hint="The element must be a float or an integer",
        )
    p.close("<", ">")
    return ComplexType(element)


def _parse_named(p: Parser) -> Type:
    """An alias ``!name``, or a dialect type, kept as text."""
    start = p.start
    name = p.advance()
    is_plain = "." not in name and p.token != "<"
    if name not in p.type_aliases and is_plain:
        definitions.resolve_ahead(p, name)
    if name in p.type_aliases:
        return p.type_aliases[name]
    if is_plain:
        known = list(p.type_aliases)
        advice = errors.did_you_mean(name, known)
        raise errors.UnknownAlias(p.location(start), name=name, advice=advice)
    is_body = p.token == "<" and p.start == start + len(name)
    return DialectType(name[1:] + (dialect_body(p) if is_body else ""))


def dialect_body(p: Parser) -> str:
    """``<..>`` of a dialect's type or attribute, with aliases expanded."""
    text = p.balanced()
    return _INNER_ALIAS.sub(lambda found: _expanded(p, found), text)


_INNER_ALIAS = re.compile(r'"(?:[^"\\\n]|\\.)*"|[#!][A-Za-z_][\w$]*(?![\w$.<])')


def _expanded(p: Parser, found: re.Match[str]) -> str:
    name = found[0]
    value = p.type_aliases.get(name) or p.attribute_aliases.get(name)
    return name if value is None else str(value)


# -- shaped types ----------------------------------------------------------------------


def _parse_shaped(p: Parser) -> Type:
    match = _SIMPLE.match(p.text, p.start)
    cached = p.type_cache.get(match[0]) if match else None
    if match and cached is not None:
        p.move_to(match.end())
        return cached
    with p.nested():
        kind = p.advance()
        opening = p.start
        p.expect("<")
        ty = _SHAPED_PARSERS[kind](p, opening + 1)
    if match and p.previous_end == match.end():
        p.type_cache[match[0]] = ty
    return ty


_SHAPED_PARSERS = {
    "vector": parse_vector,
    "tensor": parse_tensor,
    "memref": parse_memref,
}
