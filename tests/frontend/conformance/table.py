"""Reading the rows, the chunks and what is owed."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from documents import blocks as documents

HERE = Path(__file__).parent
_HEAD = re.compile(
    r"^// ----- ((?:[RCETD]\d+\S* )+)([PVXA]+)(?: (\w+))?$", re.MULTILINE
)
_PIECE = re.compile(r"^//< (\S+)$", re.MULTILINE)
_CHECK = re.compile(r"^//([>~=!]) (.*)\n?", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """A construct."""

    section: str
    id: str
    where: str
    construct: str
    rule: str
    duties: str


@dataclass(frozen=True, slots=True)
class Chunk:
    """Text that pays duties of some rows."""

    name: str
    rows: tuple[str, ...]
    duties: str
    error: str
    marked: str
    checks: tuple[tuple[str, str], ...]

    @property
    def text(self) -> str:
        """The module."""
        whole = _PIECE.sub(lambda match: _pieces()[match[1]], self.marked)
        return whole.replace("§", "", 1) if self.error else whole

    @property
    def place(self) -> tuple[int, int]:
        """Line and column of the mark."""
        before = self.marked.partition("§")[0]
        return before.count("\n") + 1, len(before) - before.rfind("\n")

    @property
    def open(self) -> str:
        """Why the chunk is known to fail; empty when it must not."""
        return " ".join(self.all("!"))

    def all(self, kind: str) -> list[str]:
        """The checks of one kind."""
        return [text for sign, text in self.checks if sign == kind]


@cache
def _pieces() -> dict[str, str]:
    """The code of the documents, completed where it has to be."""
    meant = documents.read(documents.HERE / "completed.blocks")
    printed = documents.all_blocks()
    return {i: text for block in (*printed, *meant) for i, _, text in block.files()}


def rows() -> list[Row]:
    """All constructs, in the order of the page."""
    found: list[Row] = []
    section = ""
    for line in _lines("rows.txt", comments=True):
        if line.startswith("# "):
            section = line[2:]
        else:
            id_, where, construct, rule, duties = (c.strip() for c in line.split(" | "))
            found.append(Row(section, id_, where, construct, rule, duties.strip("-")))
    return found


def chunks() -> list[Chunk]:
    """All chunks, in the order of their files."""
    return [chunk for path in sorted(HERE.glob("*.mlir")) for chunk in _chunks(path)]


def _chunks(path: Path) -> Iterator[Chunk]:
    text = path.read_text(encoding="utf-8")
    heads = list(_HEAD.finditer(text))
    assert len(heads) == text.count("\n// -----") + text.startswith("// -----"), path
    ends = [head.start() for head in heads[1:]] + [len(text)]
    seen: Counter[str] = Counter()
    for head, end in zip(heads, ends, strict=True):
        ids, duties, error = tuple(head[1].split()), head[2], head[3] or ""
        body = text[head.end() + 1 : end]
        name = "-".join((*ids, duties))
        seen[name] += 1
        checks = tuple((m[1], m[2]) for m in _CHECK.finditer(body))
        yield Chunk(
            f"{path.stem}-{name}-{seen[name]}",
            ids,
            duties,
            error,
            _CHECK.sub("", body),
            checks,
        )


def owed() -> dict[tuple[str, str], str]:
    """(row, duty) that is not met, or not in full, with the reason."""
    failing = ((i, d, c.open) for c in chunks() for i in c.rows for d in c.duties)
    return dict(_pairs("open.txt")) | {(i, d): why for i, d, why in failing if why}


def elsewhere() -> list[tuple[tuple[str, str], str]]:
    """(row, duty) and the test in another file that shows it."""
    return _pairs("elsewhere.txt")


def shown() -> Counter[tuple[str, str]]:
    """How many chunks and other tests show each (row, duty)."""
    passing = [chunk for chunk in chunks() if not chunk.open]
    inline = ((i, d) for chunk in passing for i in chunk.rows for d in chunk.duties)
    return Counter([*inline, *(pair for pair, _ in elsewhere())])


COMPILED = 'fails("OutOfBounds"', 'fails("OverlappingArguments"', "f(1, 0) is not None"
"""Claims about compilers: the interpreter needs no proofs, and stops at a division by
zero."""


def targets(chunk: Chunk, claim: str = "") -> tuple[str, ...]:
    """Where a claim is run."""
    if "X" not in chunk.duties:
        return ("cpu",)
    compiled = any(words in claim for words in COMPILED)
    return ("cpu", "sim") if compiled else ("cpu", "sim", "interp")


def executes(row: Row) -> str:
    """The targets on which the row's claims hold, or what it is about instead."""
    if "X" not in row.duties:
        return _INSTEAD[next((d for d in "AV" if d in row.duties), "P")]
    found = {
        target
        for chunk in _paying(row.id)
        for claim in chunk.all("=")
        for target in targets(chunk, claim)
    }
    return ", ".join(t for t in ("interp", "cpu", "sim") if t in found) or _ELSEWHERE


_INSTEAD = {"P": "text", "V": "a rule of text", "A": "what the analysis knows"}
_ELSEWHERE = "in tests of its own"


def _paying(id_: str) -> list[Chunk]:
    every = _closed()
    return [chunk for chunk in every if id_ in chunk.rows and "X" in chunk.duties]


@cache
def _closed() -> list[Chunk]:
    return [chunk for chunk in chunks() if not chunk.open]


def _pairs(name: str) -> list[tuple[tuple[str, str], str]]:
    found: list[tuple[tuple[str, str], str]] = []
    for line in _lines(name):
        id_, duties, text = line.split(maxsplit=2)
        found += [((id_, duty), text) for duty in duties]
    return found


def _lines(name: str, *, comments: bool = False) -> list[str]:
    lines = (HERE / name).read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line and (comments or line[0] != "#")]
