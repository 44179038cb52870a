"""Memrefs: layouts of any vintage, composed to one, and memory spaces."""

from __future__ import annotations

import re

from gpucodegen import errors
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    Attribute,
    IntegerAttr,
    StridedLayoutAttr,
    StringAttr,
)
from gpucodegen.ir.types import MemRefType, Type, UnrankedMemRefType
from gpucodegen.parser.definitions import aliases
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.types import shaped_rules as rules
from gpucodegen.parser.types.shaped import (
    UNRANKED,
    no_scalable,
    parse_element,
    parse_extents,
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
    while p.token == ",":
        p.advance()
        begin = begin if layouts else p.start
        layout = _layout(p)
        if layout is not None:
            layouts.append(layout)
            continue
        space = _memory_space(p)
        break
    p.close("<", ">")
    layout = _composed(p, layouts, len(shape))
    rules.check_layout(p, layout, len(shape), begin)
    return MemRefType(shape, element, layout, space)


def _unranked_space(p: Parser) -> Attribute | None:
    start = p.start
    space = _memory_space(p)
    rules.no_layout(p, space, start)
    return space


def parse_bare_memref(p: Parser) -> Type:
    """``<4x?xf32>``: a memref whose word is left out."""
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
        aliases.resolve_ahead(p, p.token)
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
    is_known = token in _CONSTANTS or token in p.type_cache or _INTEGER.fullmatch(token)
    return token[:1].isalpha() and not is_known and p.peek() == ">"


_CONSTANTS = ("true", "false", "unit")
_INTEGER = re.compile(r"[su]?i\d+")


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
