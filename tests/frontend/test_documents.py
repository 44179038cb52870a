"""Every piece of code of the five documents, and what was meant where it is elided."""

from __future__ import annotations

import os
import re
import warnings
from itertools import chain
from pathlib import Path

import pytest
from documents.blocks import DOCUMENTS, HERE, Block, all_blocks, ranges, read
from documents.expected import EXPECTED
from documents.extract import cut

from gpucodegen import errors
from gpucodegen.parser import parse_module

PRINTED = [file for block in all_blocks() for file in block.files()]
MEANT = read(HERE / "completed.blocks")
COMPLETED = [file for block in MEANT for file in block.files()]


def parse(text: str) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", errors.CodegenWarning)
        return str(parse_module(text, allow_unregistered=True))


@pytest.mark.cases(
    ("id_", "before", "text"), PRINTED, ids=[file[0] for file in PRINTED], parts=2
)
def test_as_printed(id_: str, before: int, text: str):
    if id_ not in EXPECTED:
        printed = parse(text)
        assert parse(printed) == printed
        return
    name, line, column = EXPECTED[id_]
    with pytest.raises(errors.Error) as failure:
        parse(text)
    place = failure.value.place
    assert place is not None
    assert (type(failure.value).__name__, place.line - before) == (name, line)
    assert place.column == column
    assert "error: " in str(failure.value)


@pytest.mark.cases("text", [f[2] for f in COMPLETED], ids=[f[0] for f in COMPLETED])
def test_completed(text: str):
    printed = parse(text)
    assert parse(printed) == printed


def test_whatever_fails_is_completed():
    failing = {_piece(id_) for id_ in EXPECTED}
    assert failing == {str(block.place) for block in MEANT}


def _piece(id_: str) -> str:
    """The piece that a paragraph belongs to."""
    for block in all_blocks():
        if any(file[0] == id_ for file in block.files()):
            return str(block.place)
    raise KeyError(id_)


CODE = re.compile(
    r"^\s*(%[\w:, %]+=|[!#@]\w+ *=|func(\.func)? @|\^bb|affine\.for|tensor<|memref<"
    r"|loc\()"
)


@pytest.mark.documents
@pytest.mark.cases("name", DOCUMENTS)
def test_pieces_are_those_of_the_documents(name: str):
    folder = Path(os.environ["GPUCODEGEN_DOCUMENTS"])
    lines = (folder / f"{name}.txt").read_text(encoding="utf-8").split("\n")
    for block in read(HERE / f"{name}.blocks"):
        assert block.text.rstrip() == cut(lines, block.place).rstrip()
    listed = set(
        chain.from_iterable(
            range(p.first, p.last + 1) for p in ranges() if p.document == name
        )
    )
    missed = [i for i, line in enumerate(lines, 1) if CODE.match(line)]
    assert [i for i in missed if i not in listed] == []


def test_blocks_follow_the_table():
    for name in DOCUMENTS:
        blocks: list[Block] = read(HERE / f"{name}.blocks")
        wanted = [p for p in ranges() if p.document == name and p.kind != "listing"]
        assert [b.place for b in blocks] == wanted
