from __future__ import annotations

import pytest
from frontend_malformed import MALFORMED

from gpucodegen import errors
from gpucodegen.parser import parse_module


@pytest.mark.parametrize("name", MALFORMED)
def test_error_points_at_the_mistake(name: str):
    text, code, part = MALFORMED[name]
    offset = text.index("§")
    clean = text.replace("§", "")
    line = text.count("\n", 0, offset) + 1
    column = offset - (text.rfind("\n", 0, offset) + 1) + 1
    with pytest.raises(errors.Error) as caught:
        parse_module(clean, "some/dir/file.mlir")
    error = caught.value
    assert error.code == code
    assert str(error).startswith(f"some/dir/file.mlir:{line}:{column}: error: ")
    assert part in str(error)
    head, source, caret = str(error).split("\n")[:3]
    assert caret == " " * (column + 1) + "^" or len(source) > 100
    assert source[2:] in clean
    assert head.rstrip("?.").count(". ") >= 1, "a remedy ends the message"
