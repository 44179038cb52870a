"""Invalid programs, chunk by chunk: exactly which error comes out, and exactly where.

In the files of ``invalid/`` the first line of a chunk names the rule that it breaks,
and a comment below the offending line points at the token and gives the error's code::

    // a function returns what its signature says
    func.func @f(%a: i32) -> i64 {
      return %a : i32
    //       ^ V010
    }
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import pytest

from gpucodegen import cli, errors
from gpucodegen.parser import parse_module, split_input

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


CHUNKS = chunks()


def test_titles_are_unique():
    assert len({(c.file, c.title) for c in CHUNKS}) == len(CHUNKS) >= 170


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("chunk", CHUNKS, ids=lambda c: f"{c.file}:{c.title}")
def test_chunk_is_refused_where_it_is_wrong(chunk: Chunk):
    unregistered = chunk.code != errors.UnknownOperation.code
    with pytest.raises(errors.Error) as caught:
        parse_module(chunk.text, chunk.file, allow_unregistered=unregistered)
    error = caught.value
    found = (error.code, error.place and (error.place.line, error.place.column))
    assert found == (chunk.code, (chunk.line, chunk.column)), str(error)
    assert isinstance(error, errors.ParseError | errors.VerifyError)
    assert str(error).startswith(f"{chunk.file}:{chunk.line}:{chunk.column}: error: ")
    assert str(error).split("\n")[2] == " " * (chunk.column + 1) + "^"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.mlir")), ids=lambda p: p.name)
@pytest.mark.sampled(3)
def test_command_line_reports_every_chunk(
    path: Path, capsys: pytest.CaptureFixture[str]
):
    status = cli.main(["opt", "--verify", "--split-input-file", str(path)])
    reported = capsys.readouterr().err.count(": error: ")
    assert (status, reported) == (1, sum(c.file == path.name for c in CHUNKS))
