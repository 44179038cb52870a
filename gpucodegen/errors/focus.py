"""Where an error points within the text of an operation: at the operand it is about."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

from gpucodegen.ir.locations import FileLoc, Location, file_location

_TOKEN = re.compile(
    r'//[^\n]*|@"(?:[^"\\\n]|\\.)*"|"(?:[^"\\\n]|\\.)*"|[%^@#!]?[\w$.\-]+'
)
_VALUE = re.compile(r"%[\w$.\-]+")


@dataclass(frozen=True, slots=True)
class Focus:
    """A token after the operation's name, or the place where the value is defined.

    ``skip`` is how many of the same come before it.
    """

    what: str | Location
    skip: int = 0

    def find(self, text: str, start: Location) -> FileLoc | None:
        """The place of the token, if it is there."""
        place = file_location(start)
        token = self._token(text, place)
        offset = _offset(text, place)
        if place is None or not token or offset is None:
            return None
        found = _tokens(text, offset, token) or _tokens(text, offset, token.lstrip("^"))
        match = next(islice(found, self.skip, None), None)
        return None if match is None else _place(text, match.start(), place.filename)

    def _token(self, text: str, place: FileLoc | None) -> str:
        if isinstance(self.what, str):
            return self.what
        definition = file_location(self.what)
        offset = _offset(text, definition)
        if place is None or definition is None or offset is None:
            return ""
        match = _VALUE.match(text, offset)
        is_same_file = place.filename == definition.filename
        return match[0] if match and is_same_file else ""


def _tokens(text: str, offset: int, token: str) -> list[re.Match[str]]:
    return [m for m in _TOKEN.finditer(text, offset) if m[0] == token]


def _offset(text: str, place: FileLoc | None) -> int | None:
    """Offset of a place in a text, unless it lies outside."""
    if place is None:
        return None
    lines = text.split("\n", place.line)
    if not 0 < place.line <= len(lines) or place.column > len(lines[place.line - 1]):
        return None
    return sum(len(line) + 1 for line in lines[: place.line - 1]) + place.column - 1


def _place(text: str, offset: int, filename: str) -> FileLoc:
    before = text[:offset]
    column = offset - before.rfind("\n")
    return FileLoc(filename, before.count("\n") + 1, column)
