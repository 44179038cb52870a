"""Invalid programs, chunk by chunk: which error comes out, and exactly where."""

from __future__ import annotations

from pathlib import Path

import pytest

from gpucodegen import cli, errors
from gpucodegen.parser import parse_module
from tests.frontend.invalid_programs import FOLDER, Chunk, chunks

CHUNKS = chunks()


def test_titles_are_unique():
    assert len({(c.file, c.title) for c in CHUNKS}) == len(CHUNKS) >= 170


@pytest.mark.filterwarnings("ignore")
@pytest.mark.cases("chunk", CHUNKS, ids=lambda c: f"{c.file}:{c.title}", parts=2)
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


@pytest.mark.cases("path", sorted(FOLDER.glob("*.mlir")), ids=lambda p: p.name)
@pytest.mark.sampled(6)
def test_command_line_reports_every_chunk(
    path: Path, capsys: pytest.CaptureFixture[str]
):
    status = cli.main(["opt", "--verify", "--split-input-file", str(path)])
    reported = capsys.readouterr().err.count(": error: ")
    assert (status, reported) == (1, sum(c.file == path.name for c in CHUNKS))
