"""PTX text cut into statements: labels, scopes, headers, directives, instructions.

Comes in: the text of a module.  Goes out: `TextStatement` records with line numbers.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from typing import NamedTuple


class TextStatement(NamedTuple):
    """One statement: its kind, its text without the closing mark, and its line.

    Kinds are ``open`` and ``close`` (a scope's braces), ``label``, ``line`` (a
    directive that ends with its line), ``header`` (of a function) and ``statement``.
    """

    kind: str
    text: str
    line: int


_COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
_STATEMENT = re.compile(
    r"""\s*(?:
      (?P<open>\{) | (?P<close>\})
    | \.section\s+\S+\s*\{[^}]*\}
    | (?P<line>\.(?:version|target|address_size|loc|file)\b[^\n]*)
    | (?P<header>(?:\.(?:visible|weak|extern)\s+)*\.(?:entry|func)\b[^{;]*)
    | (?P<label>[\w$]+)\s*:(?!:)
    | (?P<statement>[^;]*);
    )""",
    re.VERBOSE,
)


def statements(text: str) -> Iterator[TextStatement]:
    """The statements of a module in order; comments are gone.

    >>> [(s.kind, s.text) for s in statements("L: add.s32 %r1,  %r2, 1; // one")]
    [('label', 'L'), ('statement', 'add.s32 %r1, %r2, 1')]
    """
    text = _COMMENT.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    ends = [found.start() for found in re.finditer("\n", text)]
    at = 0
    while found := _STATEMENT.match(text, at):
        at = found.end()
        kind = found.lastgroup
        if kind is not None:
            words = " ".join(found[kind].split())
            if words:
                line = bisect_right(ends, found.start(kind)) + 1
                yield TextStatement(kind, words, line)


def split(text: str) -> tuple[str, ...]:
    """Operands between commas; those in braces, brackets or parentheses stay whole.

    >>> split("{%f1, %f2}, [%rd1+4]")
    ('{%f1, %f2}', '[%rd1+4]')
    """
    parts: list[str] = []
    depth, start = 0, 0
    for at, mark in enumerate(text):
        if mark in "{[(":
            depth += 1
        elif mark in "}])":
            depth -= 1
        elif mark == "," and depth == 0:
            parts.append(text[start:at].strip())
            start = at + 1
    last = text[start:].strip()
    return (*parts, last) if last else tuple(parts)


def members(operand: str) -> tuple[str, ...]:
    """The registers of a vector operand; a single operand is a vector of one.

    >>> members("{%f1, %f2}"), members("%f1")
    (('%f1', '%f2'), ('%f1',))
    """
    return split(operand[1:-1]) if operand.startswith("{") else (operand,)
