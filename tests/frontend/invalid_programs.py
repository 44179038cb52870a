"""Invalid programs, chunk by chunk: which error comes out, and where.

In the files of ``invalid/`` the first line of a chunk names the rule that it breaks,
and a comment below the offending line points at the token and gives the error's code::

    // a function returns what its signature says
    func.func @f(%a: i32) -> i64 {
      return %a : i32
    //       ^ V010
    }

The tests compare each with what the parser says; the documentation shows them.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

from gpucodegen.parser import split_input

FOLDER = Path(__file__).with_name("invalid")
_MARK = re.compile(r"^//[ ]*\^ ([PV]\d{3})$")


class Chunk(NamedTuple):
    """One program, the code of its error and where that is."""

    file: str
    title: str
    text: str
    code: str
    line: int
    column: int


def chunks() -> list[Chunk]:
    """All of them, file by file."""
    return [
        _chunk(path.name, text)
        for path in sorted(FOLDER.glob("*.mlir"))
        for _, text in split_input(path.read_text())
    ]


def _chunk(file: str, text: str) -> Chunk:
    lines = text.lstrip("\n").split("\n")
    marks = [(i, m) for i, line in enumerate(lines) if (m := _MARK.match(line))]
    assert len(marks) == 1, f"one mark in each chunk of {file}: {lines[0]}"
    ((line, mark),) = marks
    title = lines[0].removeprefix("// ")
    column = lines[line].index("^") + 1
    return Chunk(file, title, "\n".join(lines), mark[1], line, column)
