"""Rules of operations, one statement at a time.

A file of ``rules/`` has three parts: arguments with their types, statements that hold,
and wrong statements, each after its error's code and message::

    V016 | offset -1 is negative | memref.subview %m[-1] [2] [1] : memref<4xf32> to ..
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from gpucodegen import errors
from gpucodegen.parser import parse_module

FOLDER = Path(__file__).with_name("rules")
PARTS = {
    path.stem: [part.splitlines() for part in path.read_text().split("\n\n")]
    for path in sorted(FOLDER.glob("*.txt"))
}
GOOD = [(name, line) for name, part in PARTS.items() for line in part[1]]
WRONG = [(name, *line.split(" | ")) for name, part in PARTS.items() for line in part[2]]


def program(dialect: str, statement: str) -> str:
    """A function around the statement; globals stand by themselves."""
    if re.match(r'"?memref.global', statement):
        return statement
    used = set(re.findall(r"%\w+", statement))
    types = dict(line.split(": ", 1) for line in PARTS[dialect][0])
    arguments = ", ".join(f"{n}: {t}" for n, t in types.items() if n in used)
    return f"func.func @f({arguments}) {{\n  {statement}\n  return\n}}"


@pytest.mark.cases(("dialect", "statement"), GOOD, parts=2)
def test_holds(dialect: str, statement: str):
    text = str(parse_module(program(dialect, statement)))
    assert str(parse_module(text)) == text


@pytest.mark.cases(("dialect", "code", "message", "statement"), WRONG, parts=3)
def test_is_refused(dialect: str, code: str, message: str, statement: str):
    with pytest.raises(errors.Error) as caught:
        parse_module(program(dialect, statement))
    assert caught.value.code == code
    assert message in str(caught.value)
