"""Aliases of types, attributes and locations, and sections that are skipped.

An alias may be used before its definition, as in the output of ``mlir-opt``, which puts
locations at the end of the file.
"""

from __future__ import annotations

import re

from gpucodegen import errors
from gpucodegen.ir.affine.maps import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, IntegerSetAttr
from gpucodegen.parser.definitions import resources
from gpucodegen.parser.parser import Parser


def parse_definition(p: Parser) -> bool:
    """An alias or a resource section, if one is next."""
    first = p.token[:1]
    is_alias = first in ("#", "!") and len(p.token) > 1 and p.token != "#-}"
    if is_alias or p.token[:2] == "@@":
        _alias(p)
    elif p.token == "{-#":
        resources.parse_section(p)
    else:
        return False
    return True


def resolve_ahead(p: Parser, name: str) -> None:
    """Read the definition of an alias that comes later, if there is one."""
    if p.definitions is None:
        found = _DEFINITION.finditer(p.text)
        p.definitions = {match[1]: match.start(1) for match in found}
    place = p.definitions.get(name)
    if place is None or name in p.ahead:
        return
    p.ahead.add(name)
    resume = p.start
    p.move_to(place)
    with p.nested():
        _value(p, p.advance())
    p.move_to(resume)


_DEFINITION = re.compile(r"^[ \t]*([#!@][\w$.\-@#]+)\s*=(?!=)", re.MULTILINE | re.ASCII)


def _alias(p: Parser) -> None:
    start = p.start
    name = p.advance()
    if "." in name:
        raise errors.InvalidAttribute(
            p.location(start),
            problem=f"an alias such as '{name}' has no dot in its name",
            hint="Names with a dot belong to dialects",
        )
    if name in p.ahead:
        p.ahead.discard(name)
    elif _is_known(p, name):
        raise errors.RedefinedAlias(p.location(start), name=name)
    _value(p, name)


def _is_known(p: Parser, name: str) -> bool:
    tables = (p.type_aliases, p.attribute_aliases, p.location_aliases)
    return any(name in table for table in tables)


def _value(p: Parser, name: str) -> None:
    """``= value``, entered in the table of its kind."""
    p.expect("=")
    if name[0] == "!":
        p.accept("type")
        p.type_aliases[name] = p.type()
    elif p.token == "loc":
        p.location_aliases[name] = p.trailing_location()
    elif p.token == "(" and p.looks_like_map():
        value = p.affine_map_or_set()
        is_map = isinstance(value, AffineMap)
        attribute = AffineMapAttr(value) if is_map else IntegerSetAttr(value)
        p.attribute_aliases[name] = attribute
    else:
        p.attribute_aliases[name] = p.attribute()
