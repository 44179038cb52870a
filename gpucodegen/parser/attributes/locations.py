"""Locations in the text: files, names, call sites, fused and unknown ones."""

from __future__ import annotations

from gpucodegen import errors
from gpucodegen.ir.locations import (
    UNKNOWN,
    CallSiteLoc,
    FileLoc,
    FusedLoc,
    Location,
    NameLoc,
)
from gpucodegen.parser.definitions import aliases
from gpucodegen.parser.parser import Parser


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
        aliases.resolve_ahead(p, name)
    if name not in p.location_aliases:
        raise errors.UnknownAlias(p.location(start), name=name)
    return p.location_aliases[name]


def _file_or_name(p: Parser) -> Location:
    name = p.string()
    if p.token == "(":
        p.advance()
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
