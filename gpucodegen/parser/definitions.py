"""Parser of file-level definitions: aliases and the resource section.

An alias may be used before its definition, as in the output of ``mlir-opt``, which puts
locations at the end of the file. The resource section at the end of a file is read when
its first key is used::

    section ::= {-# (name : { (owner : { (key : value), .. }), .. }), .. #-}
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gpucodegen import errors
from gpucodegen.ir.affine import AffineMap
from gpucodegen.ir.attributes import AffineMapAttr, IntegerSetAttr
from gpucodegen.ir.constants import ALIGNMENT_BYTES, Resource
from gpucodegen.parser.parser import Parser

_BUILTIN = ("dialect_resources", "builtin")
_MARK = "{-#"
_OPENING = re.compile(r"^[ \t]*\{-#", re.MULTILINE)


def parse_section(p: Parser) -> None:
    """Read ``{-# .. #-}`` into the parser's resources."""
    start = p.start
    p.expect(_MARK)
    if p.token != "#-}":
        p.separated(lambda: _section(p))
    p.close(_MARK, "#-}", start)


def blob(p: Parser, key: str) -> bytes | None:
    """The bytes of a builtin resource, wherever the section is in the file."""
    if _MARK not in p.ahead:
        p.ahead.add(_MARK)
        _read_ahead(p)
    return p.blobs.get(key)


def _read_ahead(p: Parser) -> None:
    match = _OPENING.search(p.text, p.end)
    if match is None:
        return
    resume, known = p.start, len(p.resources)
    p.move_to(match.start())
    parse_section(p)
    del p.resources[known:]
    p.move_to(resume)


def _section(p: Parser) -> None:
    section = _key(p)
    _braced(p, lambda: _owner(p, section))


def _owner(p: Parser, section: str) -> None:
    owner = _key(p)
    _braced(p, lambda: _entry(p, section, owner))


def _braced(p: Parser, item: Callable[[], None]) -> None:
    p.expect(":")
    p.listed("{", "}", item)


def _entry(p: Parser, section: str, owner: str) -> None:
    key = _key(p)
    p.expect(":")
    start, text = p.start, p.token
    if text[:1] == '"':
        p.string()
    else:
        p.keyword("a string, true or false")
    p.resources.append(Resource(section, owner, key, text))
    if (section, owner) == _BUILTIN:
        p.blobs[key] = _data(p, key, text, start)


def _key(p: Parser) -> str:
    return p.string() if p.token[:1] == '"' else p.keyword("a key")


def _data(p: Parser, key: str, text: str, start: int) -> bytes:
    """The data of a blob without the leading bytes that give its alignment."""
    try:
        raw = bytes.fromhex(text[3:-1]) if text[1:3] == "0x" else b""
    except ValueError:
        raw = b""
    alignment = int.from_bytes(raw[:ALIGNMENT_BYTES], "little")
    if len(raw) < ALIGNMENT_BYTES or alignment.bit_count() != 1:
        raise errors.InvalidAttribute(
            p.location(start),
            problem=f"'{key}' is no hexadecimal text of an alignment and data",
            hint='Write "0x", a power of two in 4 bytes, and the data',
        )
    return raw[ALIGNMENT_BYTES:]


def parse_definition(p: Parser) -> bool:
    """Read an alias or a resource section, if one is next."""
    first = p.token[:1]
    is_alias = first in ("#", "!") and len(p.token) > 1 and p.token != "#-}"
    if is_alias or p.token[:2] == "@@":
        _alias(p)
    elif p.token == "{-#":
        parse_section(p)
    else:
        return False
    return True


def resolve_ahead(p: Parser, name: str) -> None:
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
    """Read ``= value`` into the table of its kind."""
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
