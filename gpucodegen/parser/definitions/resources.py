"""The section of data at the end of a file, read when its first key is asked for.

section ::= {-# (name : { (owner : { (key : value), .. }), .. }), .. #-}
"""

from __future__ import annotations

import re
from collections.abc import Callable

from gpucodegen import errors
from gpucodegen.ir.constants.resources import ALIGNMENT_BYTES, Resource
from gpucodegen.parser.parser import Parser

_BUILTIN = ("dialect_resources", "builtin")
_MARK = "{-#"
_OPENING = re.compile(r"^[ \t]*\{-#", re.MULTILINE)


def parse_section(p: Parser) -> None:
    """``{-# .. #-}``, noted in the parser."""
    start = p.start
    p.expect(_MARK)
    if p.token != "#-}":
        p.separated(lambda: _section(p))
    p.close(_MARK, "#-}", start)


def blob(p: Parser, key: str) -> bytes | None:
    """The bytes of a builtin resource, wherever the section stands."""
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
    """The data of a blob, after the bytes that give its alignment."""
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
