"""Attributes: numbers, strings, maps, arrays, dictionaries, types, dialect ones."""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen import errors
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import (
    AffineMapAttr,
    ArrayAttr,
    Attribute,
    DenseArrayAttr,
    IntegerAttr,
    IntegerSetAttr,
    OpaqueAttr,
    StringAttr,
    SymbolRefAttr,
    TypeAttr,
    UnitAttr,
    dictionary,
)
from gpucodegen.ir.data.packing import width
from gpucodegen.ir.location_text import LocationAttr
from gpucodegen.ir.types import I1, FloatType, IntegerType, NoneType, Type
from gpucodegen.parser.attributes import dense, elements, numbers
from gpucodegen.parser.definitions import aliases
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.types.memrefs import parse_strided
from gpucodegen.parser.types.types import dialect_body

Entries = dict[str, Attribute]


def parse_attribute(p: Parser, ty: Type | None = None) -> Attribute:
    """Any attribute; ``ty`` is the type of a number written without one."""
    token = p.token
    handler = _BY_WORD.get(token)
    if handler is not None:
        with p.nested():
            return handler(p, ty)
    first = token[:1]
    if first.isdigit() or first == "-":
        return numbers.parse_number(p, ty)
    handler = _BY_FIRST.get(first)
    if handler is not None:
        return handler(p, ty)
    return TypeAttr(p.type())


# -- dictionaries ----------------------------------------------------------------------


def parse_dictionary(p: Parser) -> Entries:
    """``{name = value, flag}``; old text writes ``name: value``."""
    entries: Entries = {}

    def entry() -> None:
        start = p.start
        name = _key(p)
        if name in entries:
            raise errors.DuplicateKey(p.location(start), name=name)
        entries[name] = _entry_value(p)

    with p.nested():
        p.listed("{", "}", entry)
    return entries


def _key(p: Parser) -> str:
    if p.token[:1] == '"' and p.token != '""':
        return p.string()
    return p.keyword("an attribute name")


def _entry_value(p: Parser) -> Attribute:
    if p.token in ("=", ":"):
        p.advance()
        return parse_typed(p)
    return UnitAttr()


def parse_typed(p: Parser) -> Attribute:
    """Any attribute; one of another dialect may have a type."""
    value = parse_attribute(p)
    if not isinstance(value, OpaqueAttr) or value.type or not p.accept(":"):
        return value
    ty = p.type()
    return OpaqueAttr(f"{value.text} : {ty}", ty)


# -- by leading token ------------------------------------------------------------------


def _string(p: Parser, ty: Type | None) -> Attribute:
    del ty
    value = p.string()
    written = p.type() if p.accept(":") else None
    return StringAttr(value, None if isinstance(written, NoneType) else written)


def _symbol(p: Parser, ty: Type | None) -> Attribute:
    del ty
    path = SymbolRefAttr(p.symbol_path())
    if p.token == ":":  # a function attribute of 2019 text, @f : type
        p.advance()
        p.type()
    return path


def _array(p: Parser, ty: Type | None) -> Attribute:
    del ty
    with p.nested():
        return ArrayAttr(tuple(p.listed("[", "]", lambda: parse_typed(p))))


def _dictionary(p: Parser, ty: Type | None) -> Attribute:
    del ty
    return dictionary(parse_dictionary(p))


def _hash(p: Parser, ty: Type | None) -> Attribute:
    """An alias ``#name``, or an attribute of another dialect, kept as text."""
    del ty
    start = p.start
    name = p.advance()
    adjacent = p.token == "<" and p.start == start + len(name)
    if name not in p.attribute_aliases and not adjacent and "." not in name:
        aliases.resolve_ahead(p, name)
    if name in p.attribute_aliases:
        return p.attribute_aliases[name]
    if name in p.location_aliases:
        return LocationAttr(p.location_aliases[name])
    if not adjacent and "." not in name:
        known = list(p.attribute_aliases)
        advice = errors.did_you_mean(name, known)
        raise errors.UnknownAlias(p.location(start), name=name, advice=advice)
    body = dialect_body(p) if adjacent else ""
    return OpaqueAttr(name + body)


def _bare_map(p: Parser, ty: Type | None) -> Attribute:
    """A bare map or set of 2019 text, or a function type."""
    del ty
    if p.looks_like_map():
        value = p.affine_map_or_set()
        is_map = isinstance(value, AffineMap)
        return AffineMapAttr(value) if is_map else IntegerSetAttr(value)
    return TypeAttr(p.type())


_BY_FIRST: dict[str, Callable[[Parser, Type | None], Attribute]] = {
    '"': _string,
    "@": _symbol,
    "[": _array,
    "{": _dictionary,
    "#": _hash,
    "(": _bare_map,
}


# -- by word ---------------------------------------------------------------------------


def _boolean(p: Parser, ty: Type | None) -> Attribute:
    start, word = p.start, p.advance()
    if p.token == ":":
        p.advance()
        ty = p.type()
        _check_boolean(p, word, ty, start)
    value = int(word == "true")
    is_integer = isinstance(ty, IntegerType)
    return IntegerAttr(value, ty if is_integer else I1)


def _check_boolean(p: Parser, word: str, ty: Type, start: int) -> None:
    if ty != I1:
        raise errors.LiteralTypeMismatch(
            p.location(start), literal=word, type=ty, example="a number"
        )


def _unit(p: Parser, ty: Type | None) -> Attribute:
    del ty
    p.advance()
    return UnitAttr()


def _affine_map(p: Parser, ty: Type | None) -> Attribute:
    del ty
    p.advance()
    p.expect("<")
    value = p.bare_affine_map()
    p.close("<", ">")
    return AffineMapAttr(value)


def _affine_set(p: Parser, ty: Type | None) -> Attribute:
    del ty
    p.advance()
    p.expect("<")
    value = p.bare_integer_set()
    p.close("<", ">")
    return IntegerSetAttr(value)


def _dense_array(p: Parser, ty: Type | None) -> Attribute:
    """``array<i32: 1, 2>``."""
    del ty
    p.advance()
    p.expect("<")
    start = p.start
    element = p.type()
    is_number = isinstance(element, IntegerType | FloatType)
    if element != I1 and (not is_number or width(element) % 8):
        raise errors.InvalidAttribute(
            p.location(start),
            problem=f"array<{element}> is not an attribute",
            hint="The element must be i1, or an integer or a float of whole bytes",
        )
    values: list[int | float] = []
    if p.accept(":"):
        values = p.separated(lambda: numbers.parse_scalar(p, element))
    p.close("<", ">")
    return DenseArrayAttr(element, tuple(values))


def _strided(p: Parser, ty: Type | None) -> Attribute:
    del ty
    return parse_strided(p)


def _location(p: Parser, ty: Type | None) -> Attribute:
    """``loc(...)``."""
    del ty
    return LocationAttr(p.trailing_location())


_BY_WORD: dict[str, Callable[[Parser, Type | None], Attribute]] = {
    "true": _boolean,
    "false": _boolean,
    "unit": _unit,
    "affine_map": _affine_map,
    "affine_set": _affine_set,
    "array": _dense_array,
    "dense": dense.parse_dense,
    "splat": dense.parse_dense,
    "sparse": elements.parse_sparse,
    "dense_resource": elements.parse_dense_resource,
    "opaque": elements.parse_opaque,
    "distinct": elements.parse_distinct,
    "strided": _strided,
    "loc": _location,
}
