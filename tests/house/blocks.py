"""The fenced blocks of README and the documentation, and who runs each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.house.readme import ROOT

PAGES = (
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "SECURITY.md")),
    *sorted((ROOT / "docs").glob("*.md")),
)
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
INLINE = re.compile(r"`(gpucodegen [a-z][^`]*)`")
SHELLS = {"sh", "console"}
PLAIN = {"python", "py"}


@dataclass(frozen=True, slots=True)
class Block:
    """A block of a page; ``line``: where it begins."""

    page: str
    kind: str
    line: int
    body: str

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


def blocks() -> Iterator[Block]:
    """Those that say what to run, and no doctest does."""
    for path in PAGES:
        text = path.read_text("utf-8")
        for found in FENCE.finditer(text):
            kind, body = found.groups()
            line = text.count("\n", 0, found.start()) + 1
            if kind in SHELLS | PLAIN and ">>>" not in body:
                yield Block(path.name, kind, line, body)


def inline_commands() -> Iterator[tuple[Path, str]]:
    """Commands within the prose, on one line each."""
    for path in PAGES:
        for found in INLINE.findall(FENCE.sub("", path.read_text("utf-8"))):
            yield path, " ".join(found.split())
