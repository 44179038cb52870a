"""Base classes of failures and warnings: code, message, place and remedy.

A failure prints as::

    file.mlir:3:10: error: unknown operation 'arith.adf'. Did you mean 'arith.addf'?
      %0 = arith.adf %a, %b : f32
           ^

A `Focus` moves the caret from the operation's name to the operand that is wrong.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, Self, cast

from gpucodegen.ir.locations import UNKNOWN, FileLoc, Location, file_location
from gpucodegen.records import dataclass

_TOKEN = re.compile(
    r'//[^\n]*|@"(?:[^"\\\n]|\\.)*"|"(?:[^"\\\n]|\\.)*"|[%^@#!]?[\w$.\-]+'
)
_VALUE = re.compile(r"%[\w$.\-]+")


@dataclass(frozen=True, slots=True)
class Focus:
    """A token after the operation's name, or the value's definition.

    ``skip``: number of equal tokens before it.
    """

    what: str | Location
    skip: int = 0

    def find(self, text: str, start: Location) -> FileLoc | None:
        """The position of the token, if it is found."""
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


Note = tuple[Location, str]


MOST_ITEMS = 16
"""Items of a sequence that a message shows as a whole; of longer ones, the ends."""


class _Ends:
    """A long sequence, as messages show it."""

    def __init__(self, items: Sequence[object]) -> None:
        self.items = items

    def __repr__(self) -> str:
        first, last = (
            ", ".join(map(repr, part)) for part in (self.items[:3], self.items[-1:])
        )
        return f"({first}, .., {last})"


def _shown(value: object) -> object:
    if not isinstance(value, tuple | list):
        return value
    items = cast("Sequence[object]", value)
    return _Ends(items) if len(items) > MOST_ITEMS else items


class Placed(Protocol):
    """An operation, of which messages tell name and place."""

    @property
    def name(self) -> str: ...

    @property
    def location(self) -> Location: ...


class Diagnostic(Exception):
    """One catalogued message; subclasses give ``code``, ``template`` and ``remedy``.

    ``template`` is filled with the keyword arguments of the constructor.  ``focus``
    moves the place from an operation to a token of it once the text is at hand.
    """

    code: ClassVar[str] = ""
    severity: ClassVar[str] = "error"
    template: ClassVar[str] = "{text}"
    remedy: ClassVar[str] = ""

    def __init_subclass__(cls, code: str = "") -> None:
        super().__init_subclass__()
        cls.code = code or cls.code

    def __init__(
        self,
        location: Location = UNKNOWN,
        *,
        advice: str = "",
        notes: Sequence[Note] = (),
        focus: Focus | None = None,
        **details: object,
    ) -> None:
        self.location = location
        self.focus = focus
        self.advice = advice
        self.notes = tuple(notes)
        self.details = details
        self.source_lines: dict[int, str] = {}
        super().__init__(self.message)

    @classmethod
    def at(cls, operation: Placed, **details: Any) -> Self:
        """The message about an operation, whose name is the detail ``operation``."""
        return cls(operation.location, operation=operation.name, **details)

    @property
    def message(self) -> str:
        """The text with its remedy as the last sentence, without place and caret."""
        details = {name: _shown(value) for name, value in self.details.items()}
        text = self.template.format(**details)
        remedy = self.advice or self.remedy.format(**details)
        return visible(f"{text}. {remedy}" if remedy else text)

    @property
    def place(self) -> FileLoc | None:
        """The file position, if one is known."""
        return file_location(self.location)

    def with_source(self, text: str) -> Self:
        """Keep the source lines that this message points at."""
        if self.focus is not None:
            self.location = self.focus.find(text, self.location) or self.location
        lines = text.split("\n")
        for location in (self.location, *(loc for loc, _ in self.notes)):
            place = file_location(location)
            index = place.line - 1 if place else -1
            if place and 0 <= index < len(lines):
                self.source_lines[place.line] = lines[index].rstrip("\r")
        return self

    def __str__(self) -> str:
        parts = [self._render(self.location, self.severity, self.message)]
        parts += [self._render(loc, "note", visible(text)) for loc, text in self.notes]
        return "\n".join(parts)

    def _render(self, location: Location, severity: str, text: str) -> str:
        place = file_location(location)
        if place is None:
            return f"{severity}: {text}"
        where = str(place) if place.column else f"{place.filename}:{place.line}"
        head = f"{visible(where)}: {severity}: {text}"
        line = self.source_lines.get(place.line)
        if line is None:
            return head
        column = place.column or len(line) - len(line.lstrip()) + 1
        return f"{head}\n{excerpt(line, column)}"


_WIDTH = 160  # columns of a quoted source line


def excerpt(line: str, column: int) -> str:
    """The source line, cut around ``column`` (from 1) when long, and the caret below.

    >>> print(excerpt("return %x", 8))
      return %x
             ^
    """
    start = max(0, column - 1 - _WIDTH // 2) if len(line) > _WIDTH else 0
    shown = line[start : start + _WIDTH]
    before = visible(shown[: column - 1 - start])
    blanks = "".join("\t" if c == "\t" else " " for c in before)
    return f"  {visible(shown)}\n  {blanks}^"


_KINDS_UNSEEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Controls, formats (which change text direction), surrogates, separators."""


def visible(text: str) -> str:
    r"""The text with escape names in place of control characters.

    Lines and tabs stay. Quoted source text cannot send control sequences to a terminal.

    >>> print(visible("\x1b[2Jgone"))
    \x1b[2Jgone
    """
    if text.isascii() and text.isprintable():
        return text
    return "".join(
        _name(c) if unicodedata.category(c) in _KINDS_UNSEEN else c for c in text
    )


def _name(character: str) -> str:
    kept = character in "\n\t"
    return character if kept else character.encode("unicode_escape").decode()


class Error(Diagnostic):
    """Base of every failure that a user can cause."""

    def __reduce__(self) -> tuple[object, ...]:
        return _rebuild, (type(self), self.location, self.__dict__)


def _rebuild(kind: type[Error], location: Location, state: dict[str, object]) -> Error:
    error = kind.__new__(kind)
    error.__dict__.update(state)
    error.location = location
    return error


class ParseError(Error):
    """The text is not MLIR."""


class VerifyError(Error):
    """The module breaks a rule of an operation or of SSA form."""


class CompileError(Error):
    """The module is valid but cannot be compiled as asked."""


class LaunchError(Error):
    """A compiled function was called wrongly, or failed while running."""


class CodegenWarning(Diagnostic, UserWarning):
    """Base of every warning; each class is a filter for :mod:`warnings`."""

    severity = "warning"


_MAX_NAMES = 8  # names that a remedy lists


def one_of(names: Sequence[str]) -> str:
    """A short list of names for a remedy.

    >>> one_of(["a", "b"])
    'a, b'
    """
    shown = list(names[:_MAX_NAMES])
    if len(names) > _MAX_NAMES:
        shown.append(f"... ({len(names)} in all)")
    return ", ".join(shown)


def did_you_mean(
    name: str,
    known: Iterable[str],
    otherwise: str = "",
    *,
    cutoff: float = 0.6,
    synonyms: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A remedy that proposes the nearest known name, else ``otherwise``.

    ``synonyms``: known names by the words of other tools.

    >>> did_you_mean("arith.adf", ["arith.addf", "func.call"])
    "Did you mean 'arith.addf'?"
    >>> did_you_mean("gpu", ["cpu", "cuda"], synonyms={"gpu": "cuda"})
    "Did you mean 'cuda'?"
    """
    import difflib

    if name in synonyms:
        return f"Did you mean {synonyms[name]!r}?"
    near = difflib.get_close_matches(name, sorted(set(known)), n=2, cutoff=cutoff)
    if not near:
        return otherwise
    return f"Did you mean {' or '.join(map(repr, near))}?"
