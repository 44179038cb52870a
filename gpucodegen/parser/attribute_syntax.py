"""Parser of attributes and source locations.

Attributes are numbers, strings, maps, arrays, dictionaries, types and dialect
attributes; locations are files, names, call sites, fused and unknown ones.
"""

from __future__ import annotations

from collections.abc import Callable

from gpucodegen import errors
from gpucodegen.ir.affine import AffineMap
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
from gpucodegen.ir.literals import width
from gpucodegen.ir.locations import (
    UNKNOWN,
    CallSiteLoc,
    FileLoc,
    FusedLoc,
    Location,
    NameLoc,
)
from gpucodegen.ir.printing import LocationAttr
from gpucodegen.ir.types import I1, FloatType, IntegerType, NoneType, Type
from gpucodegen.parser import definitions, literals
from gpucodegen.parser.parser import Parser
from gpucodegen.parser.types import dialect_body, parse_strided

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
        return literals.parse_number(p, ty)
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
    """Any attribute; a dialect attribute may be followed by a type."""
    value = parse_attribute(p)
    if not isinstance(value, OpaqueAttr) or value.type or not p.accept(":"):
        return value
    ty = p.type()
    return OpaqueAttr(f"{value.text} : {ty}", ty)


# -- by leading token ------------------------------------------------------------------


def _string(p: Parser, _: Type | None) -> Attribute:
    value = p.string()
    written = p.type() if p.accept(":") else None
    return StringAttr(value, None if isinstance(written, NoneType) else written)


def _symbol(p: Parser, _: Type | None) -> Attribute:
    path = SymbolRefAttr(p.symbol_path())
    if p.token == ":":  # a function attribute of 2019 text, @f : type
        p.advance()
        p.type()
    return path


def _array(p: Parser, _: Type | None) -> Attribute:
    with p.nested():
        return ArrayAttr(tuple(p.listed("[", "]", lambda: parse_typed(p))))


def _dictionary(p: Parser, _: Type | None) -> Attribute:
    return dictionary(parse_dictionary(p))


def _hash(p: Parser, _: Type | None) -> Attribute:
    """An alias ``#name``, or a dialect attribute, kept as text."""
    start = p.start
    name = p.advance()
    adjacent = p.token == "<" and p.start == start + len(name)
    if name not in p.attribute_aliases and not adjacent and "." not in name:
        definitions.resolve_ahead(p, name)
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


def _bare_map(p: Parser, _: Type | None) -> Attribute:
    """A bare map or set of 2019 text, or a function type."""
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
    if p.accept(":"):
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


def _unit(p: Parser, _: Type | None) -> Attribute:
    p.advance()
    return UnitAttr()


def _affine_map(p: Parser, _: Type | None) -> Attribute:
    p.advance()
    p.expect("<")
    value = p.bare_affine_map()
    p.close("<", ">")
    return AffineMapAttr(value)


def _affine_set(p: Parser, _: Type | None) -> Attribute:
    p.advance()
    p.expect("<")
    value = p.bare_integer_set()
    p.close("<", ">")
    return IntegerSetAttr(value)


def _dense_array(p: Parser, _: Type | None) -> Attribute:
    """``array<i32: 1, 2>``."""
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
        values = p.separated(lambda: literals.parse_scalar(p, element))
    p.close("<", ">")
    return DenseArrayAttr(element, tuple(values))


def _strided(p: Parser, _: Type | None) -> Attribute:
    return parse_strided(p)


def _location(p: Parser, _: Type | None) -> Attribute:
    """``loc(...)``."""
    return LocationAttr(p.trailing_location())


_BY_WORD: dict[str, Callable[[Parser, Type | None], Attribute]] = {
    "true": _boolean,
    "false": _boolean,
    "unit": _unit,
    "affine_map": _affine_map,
    "affine_set": _affine_set,
    "array": _dense_array,
    "dense": literals.parse_dense,
    "splat": literals.parse_dense,
    "sparse": literals.parse_sparse,
    "dense_resource": literals.parse_dense_resource,
    "opaque": literals.parse_opaque,
    "distinct": literals.parse_distinct,
    "strided": _strided,
    "loc": _location,
}


def parse_location(p: Parser) -> Location:
    """``loc(...)``."""
    p.expect("loc")
    p.expect("(")
    location = _instance(p)
    p.close("(", ")")
    return location


def _instance(p: Parser) -> Location:
    token = p.token
    with p.nested():
        if token[:1] == '"':
            return _file_or_name(p)
        if token[:1] == "#":
            return _alias(p)
        if token in ("unknown", "?"):
            p.advance()
            return UNKNOWN
        if token == "callsite":
            return _call_site(p)
        if token == "fused":
            return _fused(p)
    raise p.unexpected("a location")


def _alias(p: Parser) -> Location:
    start, name = p.start, p.advance()
    if name not in p.location_aliases:
        definitions.resolve_ahead(p, name)
    if name not in p.location_aliases:
        raise errors.UnknownAlias(p.location(start), name=name)
    return p.location_aliases[name]


def _file_or_name(p: Parser) -> Location:
    name = p.string()
    if p.accept("("):
        child = _instance(p)
        p.close("(", ")")
        return NameLoc(name, child)
    if p.token != ":":
        return NameLoc(name)
    p.advance()
    line = _number(p)
    column = _number(p) if p.accept(":") else 0
    if not p.accept("to"):
        return FileLoc(name, line, column)
    end_line = line if p.at(":") else _number(p)
    p.expect(":")
    return FileLoc(name, line, column, end_line, _number(p))


def _number(p: Parser) -> int:
    if not p.token[:1].isdigit():
        raise p.unexpected("a line or column")
    return p.integer()


def _call_site(p: Parser) -> Location:
    p.advance()
    p.expect("(")
    callee = _instance(p)
    if p.token != "at":
        raise p.unexpected("'at'")
    p.advance()
    caller = _instance(p)
    p.close("(", ")")
    return CallSiteLoc(callee, caller)


def _fused(p: Parser) -> Location:
    p.advance()
    metadata = None
    if p.accept("<"):
        metadata = p.attribute()
        p.close("<", ">")
    return FusedLoc(tuple(p.listed("[", "]", lambda: _instance(p))), metadata)
