"""Wrong programs; in ``malformed.mlir`` a § stands where the error must point.

The first line of each chunk names the case, the error's code and part of its text.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from gpucodegen import errors
from gpucodegen.parser import parse_module, split_input

TEXT = Path(__file__).with_name("malformed.mlir").read_text()
CHUNKS = [chunk.lstrip("\n") for _, chunk in split_input(TEXT)]
CASES = {chunk.partition(" | ")[0][3:]: chunk for chunk in CHUNKS}


def test_every_case_has_its_own_name():
    assert len(CASES) == len(CHUNKS) > 60


@pytest.mark.cases("name", CASES)
def test_error_points_at_the_mistake(name: str):
    chunk = CASES[name]
    _, code, part = chunk.partition("\n")[0].split(" | ")
    before, _, _ = chunk.partition("§")
    text = chunk.replace("§", "")
    line = before.count("\n") + 1
    column = len(before) - before.rfind("\n")
    with pytest.raises(errors.Error) as caught:
        parse_module(text, "some/dir/file.mlir")
    error = caught.value
    assert error.code == code
    assert str(error).startswith(f"some/dir/file.mlir:{line}:{column}: error: ")
    assert part in str(error)
    head, source, caret = str(error).split("\n")[:3]
    assert source == f"  {text.split(chr(10))[line - 1]}"
    assert caret == " " * (column + 1) + "^"
    assert head.rstrip("?.").count(". ") >= 1, "a remedy ends the message"


def test_nesting_has_a_limit():
    with pytest.raises(errors.TooDeep, match="levels"):
        parse_module("func.func @f(%a: " + "tuple<" * 3000)
