"""Kernels spoilt in one place each, and what the emulated device must say of them.

A mutation is an edit of PTX text.  It changes what may happen, and then a fault with a
place is due; or it changes nothing, and the table says why; or it makes another kernel
that is as well-defined as the first, and only its result tells.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass

Edit = Callable[[str], str]


@dataclass(frozen=True)
class Equivalent:
    """Nothing else can happen; why."""

    reason: str


@dataclass(frozen=True)
class Different:
    """Another kernel, which does no more than give another result; why."""

    reason: str


Expected = str | tuple[str, ...] | Equivalent | Different


@dataclass(frozen=True)
class Mutation:
    """A kernel, what is done to it, what must come of it, and the edits."""

    kernel: str
    what: str
    expected: Expected
    edits: tuple[Edit, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """The faults that may be told; none if the mutation is an exception."""
        if isinstance(self.expected, str):
            return (self.expected,)
        return self.expected if isinstance(self.expected, tuple) else ()

    def apply(self, text: str) -> str:
        """The text spoilt; an `AssertionError` if an edit finds nothing to change."""
        for edit in self.edits:
            spoilt = edit(text)
            assert spoilt != text, f"{self.kernel}: {self.what} does not apply"
            text = spoilt
        return text


def put(pattern: str, new: str, number: int | None = 0) -> Edit:
    """Replace one match of a pattern, counted from its first; None: every one.

    ``\\\\g<0>`` in the new text is the old one.
    """

    def edit(text: str) -> str:
        found = list(re.finditer(pattern, text))
        assert len(found) > (number or 0), pattern
        if number is None:
            return re.sub(pattern, new, text)
        at = found[number]
        return text[: at.start()] + at.expand(new) + text[at.end() :]

    return edit


def drop(pattern: str, number: int | None = 0) -> Edit:
    """Leave an instruction out."""
    return put(rf"{pattern}[^;]*;", "", number)


def moved(pattern: str, behind: str, number: int = 0, target: int = 0) -> Edit:
    """Take an instruction out and put it behind the match of another pattern."""

    def edit(text: str) -> str:
        at = list(re.finditer(rf"{pattern}[^;]*;", text))[number]
        text = text[: at.start()] + text[at.end() :]
        stop = list(re.finditer(rf"{behind}[^;]*;", text))[target].end()
        return f"{text[:stop]}\n{at[0]}\n{text[stop:]}"

    return edit


def some_only(pattern: str, number: int = 0, threads: int = 40) -> Edit:
    """Let only the first threads execute an instruction."""
    return put(
        rf"{pattern}[^;]*;",
        "{ .reg .pred mutp; .reg .b32 mutr; mov.u32 mutr, %tid.x;"
        rf" setp.lt.u32 mutp, mutr, {threads}; @mutp \g<0> }}",
        number,
    )


def shifted(pattern: str, by: int, number: int = 0) -> Edit:
    """Add bytes to the address in brackets that ends a pattern's match."""

    def edit(text: str) -> str:
        found = list(re.finditer(rf"({pattern}[^;]*?\[[^\]+]+)(?:\+(\d+))?\]", text))
        at = found[number]
        offset = int(at[2] or 0) + by
        return f"{text[: at.start()]}{at[1]}+{offset}]{text[at.end() :]}"

    return edit


def bound(number: int, by: int) -> Edit:
    """Move the constant with which the nth comparison compares."""

    def edit(text: str) -> str:
        found = list(re.finditer(r"(setp\.\w+\.[us]32\s+%p\d+, %r\d+, )(\d+)", text))
        at = found[number]
        limit = int(at[2]) + by
        return f"{text[: at.start()]}{at[1]}{limit}{text[at.end() :]}"

    return edit


BARRIER, WAIT = r"bar\.sync", r"cp\.async\.wait_group"
COMMIT, POLL = r"cp\.async\.commit_group", r"@!%p4 bra \$"
SCALE = r"(mul\.wide\.[us]32\s+%rd\d+, %r\d+, )4;"
TENSOR = r"cp\.async\.bulk\.tensor"
