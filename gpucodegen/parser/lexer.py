"""Lexer: text to tokens on demand, by one regular expression, with one lookahead.

A token is its own text; its first character tells its kind (see
``gpucodegen.dialects.framework.syntax``). The end of the text is the empty token.
String literals are unquoted and their escapes checked.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection
from typing import TypeVar

from gpucodegen import errors
from gpucodegen.ir.locations import FileLoc

_ESCAPE = re.compile(r'\\([nt\\"]|[0-9a-fA-F]{2})')
_ANY_ESCAPE = re.compile(rf"{_ESCAPE.pattern}|\\.", re.DOTALL)
_NAMED_ESCAPES = {"n": b"\n", "t": b"\t", "\\": b"\\", '"': b'"'}


def wrong_escape(token: str) -> int | None:
    r"""Offset of the first invalid escape, or None.

    >>> wrong_escape(r'"\\\41\q"'), wrong_escape(r'"\\q\n"')
    (6, None)
    """
    found = _ANY_ESCAPE.finditer(token)
    return next((escape.start() for escape in found if escape[1] is None), None)


def unquote(token: str) -> str:
    r"""Value of a string literal.

    >>> unquote('"a\\22b"')
    'a"b'
    """
    body = token[1:-1]
    if "\\" not in body:
        return body
    parts = _ESCAPE.split(body)
    raw = b"".join(
        _unescaped(part) if i % 2 else part.encode("utf-8", "surrogateescape")
        for i, part in enumerate(parts)
    )
    return raw.decode("utf-8", "surrogateescape")


def _unescaped(code: str) -> bytes:
    named = _NAMED_ESCAPES.get(code)
    return named if named is not None else bytes([int(code, 16)])


T = TypeVar("T")

_SUFFIX_ID = r"(?:\d+|[A-Za-z_$.\-][\w$.\-]*)"
_STRING = r'"[^"\\\n]*(?:\\.[^"\\\n]*)*"'
_TOKEN = re.compile(
    rf"""
    (?:[ \t\r\n]+|//[^\n]*)*
    (
      %{_SUFFIX_ID}
    | [A-Za-z_][\w$.]*
    | ->|::|==|>=|<=|\{{-\#|\#-\}}|\.\.\.
    | [()\[\],:=<>{{}}]
    | 0x[0-9a-fA-F]+(?![\w.])
    | \d+(?:\.\d*(?:[eE][-+]?\d+)?)?
    | {_STRING}
    | @(?:[A-Za-z_][\w$.]*|{_STRING})
    | [!^\#]{_SUFFIX_ID}
    | @@[\w$.]+|\#\#[\w$.]+
    | [^\s]
    )?
    """,
    re.VERBOSE | re.ASCII,
)
_OPENING = {")": "(", "]": "[", "}": "{", ">": "<"}
_CLOSING = {opening: closing for closing, opening in _OPENING.items()}


class Lexer:
    """A cursor over one text."""

    def __init__(self, text: str, filename: str) -> None:
        self.text = text
        self.filename = filename
        self._match = _TOKEN.match
        self._lines: list[int] | None = None
        self.told: list[errors.CodegenWarning] = []
        self.token = ""
        self.start = 0
        self.end = 0
        self.previous_end = 0
        self.move_to(0)

    # -- movement ----------------------------------------------------------------------

    def advance(self) -> str:
        token = self.token
        self.previous_end = self.end
        match = self._match(self.text, self.end)
        if match and match[1]:
            self.token = match[1]
            self.start, self.end = match.span(1)
            if len(match[1]) == 1 and not " " <= match[1] <= "~":
                raise errors.InvalidCharacter(self.location(), character=repr(match[1]))
        else:
            self.token = ""
            self.start, self.end = self.previous_end, len(self.text)
        return token

    def move_to(self, offset: int) -> None:
        """Make the token at or after a character offset the current one."""
        self.end = offset
        self.advance()

    def at(self, token: str, /) -> bool:
        return self.token == token

    def accept(self, token: str, /) -> bool:
        if self.token != token:
            return False
        self.advance()
        return True

    def expect(self, token: str, /) -> None:
        if self.token != token:
            raise self.unexpected(f"'{token}'")
        self.advance()

    def peek(self) -> str:
        """The token after the current one."""
        match = self._match(self.text, self.end)
        return (match[1] or "") if match else ""

    # -- simple tokens -----------------------------------------------------------------

    def keyword(self, what: str = "a keyword") -> str:
        if not (self.token[:1].isalpha() or self.token[:1] == "_"):
            raise self.unexpected(what)
        return self.advance()

    def one_of(self, names: Collection[str], what: str) -> str:
        """Consume a bare identifier or string that must be one of ``names``."""
        name = self.token.strip('"')
        if name not in names:
            listed = errors.one_of(sorted(names))
            raise self.unexpected(
                what, errors.did_you_mean(name, sorted(names), f"Use one of {listed}")
            )
        self.advance()
        return name

    def integer(self) -> int:
        """Consume a decimal or hexadecimal integer with an optional minus."""
        sign = -1 if self.accept("-") else 1
        token = self.token
        if not token[:1].isdigit() or "." in token:
            raise self.unexpected("an integer")
        return sign * self.to_int(self.advance())

    def to_int(self, token: str) -> int:
        """Value of an integer token whose length is limited."""
        if len(token) > _MAX_DIGITS:
            raise errors.TooLarge(
                self.location(),
                what="an integer literal",
                size=f"{len(token)} digits",
                limit=f"{_MAX_DIGITS} digits",
            )
        return int(token, 16 if token.startswith("0x") else 10)

    def string(self) -> str:
        if self.token[:1] != '"' or len(self.token) < 2:
            raise self.unexpected("a string")
        wrong = wrong_escape(self.token)
        if wrong is not None:
            place = self.location(self.start + wrong)
            shown = self.token[wrong : wrong + 2]
            raise errors.InvalidCharacter(place, character=f"'{shown}'")
        return unquote(self.advance())

    def symbol_name(self) -> str:
        token = self.token
        if token[:1] != "@" or len(token) < 2 or token[1] == "@":
            advice = "Symbol names start with '@'"
            raise self.unexpected("a symbol name", advice)
        self.advance()
        return unquote(token[1:]) if token[1] == '"' else token[1:]

    def symbol_path(self) -> tuple[str, ...]:
        path = [self.symbol_name()]
        while self.accept("::"):
            path.append(self.symbol_name())
        return tuple(path)

    # -- lists -------------------------------------------------------------------------

    def separated(self, item: Callable[[], T]) -> list[T]:
        items = [item()]
        while self.token == ",":
            self.advance()
            items.append(item())
        return items

    def listed(self, opening: str, closing: str, item: Callable[[], T]) -> list[T]:
        start = self.start
        self.expect(opening)
        items = [] if self.token == closing else self.separated(item)
        self.close(opening, closing, start)
        return items

    def close(self, opening: str, closing: str, start: int | None = None) -> None:
        """Consume a closing bracket; ``start`` is where its partner stands."""
        if self.token != closing:
            raise self.unclosed(opening, closing, start)
        self.advance()

    def unclosed(
        self, opening: str, closing: str, start: int | None = None
    ) -> errors.ParseError:
        """The error for a bracket that is never closed."""
        self._check_token()
        notes = [(self.location(start), f"'{opening}' is opened here")]
        return errors.Unclosed(
            self.location(),
            opening=opening,
            closing=closing,
            found=self.found(),
            notes=[] if start is None else notes,
        )

    def balanced(self) -> str:
        """Consume a bracketed text and return it on one line, brackets included."""
        begin = self.start
        stack: list[tuple[str, int]] = []
        while True:
            token = self.token
            if token in _CLOSING:
                stack.append((token, self.start))
            elif token in _OPENING or not token:
                opening, start = stack.pop()
                if _CLOSING[opening] != token:
                    raise self.unclosed(opening, _CLOSING[opening], start)
            self._check_token()
            stop = self.end
            self.advance()
            if not stack:
                return one_line(self.text[begin:stop])

    # -- positions and errors ----------------------------------------------------------

    def location(self, start: int | None = None) -> FileLoc:
        if self._lines is None:
            starts = [m.end() for m in re.finditer("\n", self.text)]
            self._lines = [0, *starts]
        offset = self.start if start is None else start
        line = bisect_right(self._lines, offset)
        column = offset - self._lines[line - 1] + 1
        return FileLoc(self.filename, line, column)

    def warn(self, warning: errors.CodegenWarning) -> None:
        place = warning.place
        if place is not None and self._lines is not None:
            start = self._lines[place.line - 1]
            end = self.text.find("\n", start)
            line = self.text[start:] if end < 0 else self.text[start:end]
            warning.source_lines[place.line] = line
        self.told.append(warning)
        errors.tell(warning)

    def found(self) -> str:
        return f"'{_shortened(self.token)}'" if self.token else "the end of the input"

    def unexpected(self, expected: str, advice: str = "") -> errors.ParseError:
        self._check_token()
        return errors.UnexpectedToken(
            self.location(), expected=expected, found=self.found(), advice=advice
        )

    def _check_token(self) -> None:
        """Raise for a token that no grammar rule accepts."""
        if self.token == '"':
            raise errors.UnterminatedString(self.location())
        token = self.token
        if len(token) == 1 and token not in _PUNCTUATION and not token.isalnum():
            raise errors.InvalidCharacter(self.location(), character=repr(token))


_PUNCTUATION = "()[]{}<>,:=*+-?/|'.&;_$@%#!^"
_MAX_DIGITS = 4000  # below the 4300 digits that Python's int() converts by default
_MAX_SHOWN = 40  # characters of a token in messages


def _shortened(token: str) -> str:
    return token if len(token) <= _MAX_SHOWN else token[: _MAX_SHOWN - 3] + "..."


_BLANK = r"[^\S\n]"
_BREAK = re.compile(rf"({_STRING})|(?<!{_BLANK})(?:{_BLANK}*(?://[^\n]*)?\n)+{_BLANK}*")


def one_line(text: str) -> str:
    """Replace comments and line breaks by blanks, except inside strings."""
    if "\n" not in text:
        return text
    return _BREAK.sub(lambda found: found[1] or " ", text)
