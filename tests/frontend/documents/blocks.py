"""Pieces of code from the documents: reading them, and making whole files of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from documents.wraps import WRAPS

HERE = Path(__file__).parent
DOCUMENTS = (
    "builtin-dialect langref-2019 langref-2020 langref-2018-to-2019.diff"
    " linalg-dialect-2020"
).split()
_HEAD = re.compile(r"^//---- (\S+) (\d+)-(\d+) (\w+)([+-]?) ?(\S*)$", re.MULTILINE)
_VALUE = re.compile(r"%([\w$.\-]*[\w$])(?:#(\d+))?")
_DEFINED = re.compile(r"(?:^|\n)\s*((?:%[\w$.\-]+(?::\d+)?\s*,?\s*)+)=(?!=)")
_LOOP = re.compile(r"\bfor %([\w$.\-]+) =")
_COMMENT = re.compile(r"//[^\n]*")


@dataclass(frozen=True, slots=True)
class Place:
    """Where a piece stands; ``side`` is ``-`` or ``+`` in the comparison."""

    document: str
    first: int
    last: int
    kind: str
    side: str = ""
    wrap: str = ""

    def __str__(self) -> str:
        return f"{self.document}-{self.first}{self.side}"


@dataclass(frozen=True, slots=True)
class Block:
    """A piece as printed."""

    place: Place
    text: str

    def files(self) -> Iterator[tuple[str, int, str]]:
        """(id, number of lines before the piece, whole file) per paragraph."""
        if self.place.kind == "module":
            before = WRAPS[self.place.wrap].before
            yield str(self.place), before.count("\n"), before + self.text
            return
        splitter = r"\n[ \t]*\n" if self.place.kind == "ops" else r"\n(?![ \t/])"
        line = self.place.first
        for paragraph in re.split(splitter, self.text):
            if _COMMENT.sub("", paragraph).strip():
                before, after = _around(self.place, paragraph)
                id_ = f"{self.place.document}-{line}{self.place.side}"
                yield id_, before.count("\n"), f"{before}{paragraph}\n{after}"
            line += paragraph.count("\n") + (2 if self.place.kind == "ops" else 1)


def _around(place: Place, text: str) -> tuple[str, str]:
    wrap = WRAPS[place.wrap]
    match place.kind:
        case "type":
            return f'{wrap.before}"test.type"() {{t = \n', "} : () -> ()"
        case "attribute":
            return f'{wrap.before}"test.attribute"() {{a = \n', "} : () -> ()"
        case "location":
            return f'{wrap.before}"test.located"() : () -> ()\n', ""
        case _:
            known = set(_VALUE.findall(wrap.inside))
            free = _free(text, {name for name, _ in known})
            values = "".join(f"{v} = test.value\n" for v in free)
            start = f"{wrap.before}func @wrapped() {{\n{wrap.inside}{values}"
            return start, f"{wrap.after}}}\n" if wrap.after else "return\n}\n"


def _free(text: str, known: set[str]) -> list[str]:
    """Values that the piece uses and does not define: ``%x``, or ``%x:2``."""
    code = _COMMENT.sub("", text)
    defined = {m[1] for group in _DEFINED.findall(code) for m in _VALUE.finditer(group)}
    defined |= known | set(_LOOP.findall(code))
    counts: dict[str, int] = {}
    for name, number in _VALUE.findall(code):
        if name not in defined:
            counts[name] = max(counts.get(name, 0), int(number or 0))
    return [f"%{n}:{k + 1}" if k else f"%{n}" for n, k in counts.items()]


def read(path: Path) -> list[Block]:
    """The pieces of one file, in order."""
    text = path.read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [
        Block(_place(head), text[head.end() + 1 : end].rstrip("\n") + "\n")
        for head, end in zip(heads, ends, strict=True)
    ]


def _place(match: re.Match[str]) -> Place:
    document, first, last, kind, side, wrap = match.groups()
    return Place(document, int(first), int(last), kind, side, wrap)


def head(place: Place) -> str:
    """The line before a piece."""
    words = f"//---- {place.document} {place.first}-{place.last} {place.kind}"
    return f"{words}{place.side} {place.wrap}".rstrip()


def ranges() -> list[Place]:
    """The table of places."""
    rows = (HERE / "ranges.txt").read_text().splitlines()
    found: list[Place] = []
    for row in rows:
        if row and row[0] != "#":
            document, lines, kind, *wrap = row.split()
            first, last = map(int, lines.split("-"))
            side = kind[-1] if kind[-1] in "+-" else ""
            found.append(
                Place(document, first, last, kind.rstrip("+-"), side, "".join(wrap))
            )
    return found


def all_blocks() -> list[Block]:
    """Every piece of every document."""
    return [b for name in DOCUMENTS for b in read(HERE / f"{name}.blocks")]
